import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readNote } from '#src/plugins/database/embedded/postmaster.ts'
import { copyOf, dataDirOf, everybody, gone, isRoot, postmasterOf, query, serve } from './cluster-servers.ts'
import { obstacle } from './programs.ts'

if (!isRoot) t.test('run by root', { skip: 'the tests do not run as root' }, async () => {})

for (const who of everybody) {
  t.test(`run by ${who.name}`, { skip: obstacle(who) }, async (t) => {
    const made = dataDirOf(t, who)
    t.test('a first start makes the cluster, a second one after a stop finds the data', async (t) => {
      const dataDir = made
      const first = serve(t, who, dataDir)
      const { url, owned, connection, ms } = await first.ready
      t.equal(owned, true)
      t.equal(connection.host, join(dataDir, 'postgres'))
      await query(url, 'create table kept as select 42 as value')
      const [settings] = await query(
        url,
        `select current_setting('fsync') as fsync, current_setting('timezone') as zone,
          current_setting('listen_addresses') as tcp, current_setting('server_encoding') as encoding,
          current_setting('data_checksums') as checksums, current_setting('is_superuser') as superuser`
      )
      t.same(settings, { fsync: 'on', zone: 'UTC', tcp: '', encoding: 'UTF8', checksums: 'on', superuser: 'off' })
      t.equal(statSync(join(dataDir, 'postgres')).mode & 0o777, 0o700, 'the data folder is closed to others')
      await first.stop()
      t.equal(postmasterOf(dataDir), undefined, 'PostgreSQL stopped with its only server')

      const second = serve(t, who, dataDir)
      const again = await second.ready
      t.equal(again.owned, true)
      t.same(await query(again.url, 'select value from kept; drop table kept'), [{ value: 42 }])
      t.comment(`first start ${ms} ms, second start ${again.ms} ms`)
      await second.stop()
    })

    t.test(
      'a server killed with -9 leaves the cluster running, the next one takes it over and is the last to leave',
      async (t) => {
        const dataDir = copyOf(t, who, made)
        const first = serve(t, who, dataDir)
        const { url } = await first.ready
        await query(url, 'create table kept as select 42 as value')
        const pid = postmasterOf(dataDir)
        await first.kill()

        const second = serve(t, who, dataDir)
        const found = await second.ready
        t.equal(found.owned, false)
        t.equal(found.url, url)
        t.equal(postmasterOf(dataDir), pid, 'it is the same postmaster')
        t.same(await query(found.url, 'select value from kept'), [{ value: 42 }])
        await second.stop()
        t.equal(postmasterOf(dataDir), undefined, 'nobody was left, so it stopped')
      }
    )

    t.test(
      'two servers started at once on an empty folder share one cluster, which the last to leave stops',
      async (t) => {
        const dataDir = dataDirOf(t, who)
        const servers = [serve(t, who, dataDir), serve(t, who, dataDir)]
        const ready = await Promise.all(servers.map((server) => server.ready))
        t.same(ready.map(({ owned }) => owned).sort(), [false, true])
        t.equal(ready[0]?.url, ready[1]?.url)
        t.equal(
          servers.flatMap(({ logs }) => logs).filter((line) => line.includes('base dati nuova')).length,
          1,
          'one initdb'
        )
        const url = ready[0]?.url ?? ''

        const [owner, guest] = ready[0]?.owned ? servers : servers.reverse()
        await owner?.stop()
        t.same(await query(url, 'select 1 as one'), [{ one: 1 }], 'the cluster stays for the other')
        await guest?.stop()
        t.equal(postmasterOf(dataDir), undefined)
      }
    )

    t.test(
      'committed rows survive a postmaster killed with -9, and the server that was using it starts it again',
      async (t) => {
        const dataDir = copyOf(t, who, made)
        const server = serve(t, who, dataDir)
        const { url } = await server.ready
        await query(url, 'create table kept as select generate_series(1, 1000) as value')
        const pid = postmasterOf(dataDir) ?? 0
        process.kill(pid, 'SIGKILL')
        for (let note; !note?.ready || note.pid === pid;) {
          await sleep(20)
          note = await readNote(join(dataDir, 'postgres'))
        }
        t.same(await query(url, 'select count(*)::int as rows from kept'), [{ rows: 1000 }], 'at the same address')
        while (!server.logs.some((line) => line.includes('avviato') && !line.includes(`pid ${pid})`))) await sleep(20)
        await server.stop()
        t.equal(postmasterOf(dataDir), undefined)
      }
    )

    t.test(
      'committed rows survive both killed with -9, even when another program has the noted pid by now',
      async (t) => {
        const dataDir = copyOf(t, who, made)
        const server = serve(t, who, dataDir)
        const { url } = await server.ready
        await query(url, 'create table kept as select generate_series(1, 1000) as value')
        await server.kill()
        const pid = postmasterOf(dataDir) ?? 0
        process.kill(pid, 'SIGKILL')
        await gone(pid, dataDir)
        const owner = statSync(join(dataDir, 'postgres'))
        const foreign = spawn('sleep', ['600'], isRoot ? { uid: owner.uid, gid: owner.gid, cwd: '/' } : {})
        t.teardown(() => foreign.kill())
        for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
          const file = join(dataDir, 'postgres', name)
          writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(foreign.pid)))
        }

        const next = await serve(t, who, dataDir).ready
        t.equal(next.owned, true)
        t.equal(foreign.exitCode, null, 'the other program was left alone')
        t.same(await query(next.url, 'select count(*)::int as rows from kept'), [{ rows: 1000 }])
      }
    )

    t.test('an empty postmaster.pid, as a power cut leaves it, does not stop a start', async (t) => {
      const dataDir = copyOf(t, who, made)
      writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), '')
      t.equal((await serve(t, who, dataDir).ready).owned, true)
    })

    t.test('an initdb cut short by kill -9 is swept away and done again', async (t) => {
      const dataDir = dataDirOf(t, who)
      const server = serve(t, who, dataDir)
      const partial = () => readdirSync(dataDir).find((name) => name.startsWith('postgres.partial-'))
      while (!existsSync(join(dataDir, partial() ?? '', 'base'))) await sleep(5)
      const cut = partial()
      await server.kill()
      t.notOk(existsSync(join(dataDir, 'postgres')), 'the half-made cluster has not the final name')

      const { url, owned } = await serve(t, who, dataDir).ready
      t.equal(owned, true)
      t.same(await query(url, 'select 1 as one'), [{ one: 1 }])
      t.notOk(existsSync(join(dataDir, cut ?? '')), 'nothing is left of it')
    })

    t.test('a backend that dies takes the server down with it for a moment only', async (t) => {
      const dataDir = copyOf(t, who, made)
      const server = serve(t, who, dataDir)
      const { url } = await server.ready
      const pid = postmasterOf(dataDir)
      const [victim] = await query(url, "select pid from pg_stat_activity where application_name = 'locanda: quota'")
      process.kill(Number(victim?.pid), 'SIGKILL')
      while (!server.logs.some((line) => line.includes('già in esecuzione'))) await sleep(20)
      t.equal(postmasterOf(dataDir), pid)
      const other = serve(t, who, dataDir)
      await other.ready
      await other.stop()
      t.same(
        await query(url, 'select 1 as one'),
        [{ one: 1 }],
        'its share was renewed: another one leaving does not stop the cluster'
      )
    })

    t.test('a folder of another major version is refused in one line and left alone', async (t) => {
      const dataDir = copyOf(t, who, made)
      const version = join(dataDir, 'postgres', 'PG_VERSION')
      writeFileSync(version, '17\n')
      const before = readdirSync(join(dataDir, 'postgres'))
      await t.rejects(serve(t, who, dataDir).ready, {
        message: /postgres è di PostgreSQL 17, il programma installato è PostgreSQL 18[^\n]*$/
      })
      t.same(readdirSync(join(dataDir, 'postgres')), before)
      t.equal(readFileSync(version, 'utf8'), '17\n')
    })

    t.test('a log that has grown is put aside at the next start', async (t) => {
      const dataDir = copyOf(t, who, made)
      appendFileSync(join(dataDir, 'postgres.log'), Buffer.alloc(5_000_000, '.'))
      await serve(t, who, dataDir).ready
      t.ok(statSync(join(dataDir, 'postgres.log')).size < 10_000)
      t.ok(existsSync(join(dataDir, 'postgres.log.1')))
    })
  })
}
