import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { createSockets } from '#src/plugins/database/sockets.ts'
import { testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'

t.test('a start at an address where something else than PostgreSQL answers ends, and names the setting', async (t) => {
  const other = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  await t.rejects(build(t, { DATABASE_URL: `postgres://locanda@127.0.0.1:${port}/locanda` }), {
    message: /^DATABASE_URL: /
  })
})

/** A pool of one connection that may be silent for a second. */
async function impatient (t: Test) {
  const { url } = await testDatabase(t)
  const { sql, close } = connect(url, 1, {}, Object.assign(createSockets(), { answerWithin: 1 }))
  t.teardown(close)
  return sql
}

t.test('who asks is told when the answer has not come in time, and the next one gets a new connection', async (t) => {
  const sql = await impatient(t)
  const [before] = await sql`select pg_backend_pid() as pid`
  await t.rejects(sql`select pg_sleep(4)`, { code: 'ETIMEDOUT' })
  await t.rejects(sql.begin(async (tx) => {
    await tx`select pg_sleep(0.5)`
    await tx`select pg_sleep(4)`
  }), { code: /^(?:ETIMEDOUT|CONNECTION_CLOSED)$/ })
  const [after] = await sql`select pg_backend_pid() as pid`
  t.not(after!.pid, before!.pid)
  for (let n = 0; n < 4; n++) await sql`select pg_sleep(0.5)`
  t.same([...await sql`select pg_backend_pid() as pid`], [after], 'many that come in time are no silence')
})

t.test('a connection is not silent where its reader takes a rest, nor where nothing is asked', async (t) => {
  const sql = await impatient(t)
  const [{ pid } = {}] = await sql`select pg_backend_pid() as pid`
  let rows = 0
  for await (const page of sql`select n from generate_series(1, 3) n`.cursor(1)) {
    rows += page.length
    if (rows === 2) await sleep(2000)
  }
  t.equal(rows, 3)
  let bytes = 0
  const copy = await sql`copy (select repeat('x', 1000) from generate_series(1, 3000)) to stdout`.readable()
  for await (const chunk of copy) {
    if (bytes === 0) await sleep(2000)
    bytes += (chunk as Buffer).length
  }
  t.equal(bytes, 3000 * 1001)
  await sleep(2000)
  t.same([...await sql`select pg_backend_pid() as pid`], [{ pid }])
})

t.test('where connections hang and the database does not, requests are refused, and then served', async (t) => {
  const { app, call } = await build(t, {}, undefined, { answerWithin: 1 })
  const reserved = await Promise.all(Array.from({ length: app.sql.options.max }, () => app.sql.reserve()))
  const pids: number[] = []
  for (const one of reserved) {
    const [{ pid } = {}] = await one<{ pid: number }[]>`select pg_backend_pid() as pid`
    pids.push(pid!)
    one.release()
  }
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  try {
    const answers = await Promise.all(pids.map(() => call('GET', '/api/v1/prenotazioni/1')))
    t.match(answers[0]!.json(), { status: 503, codice: 'DATABASE_NON_DISPONIBILE' })
    // One that came to no connection before got the first new one.
    t.ok(answers.every(({ statusCode }) => statusCode === 503 || statusCode === 404))
    t.equal((await call('GET', '/api/v1/prenotazioni/1')).statusCode, 404)
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
})
