import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, symlinkSync, writeFileSync
} from 'node:fs'
import { readdir } from 'node:fs/promises'
import { Agent, get, type IncomingMessage, request as send } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import t, { type Test } from 'tap'
import { readConfig } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/index.ts'
import { readJournal } from '#src/database/journal.ts'
import { applyMigrations, knownMigrations } from '#src/database/migrate.ts'
import { testDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { API_KEY, build, NEVER_OVERLOADED, temporaryFolder } from './helper.ts'
import { listening } from './loopback.ts'
import { openSocket } from './raw.ts'
import { ADMIN, MASTER_KEY, serverProcess, started } from './server-process.ts'
import { COMPILE_CACHE } from './setup/processes.ts'

const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}

t.test('a started server logs its address and mode, responds there, and shuts down cleanly', async (t) => {
  const { server, base } = await started(t)
  t.match(
    server.logs.find(({ msg }) => msg === 'ready'),
    { address: /^http:\/\/127\.0\.0\.1:\d+$/, mode: 'sandbox', level: 30 }
  )
  t.same(await (await fetch(`${base}/health/ready`)).json(), { stato: 'ok' })
  // Only a terminal that closes sends SIGHUP. Other tests use the signals of service managers.
  server.signal('SIGHUP')
  t.equal(await server.exit, 0)
  t.match(server.logs.find(({ msg }) => msg === 'shutting down'), { signal: 'SIGHUP' })
  t.equal(server.errors(), '')
})

const isTerminalMissing = spawnSync('script', ['--version']).status !== 0 && 'script (util-linux) is not installed'

t.test('on a terminal the server logs text, explains how to reach and stop it, and Ctrl+C stops it', {
  skip: isTerminalMissing
}, async (t) => {
  const { url } = await testDatabase(t)
  const port = await freePort()
  const command = `exec ${process.execPath} ${fileURLToPath(new URL('../src/server.ts', import.meta.url))}`
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      PORT: String(port),
      PUBLIC_URL: 'http://locanda.test',
      DATA_DIR: temporaryFolder(t),
      DATABASE_URL: url,
      API_KEY,
      MASTER_KEY,
      ...NEVER_OVERLOADED,
      ...ADMIN
    },
    stdio: ['pipe', 'pipe', 'inherit']
  })
  t.teardown(() => terminal.kill('SIGKILL'))
  let shown = ''
  const isReady = new Promise<void>((resolve) => {
    terminal.stdout.setEncoding('utf8').on('data', (piece: string) => {
      shown += piece
      // The log is written in the background, so its line may come after the text.
      if (shown.includes('per fermarla') && shown.includes('mode=sandbox')) resolve()
    })
  })
  await isReady
  const plain = stripVTControlCharacters(shown)
  t.match(plain, new RegExp(String.raw`\d\d INFO  ready address=http://127\.0\.0\.1:${port} mode=sandbox\r`))
  t.match(plain, new RegExp(
    String.raw`Locanda è pronta: http://locanda\.test · http://127\.0\.0\.1:${port} .* Premere Ctrl\+C per fermarla\.\r`))
  terminal.stdin.write('\x03')
  t.same(await once(terminal, 'close'), [0, null])
  t.match(shown, 'shutting down')
})

t.test('idle, silent and half-sent connections do not delay the exit', async (t) => {
  const { server, base, port } = await started(t)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const [response] = await once(get(`${base}/health/live`, { agent }), 'response') as [IncomingMessage]
  await text(response)
  await openSocket(t, port)
  await openSocket(t, port, 'GET /health/live HT')
  await openSocket(
    t,
    port,
    `POST /api/v1/prenotazioni HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${API_KEY}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{'
  )
  server.signal('SIGTERM')
  // A late exit would reach the shutdown deadline, and end with code 1.
  t.equal(await server.exit, 0)
})

t.test('a flood of idle connections leaves descriptors for work and connections for other clients', async (t) => {
  const { server, base, port } = await started(t, 256)
  const response = async () => {
    const [{ statusCode }] = await once(get(`${base}/health/ready`, { agent: false }), 'response') as [IncomingMessage]
    return statusCode
  }
  const flood: Socket[] = []
  // Enough client IPs to use all connections. Each tries to exceed its share.
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']) {
    await Promise.all(Array.from({ length: 100 }, async () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: address }).on('error', () => {})
      flood.push(socket)
      await once(socket, 'connect')
      socket.write('G')
    }))
    if (address === '127.0.0.2') {
      await closed(flood, 68)
      t.equal(await response(), 200, 'another client IP is served while the first has its maximum')
      t.equal(flood.filter(({ closed }) => !closed).length, 32)
    }
  }
  t.ok((await readdir(`/proc/${server.pid}/fd`)).length < 200, 'file descriptors remain')
  for (const socket of flood) socket.destroy()
  t.equal(await until(response), 200)
  server.signal('SIGTERM')
  t.equal(await server.exit, 0, 'the process did not restart')
  t.equal(server.errors(), '')
})

/** Retries a request until a connection is free. */
async function until (response: () => Promise<number | undefined>): Promise<number | undefined> {
  return await response().catch(() => until(response))
}

/** Resolves when at least `count` of the sockets are closed. */
async function closed (sockets: readonly Socket[], count: number): Promise<void> {
  const open = sockets.filter((socket) => !socket.closed)
  if (sockets.length - open.length >= count) return
  await Promise.race(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  await closed(sockets, count)
}

t.test('a request in progress when signals arrive is finished, and later ones are rejected', async (t) => {
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
    const response = once(put, 'response') as Promise<[IncomingMessage]>
    await lockWaiter()
    server.signal('SIGTERM')
    await server.logged('shutting down')
    // A terminal and npm may each send the same signal, so the server gets it more than once.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) server.signal(signal)
    await server.logged('already shutting down')
    await released
    return { response }
  })

  const [, closed] = await Promise.all([server.logged('shutting down'), once(idle, 'close').then(() => true)])
  t.equal(closed, true, 'the idle connection is dropped first')
  await t.rejects(fetch(`${base}/health/live`), 'new connections are refused')
  release()
  const [response] = await (await lock).response
  t.equal(response.statusCode, 200)
  t.equal(response.headers.connection, 'close')
  t.match(JSON.parse(await text(response)), { data: { id, numero_notti: 5 } })
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

t.test('with HOST=localhost the server listens on one address, even if localhost has two', async (t) => {
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

t.test('a server and its PostgreSQL shut down cleanly when both get a signal together', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const server = serverProcess(t, { DATA_DIR, ...ADMIN })
  await server.ready
  const note = join(DATA_DIR, 'postgres', 'postmaster.pid')
  const postmaster = Number.parseInt(readFileSync(note, 'utf8'), 10)
  const group = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').map(Number)
  // Like systemd, the test signals every process of the service, in any order.
  for (const pid of [postmaster, ...group]) {
    try {
      process.kill(pid, 'SIGTERM')
    } catch (err) {
      // The process may have ended. PostgreSQL's processes end after the signal to the first one.
      if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err
    }
  }
  server.signal('SIGTERM')
  t.equal(await server.exit, 0, server.errors())
  t.notOk(existsSync(note), 'PostgreSQL has ended')
})

const FULL = 'the disk is full: nothing can be written'

t.test('when the disk is full, writes fail with a specific error code, and readiness fails', async (t) => {
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
  let response = await create()
  while (response.status === 201) response = await create()
  t.match(response, { status: 503, codice: /SPAZIO_ESAURITO|DATABASE_NON_DISPONIBILE/ })
  await server.logged(FULL)
  t.equal(server.logs.filter(({ msg }) => msg === FULL).length, 1)

  rmSync(filler)
  while ((await fetch(`${base}/health/ready`)).status !== 200) { /* Wait until PostgreSQL is up again. */ }
  t.match(await create(), { status: 201 })
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)

  writeFileSync(filler, Buffer.alloc(statfsSync(DATA_DIR).bavail * bsize))
  const next = serverProcess(t, { DATA_DIR, API_KEY, ...ADMIN })
  t.equal(await next.exit, 1)
  t.match(next.errors(), /^Locanda non può partire: [^\n]*disco è pieno[^\n]*\n$/)
})

/* Starts and their failures. */

t.test('an invalid setting ends the start with code 1 and one line that names the variable', async (t) => {
  const server = serverProcess(t, { PORT: '70000', DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: PORT: [^\n]+\n$/)
})

t.test('an unreachable database ends the start with code 1 and one line, without the password', async (t) => {
  const server = serverProcess(t, { DATABASE_URL: 'postgres://locanda:CANARY-password@127.0.0.1:1/none' })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: DATABASE_URL: [^\n]+\n$/)
  t.notMatch(server.errors() + JSON.stringify(server.logs), 'CANARY')
})

t.test('a port in use ends the start with code 1 and one line, before a first password is generated', async (t) => {
  const port = await listening(t, createServer())
  const { url, sql } = await testDatabase(t)
  const server = serverProcess(t, { DATABASE_URL: url, MASTER_KEY, PORT: String(port) })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: PORT: [^\n]+\n$/)
  t.same(await sql`select from users`, [])
})

t.test('a master key of another installation ends the start with one line, and nothing is written', async (t) => {
  const { app, url } = await build(t)
  const written = () => app.sql`
    select (select count(*) from audit_log) as audit, (select count(*) from users) as users,
      (select count(*) from signing_keys) as keys, (select count(*) from registro_chiave) as records`
  const before = await written()
  const server = serverProcess(t, { API_KEY, DATABASE_URL: url, ...ADMIN })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: MASTER_KEY: il database è stato scritto con un’altra [^\n]+\n$/)
  t.same(await written(), before)
})

t.test('a lost or wrong master key ends the start with one line that says so, and no key is generated', async (t) => {
  const { app, dataDir, url } = await build(t)
  await firstAdministrator(app, readConfig({ DATA_DIR: dataDir, ...ADMIN }))
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
  await refused(t, other, /al posto di \S+\/master\.key/, { DATABASE_URL: url })
  await refused(t, temporaryFolder(t), /indicare in MASTER_KEY la chiave del database/, { DATABASE_URL: url, MASTER_KEY: key })

  const restored = temporaryFolder(t)
  mkdirSync(join(restored, 'postgres'))
  writeFileSync(join(restored, 'postgres', 'PG_VERSION'), '18\n')
  await refused(t, restored, /manca il file \S+\/master\.key/)
})

t.test('a BACKUP_DIR that is missing or not a folder ends the start with one line, and is not created', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const environ = { MASTER_KEY, BACKUP_PASSPHRASE: 'otto barche sul lago' }
  const cases = [[join(folder, 'disco'), 'non c’è: crearla'], [file, 'non è una cartella']] as const
  for (const [BACKUP_DIR, reason] of cases) {
    const server = serverProcess(t, { ...environ, BACKUP_DIR })
    t.equal(await server.exit, 1)
    const start = `Locanda non può partire: BACKUP_DIR: la cartella ${BACKUP_DIR} non si può usare: ${reason}`
    t.equal(server.errors().slice(0, start.length), start)
  }
  t.same(readdirSync(folder), ['file'])
})

t.test('a database of a newer version ends the start with one line, and is not changed', async (t) => {
  const { url, sql } = await testDatabase(t)
  await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 4102444800000)`
  const server = serverProcess(t, { API_KEY, DATABASE_URL: url, MASTER_KEY, ...ADMIN })
  t.equal(await server.exit, 1)
  t.match(server.errors(), /^Locanda non può partire: DATABASE_URL: il database è di una versione [^\n]+ recente [^\n]+\n$/)
  t.same(await sql`select from users`, [])
})

t.test('one of two servers that start on an older database upgrades it, and logs from and to', async (t) => {
  const { url, sql } = await testDatabase(t, true)
  await sql.begin((tx) => applyMigrations(tx, knownMigrations().slice(0, 1)))
  const environ = { API_KEY, DATABASE_URL: url, MASTER_KEY, ...ADMIN }
  const servers = [serverProcess(t, environ), serverProcess(t, environ)]
  await Promise.all(servers.map(({ ready }) => ready))
  const said = servers.flatMap(({ logs }) => logs.filter(({ msg }) => msg === 'database upgraded'))
  t.equal(said.length, 1)
  t.match(said, [{ from: '0000_init', to: readJournal().at(-1)!.tag, ms: Number }])
})

t.test('when two servers with different master keys start on a new database, one of them fails', async (t) => {
  const { url, sql } = await testDatabase(t)
  const servers = [1, 2].map(() => serverProcess(t, { DATABASE_URL: url, ...ADMIN }))
  const started = await Promise.all(servers.map(({ ready }) => ready.then(() => true, () => false)))
  t.same(started.toSorted(), [false, true])
  t.match(servers[started.indexOf(false)]!.errors(), /^Locanda non può partire: MASTER_KEY: [^\n]+\n$/)
  t.match(await sql`select count(*)::int as keys from registro_chiave`, [{ keys: 1 }])
  await t.rejects(sql`delete from registro_chiave`, { code: 'LC003' })
})

t.test('the first start creates an administrator and prints the password once, not in the log', async (t) => {
  const { url } = await testDatabase(t)
  const first = serverProcess(t, { DATABASE_URL: url, MASTER_KEY })
  const base = await first.ready
  const [, email = '', password = ''] =
    /^Creato il primo amministratore: (\S+)\nPassword: (\S+)\n[^\n]+\n$/.exec(first.errors()) ?? []
  const response = await fetch(`${base}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password })
  })
  t.equal(response.status, 200)
  const { access_token: token } = await response.json() as { access_token: string }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  t.equal((await fetch(`${base}/api/users`, { headers })).status, 403, 'the password must be replaced')
  const change = { method: 'PUT', headers, body: JSON.stringify({ password: 'una-frase-lunga-e-mia' }) }
  t.equal((await fetch(`${base}/auth/v1/user`, change)).status, 200)
  t.equal((await fetch(`${base}/api/users`, { headers })).status, 200)
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

t.test('database problems are reported in one Italian line, without the password', async (t) => {
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

t.test('a signal while the embedded database starts ends the server cleanly, and stops PostgreSQL', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const runs = () => existsSync(join(DATA_DIR, 'postgres', 'postmaster.pid'))
  const isMaking = () => readdirSync(DATA_DIR).some((name) => name.startsWith('postgres.partial-'))
  for (const [at, reached] of [['made', isMaking], ['first started', runs], ['started', runs]] as const) {
    const server = serverProcess(t, { DATA_DIR, MASTER_KEY, ...ADMIN })
    while (!reached()) await sleep(10)
    server.signal('SIGTERM')
    await server.exit
    t.notOk(runs(), `ended while PostgreSQL was ${at}`)
  }
  const server = serverProcess(t, { DATA_DIR, MASTER_KEY, ...ADMIN })
  await server.ready
  t.ok(runs())
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
})

/* Starts with an old Node or without packages. */

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const { bin, scripts } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
  bin: { locanda: string }
  scripts: Record<string, string>
}
const TOO_OLD = /^Locanda richiede Node 22\.18 o successivo; questo è Node [\d.]+\. [^\n]+\n$/

/** Runs a shell command with the `node` of a folder. */
function run (command: string, nodeFolder: string, cwd = PROJECT, env: Record<string, string> = {}) {
  const PATH = `${nodeFolder}:${process.env.PATH}`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { cwd, env: { PATH, ...env }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** A `node` that cannot run TypeScript, like all older ones. */
function oldNode (t: Test): string {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nexec "${process.execPath}" --no-strip-types "$@"\n`, { mode: 0o755 })
  return folder
}

t.test('on an old Node, every script that runs TypeScript ends with one Italian line', async (t) => {
  const node = oldNode(t)
  const entries = Object.entries(scripts).filter(([, script]) => /\bnode .*(\.ts|start\.cjs)$/.test(script))
  t.match(entries.map(([name]) => name), ['start', 'demo', 'keys:rotate', 'locanda', 'tour', 'mail-sink', 'bench'])
  for (const [name, script] of entries) {
    t.match(run(script, node, PROJECT, { DATA_DIR: '/dev/null' }), { status: 1, stdout: '', stderr: TOO_OLD }, name)
  }
})

t.test('the linked tool also reports an old Node', async (t) => {
  const node = oldNode(t)
  symlinkSync(join(PROJECT, bin.locanda), join(node, 'locanda'))
  t.match(run('locanda --help', node), { status: 1, stdout: '', stderr: TOO_OLD })
})

t.test('missing packages, even optional ones, end the start with one line', async (t) => {
  const project = temporaryFolder(t)
  for (const name of ['package.json', 'src', 'schemas', 'drizzle']) {
    cpSync(join(PROJECT, name), join(project, name), { recursive: true })
  }
  const start = () => run(`"${process.execPath}" src/server.ts`, project, project, { DATA_DIR: join(project, 'data') })
  const missing = { status: 1, stdout: '', stderr: /^Locanda non può partire: mancano dei pacchetti: [^\n]+\n$/ }
  t.match(start(), missing, 'no key is generated')
  t.match(run(`"${process.execPath}" ${bin.locanda} --help`, project, project), {
    status: 1, stdout: '', stderr: /^Errore: mancano dei pacchetti: [^\n]+\n$/
  }, 'the tool reports it, too')

  // The state after `npm ci --omit=optional`.
  const [from, to] = [join(PROJECT, 'node_modules'), join(project, 'node_modules')]
  cpSync(join(from, '@node-rs', 'argon2'), join(to, '@node-rs', 'argon2'), { recursive: true })
  for (const name of readdirSync(from)) if (name !== '@node-rs') symlinkSync(join(from, name), join(to, name))
  t.match(start(), missing, 'the native packages are missing')
})
