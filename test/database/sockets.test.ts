import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { connect } from '#src/database/connect.ts'
import { databaseProblem } from '#src/database/problems.ts'
import { createSockets } from '#src/database/sockets.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { serverAddress, testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { listening } from '#test/loopback.ts'

const own = selfSigned(t.testdir(), 'DNS:localhost')

/** A proxy in front of the database on its own port, with TLS on request. */
async function front (t: Test, url: string): Promise<{ url: string, secured: () => number }> {
  const { username, password, pathname } = new URL(url)
  const to = serverAddress(url)
  const behind = () => connectSocket(to)
  let secured = 0
  const pipe = (client: Socket, first?: Buffer) => {
    const server = behind().on('error', () => {})
    if (first) server.write(first)
    client.pipe(server).pipe(client)
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  }
  const listener = createServer((raw) => {
    raw.on('error', () => {}).once('data', (first) => {
      // An SSLRequest has eight bytes, and a startup message has more.
      if (first.length > 8) return pipe(raw, first)
      raw.write('S')
      pipe(new TLSSocket(raw, { isServer: true, ...own }).on('error', () => {}).on('secure', () => secured++))
    })
  }).listen(0, 'localhost')
  await once(listener, 'listening')
  t.teardown(() => listener.close())
  const account = password ? `${username}:${password}` : username
  const { port: at } = listener.address() as AddressInfo
  return { url: `postgres://${account}@localhost:${at}${pathname}`, secured: () => secured }
}

/** A pool of two connections, with or without TLS. */
async function pool (t: Test, tls: boolean) {
  const trusted = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(trusted))
  if (tls) setDefaultCACertificates([...trusted, own!.cert])
  const { url, secured } = await front(t, (await testDatabase(t)).url)
  const sockets = createSockets()
  const { sql, close } = connect(`${url}${tls ? '?sslmode=verify-full' : ''}`, 2, {}, sockets)
  t.teardown(close)
  await sql`select 1`
  t.equal(secured() > 0, tls)
  return { sql, close, sockets }
}

for (const [name, tls] of [['plain', false], ['TLS', true]] as const) {
  const skip = tls && own === undefined && 'openssl is not installed: no certificate to test with'
  t.test(`cut ${name} connections fail waiting queries, and new connections work again`, { skip }, async (t) => {
    const { sql, close, sockets } = await pool(t, tls)
    await sql`create table written (n int)`

    const asleep = sql`select pg_sleep(600)`.execute()
    const inside = Promise.withResolvers<void>()
    const cut = Promise.withResolvers<void>()
    const begun = sql.begin(async (tx) => {
      await tx`insert into written values (1)`
      inside.resolve()
      await cut.promise
    })
    const failures = [asleep, begun].map((each) => each.then(() => undefined, (err: unknown) => err))
    await inside.promise
    // More than the pool's connections.
    const queued = Array.from({ length: 60 }, () => sql`select 2`.then(() => undefined, (err: unknown) => err))
    sockets.cut()
    cut.resolve()
    const later = Array.from({ length: 60 }, () => sql`select 3`.then(() => undefined, (err: unknown) => err))
    for (const failure of await Promise.all([...failures, ...queued, ...later])) {
      t.match(databaseProblem(failure), { codice: 'DATABASE_NON_DISPONIBILE' })
    }
    sockets.mend()
    t.same([...await sql`select 4 as n`], [{ n: 4 }])
    t.same([...await sql`select n from written`], [], 'a transaction whose commit was not sent is not committed')
    // The driver does not listen any more to sockets that have closed.
    await close()
    sockets.cut()
  })
}

t.test('with several hosts, the client connects to the one that is reachable', async (t) => {
  const { url } = await front(t, (await testDatabase(t)).url)
  const { sql, close } = connect(url.replace('localhost', '127.0.0.9,localhost'), 3)
  t.teardown(close)
  t.same([...await sql`select 1 as n`], [{ n: 1 }])
})

t.test('with several hosts, a lost connection fails its first query', async (t) => {
  const { url: direct, sql: other } = await testDatabase(t)
  const { url } = await front(t, direct)
  const { sql, close } = connect(url.replace('localhost', '127.0.0.9,localhost'), 1)
  t.teardown(close)
  const lost = t.rejects(sql`select pg_sleep(600)`, { code: /^(?:CONNECTION_CLOSED|ECONNRESET|57P01)$/ })
  await until(async () => (await other`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '%pg_sleep(600)'`).length > 0)
  await lost
  t.same([...await sql`select 1 as n`], [{ n: 1 }])
})

t.test('a connection that the system refuses at once fails its query', async (t) => {
  // The path of a Unix socket is limited to 107 bytes.
  const { sql, close } = connect(`postgres://nobody@${encodeURIComponent(`/${'x'.repeat(200)}`)},/none`, 1)
  t.teardown(close)
  await t.rejects(sql`select 1`, { code: 'EINVAL' })
})

t.test('DATABASE_URL with a server that is not PostgreSQL prevents the start, and names the setting', async (t) => {
  const port = await listening(t, createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  }))
  await t.rejects(build(t, { DATABASE_URL: `postgres://locanda@127.0.0.1:${port}/locanda` }), {
    message: /^DATABASE_URL: /
  })
})
