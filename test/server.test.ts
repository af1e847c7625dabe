import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { get, request as send, Agent, type IncomingMessage } from 'node:http'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import journal from '../drizzle/migrations/meta/_journal.json' with { type: 'json' }
import { testDatabase } from './database.ts'
import { API_KEY, temporaryFolder } from './helper.ts'
import { databaseBefore } from './migration.ts'
import { openSocket } from './raw.ts'
import { serverProcess } from './server-process.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
/** Known beforehand, so that nothing is to be told. */
const ADMIN = { ADMIN_EMAIL: 'direzione@example.org', ADMIN_PASSWORD: 'una-frase-lunga-e-mia' }
const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}

async function started (t: Test, descriptors?: number) {
  const database = await testDatabase(t)
  const environ = { API_KEY, DATABASE_URL: database.url, MASTER_KEY, ...ADMIN }
  const server = serverProcess(t, environ, undefined, undefined, descriptors)
  const base = await server.ready
  return { ...database, server, base, port: Number(new URL(base).port) }
}

t.test('a started server says where it listens and in which mode, and answers there', async (t) => {
  const { server, base } = await started(t)
  t.match(
    server.logs.find(({ msg }) => msg === 'ready'),
    { address: /^http:\/\/127\.0\.0\.1:\d+$/, mode: 'sandbox', level: 30 }
  )
  t.same(await (await fetch(`${base}/health/ready`)).json(), { stato: 'ok' })
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
  t.equal(server.errors(), '')
})

t.test('the end of the terminal alone ends the server in order', async (t) => {
  const { server } = await started(t)
  server.signal('SIGHUP')
  t.equal(await server.exit, 0)
  t.match(server.logs.find(({ msg }) => msg === 'closing'), { signal: 'SIGHUP' })
})

t.test('connections that are idle, silent or half way through a request do not hold up the exit', async (t) => {
  const { server, base, port } = await started(t)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const [answer] = await once(get(`${base}/health/live`, { agent }), 'response') as [IncomingMessage]
  await text(answer)
  await openSocket(t, port)
  await openSocket(t, port, 'GET /health/live HT')
  await openSocket(
    t,
    port,
    `POST /api/v1/prenotazioni HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${API_KEY}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
  )
  server.signal('SIGTERM')
  // Held up, it would be ended by the deadline of the shutdown instead, with code 1.
  t.equal(await server.exit, 0)
})

t.test('a flood of idle connections leaves descriptors for the work, and connections for others', async (t) => {
  const { server, base, port } = await started(t, 256)
  const answer = async () => {
    const [{ statusCode }] = await once(get(`${base}/health/ready`, { agent: false }), 'response') as [IncomingMessage]
    return statusCode
  }
  const flood: Socket[] = []
  // So many addresses that they have all connections together, and each tries to have more than its part.
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']) {
    await Promise.all(Array.from({ length: 100 }, async () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: address }).on('error', () => {})
      flood.push(socket)
      await once(socket, 'connect')
      socket.write('G')
    }))
    if (address === '127.0.0.2') {
      await closed(flood, 68)
      t.equal(await answer(), 200, 'another address is answered, while the first holds all that it may')
      t.equal(flood.filter(({ closed }) => !closed).length, 32)
    }
  }
  t.ok((await readdir(`/proc/${server.pid}/fd`)).length < 200, 'descriptors are left')
  for (const socket of flood) socket.destroy()
  t.equal(await until(answer), 200)
  server.signal('SIGTERM')
  t.equal(await server.exit, 0, 'it is the same process to the end')
  t.equal(server.errors(), '')
})

/** What comes of a request in the end, when connections are free again. */
async function until (answer: () => Promise<number | undefined>): Promise<number | undefined> {
  return await answer().catch(() => until(answer))
}

/** Resolves when so many of the sockets are closed. */
async function closed (sockets: readonly Socket[], count: number): Promise<void> {
  const open = sockets.filter((socket) => !socket.closed)
  if (sockets.length - open.length >= count) return
  await Promise.race(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  await closed(sockets, count)
}

t.test('a request under way when signals come is finished, later ones are refused', async (t) => {
  const { server, base, port, sql } = await started(t)
  const created = await fetch(`${base}/api/v1/prenotazioni`, { method: 'POST', headers, body: JSON.stringify(BOOKING) })
  const { data: { id } } = await created.json() as { data: { id: number } }
  const idle = await openSocket(t, port, 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(idle, 'data')

  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const lock = sql.begin(async (sql) => {
    await sql`select * from prenotazioni where id = ${id} for update`
    const put = send(`${base}/api/v1/prenotazioni/${id}`, { method: 'PUT', headers })
    put.end('{"numero_notti":5}')
    const answer = once(put, 'response') as Promise<[IncomingMessage]>
    await lockWaiter()
    server.signal('SIGTERM')
    await server.logged('closing')
    // As a terminal and what stands between it and the server do.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) server.signal(signal)
    await server.logged('closing already')
    await released
    return { answer }
  })

  const [, closed] = await Promise.all([server.logged('closing'), once(idle, 'close').then(() => true)])
  t.equal(closed, true, 'the idle connection is dropped first')
  await t.rejects(fetch(`${base}/health/live`), 'nobody is let in any more')
  release()
  const [answer] = await (await lock).answer
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers.connection, 'close')
  t.match(JSON.parse(await text(answer)), { data: { id, numero_notti: 5 } })
  t.equal(await server.exit, 0)
  t.same(await sql`select check_out from prenotazioni where id = ${id}`, [{ check_out: '2026-11-26' }])

  async function lockWaiter () {
    for (let rows = []; rows.length === 0;) {
      rows = [
        ...(await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
      ]
    }
  }
})

t.test('at localhost it listens on one address, where connections are bounded, also if there are two', async (t) => {
  const { url } = await testDatabase(t)
  const hosts = `import dns from 'node:dns'
    const { lookup } = dns
    dns.lookup = (name, options, done) => name === 'localhost' && options.all
      ? done(null, [{ address: '127.0.0.1', family: 4 }, { address: '127.0.0.2', family: 4 }])
      : lookup(name, options, done)`
  const server = serverProcess(t, {
    DATABASE_URL: url,
    MASTER_KEY,
    HOST: 'localhost',
    ...ADMIN,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hosts)}`
  })
  const { port } = new URL(await server.ready)
  t.equal((await fetch(`http://127.0.0.1:${port}/health/live`)).status, 200)
  await t.rejects(fetch(`http://127.0.0.2:${port}/health/live`))
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
})

t.test('a bad setting ends the start with code 1 and one line that names the variable', async (t) => {
  const server = serverProcess(t, { PORT: '70000', DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: PORT: [^\n]+\n$/)
})

t.test('a database that is not there ends the start with code 1 and one line, without the password', async (t) => {
  const server = serverProcess(t, { DATABASE_URL: 'postgres://locanda:CANARY-password@127.0.0.1:1/none' })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: DATABASE_URL: [^\n]+\n$/)
  t.notMatch(server.errors() + JSON.stringify(server.logs), 'CANARY')
})

t.test('a port that is taken ends the start with code 1 and one line, and nothing stays open', async (t) => {
  const { port, url } = await started(t)
  const second = serverProcess(t, { API_KEY, DATABASE_URL: url, MASTER_KEY, PORT: String(port) })
  t.equal(await second.exit, 1)
  t.match(second.errors(), /^Locanda non può partire: PORT: [^\n]+\n$/)
})

t.test('a key that is not the database\'s ends the start with one line, and nothing is written', async (t) => {
  const { sql, url } = await started(t)
  const written = () => sql`
    select (select count(*) from audit_log) as audit, (select count(*) from users) as users,
      (select count(*) from signing_keys) as keys, (select count(*) from registro_chiave) as records`
  const before = await written()
  const second = serverProcess(t, { API_KEY, DATABASE_URL: url, ...ADMIN })
  t.equal(await second.exit, 1)
  t.match(second.errors(), /^Locanda non può partire: MASTER_KEY: il database è stato scritto con un’altra [^\n]+\n$/)
  t.same(await written(), before)
})

t.test('a key that is lost or wrong ends the start with a line that says which one, and none is made', async (t) => {
  const { sql, url, server } = await started(t)
  server.signal('SIGTERM')
  await server.exit
  const refused = async (t: Test, DATA_DIR: string, reason: RegExp, environ: Record<string, string> = {}) => {
    const before = readdirSync(DATA_DIR)
    const second = serverProcess(t, { DATA_DIR, ...environ })
    t.equal(await second.exit, 1)
    t.match(second.errors(), /^Locanda non può partire: MASTER_KEY: [^\n]+\n$/)
    t.match(second.errors(), reason)
    t.same(readdirSync(DATA_DIR), before)
  }
  const other = temporaryFolder(t)
  const file = join(other, 'master.key')
  writeFileSync(file, Buffer.alloc(32, 8).toString('base64'), { mode: 0o600 })
  const key = Buffer.alloc(32, 8).toString('base64')
  await refused(t, temporaryFolder(t), /\/master\.key manca/, { DATABASE_URL: url })
  await refused(t, other, /quella del file \S+\/master\.key/, { DATABASE_URL: url })
  await refused(t, temporaryFolder(t), /quella della variabile MASTER_KEY/, { DATABASE_URL: url, MASTER_KEY: key })

  // As a version that had no such record has left it.
  await sql.unsafe('alter table registro_chiave disable trigger user; delete from registro_chiave')
  await refused(t, temporaryFolder(t), /quella della variabile MASTER_KEY/, { DATABASE_URL: url, MASTER_KEY: key })

  const restored = temporaryFolder(t)
  mkdirSync(join(restored, 'postgres'))
  writeFileSync(join(restored, 'postgres', 'PG_VERSION'), '18\n')
  await refused(t, restored, /manca il file \S+\/master\.key/)
})

t.test('a database of a newer version ends the start with one line, and is left as it is', async (t) => {
  const { url, sql } = await testDatabase(t)
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 4102444800000)`
  const server = serverProcess(t, { API_KEY, DATABASE_URL: url, MASTER_KEY, ...ADMIN })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: DATABASE_URL: il database è di una versione [^\n]+ recente [^\n]+\n$/)
  t.same(await sql`select from users`, [])
})

t.test('a start that finds an older database upgrades it once, and says from where and to where', async (t) => {
  const { url } = await databaseBefore(t, '0022_events')
  const environ = { API_KEY, DATABASE_URL: url, MASTER_KEY, ...ADMIN }
  const servers = [serverProcess(t, environ), serverProcess(t, environ)]
  await Promise.all(servers.map(({ ready }) => ready))
  const said = servers.flatMap(({ logs }) => logs.filter(({ msg }) => msg === 'database upgraded'))
  const last = journal.entries.at(-1)!.tag
  t.match(said, [{ from: '0021_second_factor_rules', to: last, ms: Number }], 'one of them, while the other waits')
  t.equal(said.length, 1)
})

t.test('of two servers with different keys that start on a new database one starts', async (t) => {
  const { url, sql } = await testDatabase(t)
  const servers = [1, 2].map(() => serverProcess(t, { DATABASE_URL: url, ...ADMIN }))
  const started = await Promise.all(servers.map(({ ready }) => ready.then(() => true, () => false)))
  t.same(started.toSorted(), [false, true])
  t.match(servers[started.indexOf(false)]!.errors(), /^Locanda non può partire: MASTER_KEY: [^\n]+\n$/)
  t.match(await sql`select primo_anello from registro_chiave`, [{ primo_anello: 1 }])
  await t.rejects(sql`delete from registro_chiave`, { code: 'LC003' })
})

t.test('the first start makes an administrator and says how to sign in, once and not in the log', async (t) => {
  const { url } = await testDatabase(t)
  const first = serverProcess(t, { DATABASE_URL: url, MASTER_KEY })
  const base = await first.ready
  const [, email = '', password = ''] =
    /^Creato il primo amministratore: (\S+)\nPassword: (\S+)\n[^\n]+\n$/.exec(first.errors()) ?? []
  const answer = await fetch(`${base}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password })
  })
  t.equal(answer.status, 200)
  const { access_token: token } = await answer.json() as { access_token: string }
  t.equal((await fetch(`${base}/api/users`, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  first.signal('SIGTERM')
  t.equal(await first.exit, 0)
  t.equal(email, 'admin@locanda.local')
  t.ok(password.length > 20)
  t.notOk(JSON.stringify(first.logs).includes(password))
  t.equal(first.errors().split(password).length, 2)

  const second = serverProcess(t, { DATABASE_URL: url, MASTER_KEY, ...ADMIN })
  await second.ready
  second.signal('SIGTERM')
  t.equal(await second.exit, 0)
  t.equal(second.errors(), '')
})

t.test('a server and its PostgreSQL that are ended together end both, and none is started again', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const server = serverProcess(t, { DATA_DIR, ...ADMIN })
  await server.ready
  const note = join(DATA_DIR, 'postgres', 'postmaster.pid')
  const postmaster = Number.parseInt(readFileSync(note, 'utf8'), 10)
  const group = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').map(Number)
  // As systemd does: every process of the service, in any order.
  for (const pid of [postmaster, ...group]) process.kill(pid, 'SIGTERM')
  server.signal('SIGTERM')
  t.equal(await server.exit, 0, server.errors())
  t.notOk(existsSync(note), 'PostgreSQL has ended')
  t.equal(server.logs.filter(({ msg }) => /incorporato: \S+ avviato/.test(String(msg))).length, 1)
})

const FULL = 'the disk is full: nothing can be written'

t.test('a full disk refuses what is to be written, with a code of its own, and readiness knows', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=160m,mode=700', 'tmpfs', DATA_DIR]).status === 0
  if (!mounted) return t.pass('a full disk', { skip: 'no file system of a bounded size can be mounted here' })
  t.teardown(() => spawnSync('umount', ['-l', DATA_DIR]))
  const server = serverProcess(t, { DATA_DIR, API_KEY, RATE_LIMIT_MAX: '1000000', ...ADMIN })
  const base = await server.ready
  const ready = async () => (await fetch(`${base}/health/ready`)).json()
  const create = async () => (await fetch(`${base}/api/v1/prenotazioni`, {
    method: 'POST', headers, body: JSON.stringify({ ...BOOKING, email: `${'a'.repeat(60)}@example.org` })
  })).json() as Promise<{ status: number, codice?: string }>
  t.same(await ready(), { stato: 'ok' })

  const filler = join(DATA_DIR, 'filler')
  const { bavail, bsize } = statfsSync(DATA_DIR)
  writeFileSync(filler, Buffer.alloc(bavail * bsize))
  t.match(await ready(), { status: 503, codice: 'SPAZIO_ESAURITO' })
  let answer = await create()
  while (answer.status === 201) answer = await create()
  t.match(answer, { status: 503, codice: /SPAZIO_ESAURITO|DATABASE_NON_DISPONIBILE/ })
  await server.logged(FULL)
  t.equal(server.logs.filter(({ msg }) => msg === FULL).length, 1)

  rmSync(filler)
  while ((await fetch(`${base}/health/ready`)).status !== 200) { /* until PostgreSQL is up again */ }
  t.match(await create(), { status: 201 })
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)

  writeFileSync(filler, Buffer.alloc(statfsSync(DATA_DIR).bavail * bsize))
  const next = serverProcess(t, { DATA_DIR, API_KEY, ...ADMIN })
  t.equal(await next.exit, 1)
  t.match(next.errors(), /^Locanda non può partire: [^\n]*disco è pieno[^\n]*\n$/)
})

t.test('a port that is taken does not use up the showing of the first password', async (t) => {
  const { port } = await started(t)
  const { url, sql } = await testDatabase(t)
  const refused = serverProcess(t, { DATABASE_URL: url, MASTER_KEY, PORT: String(port) })
  t.equal(await refused.exit, 1)
  t.match(refused.errors(), /^Locanda non può partire: PORT: [^\n]+\n$/)
  t.same(await sql`select from users`, [])
})

t.test('what is wrong with the database is said in one line of Italian, without its password', async (t) => {
  const { url, sql } = await testDatabase(t)
  const nobody = `nessuno_${randomBytes(4).toString('hex')}`
  await sql.unsafe(`create role ${nobody} login`)
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`select current_database() as name`
  await sql.unsafe('drop schema drizzle cascade')
  for (const [reason, other] of [
    [/il database indicato non esiste/, url.replace(name, 'mai_esistito')],
    [/non può creare tabelle/, url.replace(/\/\/[^@/]+@/, `//${nobody}@`)]
  ] as const) {
    const server = serverProcess(t, { DATABASE_URL: other, MASTER_KEY })
    t.equal(await server.exit, 1)
    t.match(server.errors(), /^Locanda non può partire: DATABASE_URL: [^\n]+\n$/)
    t.match(server.errors(), reason)
  }
  await sql.unsafe(`drop role ${nobody}`)
})

t.test(
  'a password for the first administrator that everybody knows ends the start with code 1 and one line',
  async (t) => {
    const { url, sql } = await testDatabase(t)
    const server = serverProcess(t, {
      DATABASE_URL: url,
      ADMIN_EMAIL: 'direzione@example.org',
      ADMIN_PASSWORD: 'password'
    })
    t.equal(await server.exit, 1)
    t.match(server.errors(), /^Locanda non può partire: ADMIN_PASSWORD: [^\n]+\n$/)
    t.equal((await sql`select from users`).count, 0)
  }
)
