import { spawn } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { copyOf, copyProject, dataDirOf, gone, isRoot, ordinary, postmasterOf, query, self, start } from './clusters.ts'

/* The guarantees of the embedded PostgreSQL, each tested once, with real processes. */

const made = dataDirOf(t, self)

t.test('the first start creates a private, durable cluster, and a later start finds the data', async (t) => {
  const first = start(t, self, made)
  await query(await first.url, 'create table kept as select 42 as value')
  const [settings] = await query(await first.url,
    `select current_setting('fsync') as fsync, current_setting('timezone') as zone,
      current_setting('listen_addresses') as tcp, current_setting('server_encoding') as encoding,
      current_setting('data_checksums') as checksums, current_setting('is_superuser') as superuser`)
  t.same(settings, { fsync: 'on', zone: 'UTC', tcp: '', encoding: 'UTF8', checksums: 'on', superuser: 'off' })
  const folder = join(made, 'postgres')
  for (const closed of [folder, join(folder, 'socket,:5432')]) t.equal(statSync(closed).mode & 0o777, 0o700)
  await first.stop()
  t.equal(postmasterOf(made), undefined, 'the server has stopped PostgreSQL')

  const second = start(t, self, made)
  t.same(await query(await second.url, 'select value from kept; drop table kept'), [{ value: 42 }])
  await second.stop()
})

t.test('after kill -9 of a server the cluster keeps running, and the next server takes it over', async (t) => {
  const dataDir = copyOf(t, self, made)
  const first = start(t, self, dataDir)
  await query(await first.url, 'create table kept as select 42 as value')
  const pid = postmasterOf(dataDir)
  await first.kill()

  const second = start(t, self, dataDir)
  t.same(await query(await second.url, 'select value from kept'), [{ value: 42 }])
  t.equal(postmasterOf(dataDir), pid, 'the postmaster is the same')
  await second.stop()
  t.equal(postmasterOf(dataDir), undefined)
})

t.test('a second server is refused in one line that names DATABASE_URL, and the first one keeps running', async (t) => {
  const dataDir = dataDirOf(t, self)
  // Both servers start at the same time on an empty folder.
  const servers = [start(t, self, dataDir), start(t, self, dataDir)]
  const started = await Promise.all(servers.map(({ url }) => url.then(() => true, () => false)))
  t.same(started.toSorted(), [false, true])
  const [winner, loser] = started[0] ? servers : servers.toReversed()
  await t.rejects(loser!.url, { message: /^PostgreSQL incorporato: un altro server usa già [^\n]+ DATABASE_URL$/ })
  t.same(await query(await winner!.url, 'select 1 as one'), [{ one: 1 }])
  await winner!.kill()
  const next = start(t, self, dataDir)
  await next.url
  await next.stop()
})

t.test('a tool uses the cluster of a server, and starts and stops one when no server runs', async (t) => {
  const dataDir = copyOf(t, self, made)
  const server = start(t, self, dataDir)
  await server.url
  const pid = postmasterOf(dataDir)
  const beside = start(t, self, dataDir, { kind: 'tool' })
  t.equal(await beside.url, await server.url)
  await beside.stop()
  t.equal(postmasterOf(dataDir), pid, 'the cluster stays for the server')
  await server.stop()

  const alone = start(t, self, dataDir, { kind: 'tool' })
  t.same(await query(await alone.url, 'select 1 as one'), [{ one: 1 }])
  const waiting = start(t, self, dataDir)
  await waiting.logged(/waiting for another/)
  await alone.stop()
  t.same(await query(await waiting.url, 'select 1 as one'), [{ one: 1 }], 'the server has waited for the tool')
  await waiting.stop()
  const last = start(t, self, dataDir, { kind: 'tool' })
  await last.url
  await last.stop()
  t.equal(postmasterOf(dataDir), undefined)
})

t.test('a server restarts its postmaster at the same address after kill -9', async (t) => {
  const dataDir = copyOf(t, self, made)
  const server = start(t, self, dataDir)
  const url = await server.url
  await query(url, 'create table kept as select generate_series(1, 1000) as value')
  const pid = postmasterOf(dataDir)!
  server.logs.length = 0
  process.kill(pid, 'SIGKILL')
  await server.logged(/started on/)
  t.same(await query(url, 'select count(*)::int as rows from kept'), [{ rows: 1000 }])
  await server.stop()
  t.equal(postmasterOf(dataDir), undefined)
})

t.test('rows survive when every process is killed with -9 and another program gets the recorded pid', async (t) => {
  const dataDir = copyOf(t, self, made)
  const server = start(t, self, dataDir)
  await query(await server.url, 'create table kept as select generate_series(1, 1000) as value')
  await server.kill()
  const pid = postmasterOf(dataDir)!
  process.kill(pid, 'SIGKILL')
  await gone(pid, dataDir)
  const { uid, gid } = statSync(join(dataDir, 'postgres'))
  const foreign = spawn('sleep', ['600'], isRoot ? { uid, gid, cwd: '/' } : {})
  t.teardown(() => foreign.kill())
  const note = join(dataDir, 'postgres', 'postmaster.pid')
  for (const file of [note, join(dataDir, 'postgres', 'socket,:5432', '.s.PGSQL.5432.lock')]) {
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(foreign.pid)))
  }

  const next = start(t, self, dataDir)
  t.same(await query(await next.url, 'select count(*)::int as rows from kept'), [{ rows: 1000 }])
  t.equal(foreign.exitCode, null, 'the other program still runs')
  await next.stop()

  // The state after a power failure.
  writeFileSync(note, '')
  const last = start(t, self, dataDir)
  t.same(await query(await last.url, 'select count(*)::int as rows from kept'), [{ rows: 1000 }])
})

t.test('an initdb killed with -9 is repeated, and its partial folder is removed', async (t) => {
  const dataDir = dataDirOf(t, self)
  const server = start(t, self, dataDir)
  const partial = () => readdirSync(dataDir).find((name) => name.startsWith('postgres.partial-')) ?? ''
  while (!existsSync(join(dataDir, partial(), 'base'))) await sleep(5)
  const cut = partial()
  await server.kill()
  t.notOk(existsSync(join(dataDir, 'postgres')), 'the incomplete cluster does not have the final name')
  t.same(await query(await start(t, self, dataDir).url, 'select 1 as one'), [{ one: 1 }])
  t.notOk(existsSync(join(dataDir, cut)))
})

t.test('a folder without a cluster of this version, or on a missing disk, is refused and not changed', async (t) => {
  const old = copyOf(t, self, made)
  writeFileSync(join(old, 'postgres', 'PG_VERSION'), '17\n')
  await t.rejects(start(t, self, old).url, { message: /contiene PostgreSQL 17, [^\n]* PostgreSQL 18: [^\n]*$/ })

  const other = dataDirOf(t, self)
  mkdirSync(join(other, 'postgres'))
  writeFileSync(join(other, 'postgres', 'lettera.txt'), 'cara nonna')
  await t.rejects(start(t, self, other).url, { message: /contiene altri file/ })
  t.same(readdirSync(join(other, 'postgres')), ['lettera.txt'])

  const away = dataDirOf(t, self)
  symlinkSync(join(away, 'missing'), join(away, 'postgres'))
  await t.rejects(start(t, self, away).url, { message: /ENOTDIR/ })
})

t.test('a path that is too long for a socket gets a private folder under the temporary one', async (t) => {
  const parent = join(dataDirOf(t, self), 'una-cartella-dal-nome-molto-lungo'.repeat(3), 'con spazi, virgole e %')
  mkdirSync(parent, { recursive: true })
  const server = start(t, self, dataDirOf(t, self, parent))
  const url = await server.url
  const [, sockets = ''] = /@([^/]+)\//.exec(url) ?? []
  const folder = decodeURIComponent(sockets)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  t.match(folder, join(tmpdir(), 'locanda-'))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.same(await query(url, 'select 1 as one'), [{ one: 1 }])
})

t.test('an ordinary user creates a cluster, leaves it running, and takes it over later', async (t) => {
  const dataDir = dataDirOf(t, ordinary)
  const first = start(t, ordinary, dataDir)
  await query(await first.url, 'create table kept as select 42 as value')
  t.equal(statSync(join(dataDir, 'postgres')).uid, statSync(dataDir).uid)
  await first.kill()
  const second = start(t, ordinary, dataDir)
  t.same(await query(await second.url, 'select value from kept'), [{ value: 42 }])
  await second.stop()
  t.equal(postmasterOf(dataDir), undefined)
})

t.test('without sockets the cluster listens on loopback, and needs a generated password', async (t) => {
  const dataDir = dataDirOf(t, ordinary)
  const server = start(t, ordinary, dataDir, { tcp: true })
  const url = new URL(await server.url)
  t.equal(url.hostname, '127.0.0.1')
  t.same(await query(url.href, 'select 1 as one'), [{ one: 1 }])
  t.equal(statSync(join(dataDir, 'postgres.password')).mode & 0o777, 0o600)
  const tool = start(t, ordinary, dataDir, { kind: 'tool', tcp: true })
  t.equal(await tool.url, url.href, 'a tool finds the cluster')
  await tool.stop()
  url.password = 'sbagliata'
  await t.rejects(query(url.href, 'select 1'), { code: '28P01' })
  await server.stop()
  t.equal(postmasterOf(dataDir), undefined)
})

t.test('root', { skip: isRoot ? false : 'the tests do not run as root' }, async (t) => {
  const closed = mkdtempSync(join(tmpdir(), 'locanda-closed-'))
  t.teardown(() => rmSync(closed, { recursive: true, force: true }))

  t.test('an unprivileged user runs PostgreSQL in a project of mode 0700, from a copy of the programs', async (t) => {
    const project = copyProject(join(closed, 'project'), { links: false })
    const dataDir = dataDirOf(t, self, closed)
    const server = start(t, self, dataDir, { project })
    t.same(await query(await server.url, 'select 1 as one'), [{ one: 1 }])
    t.not(statSync(join(dataDir, 'postgres')).uid, 0)
    t.match(readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`), /^\/var\/cache\/locanda\/postgres-bin-[^/]+\/native\//)
    await server.stop()

    const open = dataDirOf(t, self)
    chmodSync(open, 0o755)
    const beside = start(t, self, open, { project })
    await beside.url
    t.match(readlinkSync(`/proc/${postmasterOf(open)}/exe`), join(open, 'postgres-bin-'))
  })

  t.test('the root of a container finds the cluster that another user runs', async (t) => {
    const dataDir = dataDirOf(t, self)
    const server = start(t, self, dataDir, { isContained: true })
    t.same(await query(await server.url, 'select 1 as one'), [{ one: 1 }])
    await server.stop()
    t.equal(postmasterOf(dataDir), undefined)
  })

  t.test('restored files are given to that user, and made private', async (t) => {
    const dataDir = dataDirOf(t, self)
    cpSync(join(made, 'postgres'), join(dataDir, 'postgres'), { recursive: true, verbatimSymlinks: true })
    chmodSync(join(dataDir, 'postgres'), 0o755)
    t.equal(statSync(join(dataDir, 'postgres', 'base')).uid, 0)
    await start(t, self, dataDir).url
    t.not(statSync(join(dataDir, 'postgres', 'base')).uid, 0)
    t.equal(statSync(join(dataDir, 'postgres')).mode & 0o777, 0o700)
  })
})
