import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { get, request as send, Agent, type IncomingMessage } from 'node:http'
import { readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { testDatabase } from './database.ts'
import { API_KEY, temporaryFolder } from './helper.ts'
import { openSocket } from './raw.ts'
import { ADMIN, MASTER_KEY, serverProcess, started } from './server-process.ts'

const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}

t.test('a started server says where it listens and in which mode, answers there, and ends in order', async (t) => {
  const { server, base } = await started(t)
  t.match(
    server.logs.find(({ msg }) => msg === 'ready'),
    { address: /^http:\/\/127\.0\.0\.1:\d+$/, mode: 'sandbox', level: 30 }
  )
  t.same(await (await fetch(`${base}/health/ready`)).json(), { stato: 'ok' })
  // The end of the terminal alone; other tests end it as service managers do.
  server.signal('SIGHUP')
  t.equal(await server.exit, 0)
  t.match(server.logs.find(({ msg }) => msg === 'closing'), { signal: 'SIGHUP' })
  t.equal(server.errors(), '')
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

t.test('a server and its PostgreSQL that are ended together both end', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const server = serverProcess(t, { DATA_DIR, ...ADMIN })
  await server.ready
  const note = join(DATA_DIR, 'postgres', 'postmaster.pid')
  const postmaster = Number.parseInt(readFileSync(note, 'utf8'), 10)
  const group = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').map(Number)
  // As systemd does: every process of the service, in any order.
  for (const pid of [postmaster, ...group]) {
    try {
      process.kill(pid, 'SIGTERM')
    } catch (err) {
      // It has ended meanwhile, as PostgreSQL's processes do when the first of them is told to.
      if ((err as NodeJS.ErrnoException).code !== 'ESRCH') throw err
    }
  }
  server.signal('SIGTERM')
  t.equal(await server.exit, 0, server.errors())
  t.notOk(existsSync(note), 'PostgreSQL has ended')
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
