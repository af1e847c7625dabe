import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { getHeapSpaceStatistics } from 'node:v8'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { connect } from '#src/database/connect.ts'
import { createSockets } from '#src/database/sockets.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { listening } from '#test/loopback.ts'

/*
 * `.patches` corrects defects of the driver. Each test below fails with the driver as it is published, so a new version
 * of the driver shows here which corrections are still needed.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DRIVER = new URL('../', import.meta.resolve('postgres'))

interface Queue<T> {
  readonly length: number
  push (x: T): T
  shift (): T | undefined
  remove (x: T): T | null
}

const { default: createQueue } =
  await import(new URL('src/queue.js', DRIVER).href) as { default: <T>(initial?: T[]) => Queue<T> }

t.test('the patch is for the installed version of the driver', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('package.json', DRIVER), 'utf8')) as { version: string }
  t.ok(readdirSync(join(ROOT, '.patches')).includes(`postgres+${version}.patch`))
})

t.test("the driver's queue releases the memory of removed items", async (t) => {
  // The queue stores its items in the array that `slice` returns, until it allocates a new array.
  const slots: number[] = []
  const queue = createQueue(Object.assign([] as number[], { slice: () => slots }))
  for (let n = 0; n < 100; n++) {
    queue.push(1)
    queue.push(2)
    queue.shift()
    queue.remove(2)
  }
  t.ok(slots.length < 3, `${slots.length} slots`)
})

t.test("the driver's queue contains the items that were pushed and not removed, in order", async (t) => {
  const step = fc.oneof(
    fc.record({ does: fc.constant('push'), x: fc.nat(9) }),
    fc.record({ does: fc.constant('remove'), x: fc.nat(9) }),
    fc.record({ does: fc.constant('shift'), x: fc.constant(0) })
  )
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const queue = createQueue<{ x: number }>()
    const held: { x: number }[] = []
    const things = Array.from({ length: 10 }, (_, x) => ({ x }))
    for (const { does, x } of steps) {
      const thing = things[x]!
      if (does === 'push' && !held.includes(thing)) {
        queue.push(thing)
        held.push(thing)
      } else if (does === 'remove') {
        const at = held.indexOf(thing)
        if (queue.remove(thing) !== (at === -1 ? null : thing)) return false
        if (at !== -1) held.splice(at, 1)
      } else if (does === 'shift' && held.length > 0 && queue.shift() !== held.shift()) return false
      if (queue.length !== held.length) return false
    }
    return true
  }))
  t.pass()
})

/** A pool of one connection to a database of the test, and another connection to the same database. */
async function pool (t: Test) {
  const { url, sql: other } = await testDatabase(t)
  const { sql, close } = connect(url, 1)
  t.teardown(close)
  const [{ pid } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const terminate = async () => {
    await other`select pg_terminate_backend(${pid!})`
    await until(async () => (await other`select from pg_stat_activity where pid = ${pid!}`).length === 0)
  }
  const isActive = async () =>
    (await other`select from pg_stat_activity where pid = ${pid!} and state = 'active'`).length > 0
  return { sql, other, url, terminate, isActive }
}

t.test('a connection that is lost while a query is written is opened again', async (t) => {
  const { url } = await testDatabase(t)
  const { open, ...sockets } = createSockets()
  const opened: ReturnType<typeof open>[] = []
  const { sql, close } = connect(url, 1, {}, {
    ...sockets,
    open (place) {
      const socket = open(place)
      opened.push(socket)
      return socket
    }
  })
  t.teardown(close)
  await sql`select 1`
  const lost = sql`select 2`.execute()
  // The driver takes the query in a microtask, and writes it in the next turn of the event loop. The socket may close
  // in between.
  await Promise.resolve()
  await Promise.resolve()
  opened[0]!.destroy()
  opened[0]!.emit('close', false)
  await t.rejects(lost, { code: 'CONNECTION_CLOSED' })
  t.same([...await sql`select 3 as n`], [{ n: 3 }])
  t.equal(opened.length, 2)
})

t.test('a new connection does not take over the error or the rows of the connection before', async (t) => {
  const { sql, terminate, isActive } = await pool(t)
  const lost = t.rejects(sql`select n, case when n > 2 then pg_sleep(600) end from generate_series(1, 3) n`)
  await until(isActive)
  await terminate()
  await lost
  t.same([...await sql`select 3 as n`], [{ n: 3 }])
})

t.test('after a query that failed in the middle of its rows, the rows of the next one begin at index 0', async (t) => {
  const { sql } = await pool(t)
  await t.rejects(sql`select 10 / (3 - n) from generate_series(1, 3) n`, { code: '22012' })
  t.same([...await sql`select 1 as n`], [{ n: 1 }])
})

/** A server that closes each connection at its first bytes, and counts the connections. */
async function closingServer (t: Test) {
  let connections = 0
  const port = await listening(t, createServer((socket) => {
    connections++
    socket.on('error', () => {}).end('no database\r\n')
  }))
  return { port, connections: () => connections }
}

t.test('a query fails after each host has closed its connection once', async (t) => {
  const { port, connections } = await closingServer(t)
  for (const hosts of [1, 2, 3]) {
    const before = connections()
    const places = Array.from({ length: hosts }, () => `127.0.0.1:${port}`).join()
    const { sql, close } = connect(`postgres://nobody@${places}/none`, 1)
    t.teardown(close)
    await t.rejects(sql`select 1`, { code: 'CONNECTION_CLOSED' })
    t.equal(connections() - before, hosts)
  }
})

t.test('a query fails when none of several hosts accepts a connection', async (t) => {
  const { sql, close } = connect('postgres://nobody@127.0.0.1:1,127.0.0.1:2/none', 1)
  t.teardown(close)
  for (let round = 0; round < 2; round++) await t.rejects(sql`select 1`, { code: 'ECONNREFUSED' })
})

t.test('a pool that ends does not wait for a connection that was lost', async (t) => {
  const { sql, terminate, isActive } = await pool(t)
  const lost = t.rejects(sql`select pg_sleep(600)`)
  await until(isActive)
  const ended = sql.end()
  await terminate()
  await lost
  await ended
})

t.test('a pool that ends refuses the queries that wait for a connection', async (t) => {
  const { sql } = await pool(t)
  const running = sql`select pg_sleep(0.2)`.execute()
  const waiting = t.rejects(sql`select 1`, { code: 'CONNECTION_ENDED' })
  await turn()
  await sql.end()
  await waiting
  t.equal((await running).length, 1)
})

t.test('a transaction gets its own connection', async (t) => {
  const { sql } = await pool(t)
  const reads = Promise.all(Array.from({ length: 20 }, (_, n) => sql`select ${n}::int as n`.execute()))
  t.match(await sql.begin((tx) => tx`select ${7}::int as n`), [{ n: 7 }])
  t.same((await reads).map(([row]) => row!.n as number), Array.from({ length: 20 }, (_, n) => n))
})

t.test('a transaction whose connection was lost rejects its queries, and the next connection runs none', async (t) => {
  const { sql, other, terminate } = await pool(t)
  await other`create table written (n int)`
  const begun = Promise.withResolvers<void>()
  const lost = Promise.withResolvers<void>()
  const done = Promise.withResolvers<unknown[]>()
  const failed = t.rejects(sql.begin(async (tx) => {
    const queued = [tx`select pg_sleep(600)`, tx`insert into written values (1)`].map((each) => each.execute())
    const results = Promise.allSettled(queued)
    begun.resolve()
    await lost.promise
    done.resolve([...await results, ...await Promise.allSettled([tx`insert into written values (2)`])])
  }))
  await begun.promise
  await terminate()
  await failed
  // The pool now has a new connection.
  await sql`select 1`
  lost.resolve()
  t.match(await done.promise, [{ status: 'rejected' }, { status: 'rejected' }, { status: 'rejected' }])
  t.same([...await other`select n from written`], [])
})

t.test('a COPY that fails before it is read rejects only its reader', async (t) => {
  const { sql } = await pool(t)
  const copy = 'copy (select 1 / (n - 1) from generate_series(1, 3) n) to stdout'
  await t.rejects(sql.begin(async (tx) => {
    const rows = await tx.unsafe(copy).readable()
    // The error occurs before the stream has a reader.
    await turn()
    await rows.toArray()
  }), { code: '22012' })
  t.same([...await sql`select 1 as one`], [{ one: 1 }])
})

t.test('the garbage collector frees results without a full collection', async (t) => {
  const { sql } = await pool(t)
  const oldSpace = () => getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')!.space_used_size
  const before = oldSpace()
  for (let n = 0; n < 2000; n++) await sql`select repeat('x', 50000) as text`
  // Without the patch, most of the 100 MB stay.
  t.ok(oldSpace() - before < 20_000_000, `${oldSpace() - before} bytes`)
})

t.test('a COPY that fails after its last row rejects its writer', async (t) => {
  const { sql, other } = await pool(t)
  await other`create table numbers (n int)`
  await t.rejects(sql.begin(async (tx) => {
    await pipeline(Readable.from(['1\n', 'two\n']), await tx`copy numbers from stdin`.writable())
  }), { code: '22P02' })
  t.same([...await sql`select n from numbers`], [])
})

t.test('a statement after a COPY gets its result when the COPY ends while its stream is not read', async (t) => {
  const { sql } = await pool(t)
  await sql.begin(async (tx) => {
    // Rows of 61 bytes. The last rows fill the stream, so that the driver pauses just before the end.
    const count = Math.ceil(65_536 / 61) + 1
    const rows = await tx.unsafe(`copy (select repeat('x', 60) from generate_series(1, ${count})) to stdout`).readable()
    await until(() => rows.readableLength >= rows.readableHighWaterMark)
    let length = 0
    for await (const piece of rows as AsyncIterable<Buffer>) length += piece.length
    t.equal(length, count * 61)
    t.same(await tx`select 1 as one`, [{ one: 1 }])
  })
})
