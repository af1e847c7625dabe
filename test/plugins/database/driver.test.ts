import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

/*
 * `.patches` mends the driver, and the installation applies it. These tests fail when the mend is not applied any more;
 * when the driver is renewed, the first one says that the patch must be looked at again.
 */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const DRIVER = new URL('../', import.meta.resolve('postgres'))

interface Queue<T> {
  readonly length: number
  push (x: T): T
  shift (): T | undefined
  remove (x: T): T | null
}

const { default: createQueue } =
  await import(new URL('src/queue.js', DRIVER).href) as { default: <T>(initial?: T[]) => Queue<T> }

t.test('the patch is for the version of the driver that is installed', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('package.json', DRIVER), 'utf8')) as { version: string }
  t.ok(readdirSync(join(ROOT, '.patches')).includes(`postgres+${version}.patch`))
})

t.test("the driver's queue gives up the slots that were emptied, however it was emptied", async (t) => {
  // The queue works on what `slice` gives until it begins a new array.
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

t.test("the driver's queue holds what was pushed and not taken out, in that order", async (t) => {
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

/** A pool of one connection, and the sockets that it has opened, each of which is shown first. */
function watched (t: Test, url: string, show: (socket: Socket) => void = () => {}) {
  const { hostname, port, searchParams } = new URL(url)
  const folder = decodeURIComponent(hostname || searchParams.get('host') || '')
  const sockets: Socket[] = []
  const sql = postgres(url, {
    max: 1,
    connect_timeout: 5,
    backoff: () => 0.01,
    // The driver takes sockets that are connected already; its types do not say so.
    ...{
      async socket () {
        const socket = folder.startsWith('/')
          ? createConnection(join(folder.replace(/,$/, ''), `.s.PGSQL.${port || 5432}`))
          : createConnection(Number(port || 5432), folder)
        await once(socket, 'connect')
        show(socket)
        sockets.push(socket)
        return socket
      }
    }
  })
  t.teardown(() => sql.end({ timeout: 1 }))
  return { sql, sockets }
}

t.test('a connection that is cut while a query is written is opened again for the next query', async (t) => {
  const { sql, sockets } = watched(t, (await testDatabase(t)).url)
  await sql`select 1`
  const cut = sql`select 2`.execute()
  // The query is handed over in a microtask, and is written when the loop comes round. In between the loop may read
  // that the other side has closed, as is said here.
  await Promise.resolve()
  await Promise.resolve()
  const [socket] = sockets
  socket!.destroy()
  socket!.emit('close', false)
  await t.rejects(cut, { code: 'CONNECTION_CLOSED' })
  t.same([...await sql`select 3 as n`], [{ n: 3 }])
  t.equal(sockets.length, 2)
})

t.test('the first query of a connection that dies under it fails, and does not wait for ever', async (t) => {
  const { url, sql: other } = await testDatabase(t)
  const sql = postgres(url, { max: 1, fetch_types: false, connection: { application_name: 'first query' } })
  t.teardown(() => sql.end({ timeout: 1 }))
  const cut = sql`select pg_sleep(600)`.execute()
  cut.catch(() => {})
  for (let ended = 0; ended === 0;) {
    ended = (await other`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'first query' and query like '%pg_sleep(600)'`).count
  }
  await t.rejects(cut, { code: /CONNECTION_CLOSED|EPIPE|ECONNRESET/ })
  t.same([...await sql`select 3 as n`], [{ n: 3 }])
})

t.test('who closes each connection before it is ready is asked twenty times, with pauses, and no more', async (t) => {
  const { port, asked } = await closesEach(t)
  const sql = postgres(`postgres://a@127.0.0.1:${port}/b`, { max: 1, fetch_types: false, backoff: () => 0.02 })
  t.teardown(() => sql.end({ timeout: 0 }))
  await t.rejects(sql`select 1`, { code: 'CONNECTION_CLOSED' })
  t.equal(asked.length, 20)
  t.ok(asked.slice(1).every((at, n) => at - asked[n]! >= 15), 'a pause before each')
})

t.test('a pool that is ended while it waits to ask again opens no connection any more', async (t) => {
  const { port, asked } = await closesEach(t)
  const sql = postgres(`postgres://a@127.0.0.1:${port}/b`, { max: 1, fetch_types: false, backoff: () => 0.2 })
  const failed = t.rejects(sql`select 1`, { code: 'CONNECTION_DESTROYED' })
  while (asked.length === 0) await sleep(5)
  await sql.end({ timeout: 0 })
  await failed
  const before = asked.length
  await sleep(400)
  t.equal(asked.length, before)
})

t.test('a pool that is ended waits no longer for a connection that was lost', async (t) => {
  const { url, sql: other } = await testDatabase(t)
  const { sql } = connect(url, 1)
  const [{ pid } = {}] = await sql`select pg_backend_pid() as pid`
  const lost = t.rejects(sql`select pg_sleep(60)`)
  const isAsked = async () =>
    (await other`select from pg_stat_activity where pid = ${pid} and state = 'active'`).length > 0
  await until(isAsked)
  const end = sql.end({ timeout: 60 }).then(() => performance.now())
  const begun = performance.now()
  await other`select pg_terminate_backend(${pid})`
  await lost
  t.ok(await end - begun < 30_000)
})

/** Says nothing that a database says, and closes; when it was asked. */
async function closesEach (t: Test): Promise<{ port: number, asked: number[] }> {
  const asked: number[] = []
  const server = createServer((socket) => {
    asked.push(performance.now())
    socket.on('error', () => {}).end('no database\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, asked }
}

t.test("a connection knows the arrays of PostgreSQL's own types, and asks for none", async (t) => {
  const written: string[] = []
  const { sql } = watched(t, (await testDatabase(t)).url, (socket) => {
    const write = socket.write.bind(socket)
    socket.write = (data: unknown) => {
      written.push(String(data))
      return write(data as Buffer)
    }
  })
  const types = await sql<{ array: number, name: string }[]>`
    select b.typarray::int as array, format_type(b.oid, null) as name
    from pg_type b join pg_type a on a.oid = b.typarray
    where a.typcategory = 'A' and b.oid < 10000 and b.typtype <> 'c'`
  t.equal(written.filter((text) => text.includes('typarray')).length, 1, 'only the query of this test')
  t.ok(types.length > 70)
  t.same(types.filter(({ array }) => !(array in sql.options.parsers)).map(({ name }) => name), [])
  for (const { name } of types) {
    t.same([...await sql.unsafe(`select '{}'::${name}[] as x`)], [{ x: [] }], name)
  }
  t.same([...await sql`select ${[1, -2]}::int[] as n, ${['a', '"', 'NULL', '']}::text[] as t`],
    [{ n: [1, -2], t: ['a', '"', 'NULL', ''] }])
})

t.test('a connection that is opened for a reservation is given to it', async (t) => {
  const { sql } = watched(t, (await testDatabase(t)).url)
  const reserved = await sql.reserve()
  t.same([...await reserved`select 1 as n`], [{ n: 1 }])
  reserved.release()
  t.same([...await sql`select 2 as n`], [{ n: 2 }])
})

t.test('a copy that fails at its first row fails where it is read, and ends nothing else', async (t) => {
  const { sql } = watched(t, (await testDatabase(t)).url)
  const copy = 'copy (select 1 / (n - 1) from generate_series(1, 3) n) to stdout'
  await sql.begin(async (tx) => {
    const rows = await tx.unsafe(copy).readable()
    // Until it is read nobody hears of its error.
    await turn()
    await t.rejects(rows.toArray(), { code: '22012' })
  }).catch(() => {})
  t.same([...await sql`select 1 as one`], [{ one: 1 }])
})

t.test('a server that resets the connection when it is asked for its state ends no more than the query', async (t) => {
  const ready = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => {
      socket.write(ready)
      socket.once('data', () => socket.resetAndDestroy())
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const sql = postgres(`postgres://nobody@127.0.0.1:${port}/none`, {
    max: 1, ...{ target_session_attrs: 'primary' }
  })
  t.teardown(() => sql.end({ timeout: 0 }))
  await t.rejects(sql`select 1`.execute(), { code: /ECONNRESET|EPIPE/ })
})

t.test('a statement behind a copy is answered, also where the end of the copy came while nobody read', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  await sql.begin(async (tx) => {
    // Rows of 61 bytes: the last ones fill the stream, so that the driver pauses, and the end is right behind them.
    const count = Math.ceil(65_536 / 61) + 1
    const rows = await tx.unsafe(`copy (select repeat('x', 60) from generate_series(1, ${count})) to stdout`).readable()
    await until(() => rows.readableLength >= rows.readableHighWaterMark)
    let length = 0
    for await (const piece of rows as AsyncIterable<Buffer>) length += piece.length
    t.equal(length, count * 61)
    t.same(await tx`select 1 as one`, [{ one: 1 }])
  })
})

t.test('a statement is prepared anew for parameters of other types, and each value arrives as it is', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  const values = ['5', true, 5n, Buffer.from('5'), '6', false, 6n, Buffer.from('6')]
  const ask = async (value: string | boolean | bigint | Buffer) =>
    (await sql.unsafe<{ text: string }[]>('select $1::text as text', [value as string], { prepare: true }))[0]!.text
  for (let round = 0; round < 2; round++) {
    const texts: string[] = []
    for (const value of values) texts.push(await ask(value))
    t.same(texts, ['5', 'true', '5', '\\x35', '6', 'false', '6', '\\x36'])
  }
})

t.test('of who asked a query first nothing is held once it is answered', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  const ask = async () => {
    const asker = { ask: async function () { return [await sql`select 1`, this] } }
    await asker.ask()
    return new WeakRef(asker)
  }
  const first = await ask()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let turns = 0; turns < 3; turns++) {
    await turn()
    collect()
  }
  t.equal(first.deref(), undefined)
})

/** The process of PostgreSQL that answers. Prepared on every connection of a pool at first, as in a server at work. */
const WHO = 'select pg_backend_pid() as pid, $1::int as n'

async function warmPool (t: Test, max: number) {
  const { sql, close } = connect((await testDatabase(t)).url, max)
  t.teardown(close)
  const ask = async (n: number) => (await sql.unsafe<{ pid: number, n: number }[]>(WHO, [n], { prepare: true }))[0]!
  const askQuickly = async (n: number) =>
    (await sql.unsafe<{ pid: number, n: number }[]>(WHO, [n], { prepare: true, quick: true }))[0]!
  const numbers = Array.from({ length: max }, (_, n) => n)
  // All of them wait for the slow ones that each connection has.
  await Promise.all([...numbers.map(() => sql`select pg_sleep(0.2)`), ...numbers.map(ask)])
  const processes = new Set((await Promise.all(numbers.map(ask))).map(({ pid }) => pid))
  t.equal(processes.size, max, 'each query has a connection')
  return { sql, ask, askQuickly }
}

t.test('quick queries of one turn go over one connection, four at a time, and each has its own answer', async (t) => {
  const { ask, askQuickly } = await warmPool(t, 3)
  const first = await Promise.all([0, 1, 2, 3].map(askQuickly))
  t.same(first.map(({ n }) => n), [0, 1, 2, 3])
  t.equal(new Set(first.map(({ pid }) => pid)).size, 1)
  const many = await Promise.all(Array.from({ length: 8 }, (_, n) => askQuickly(n)))
  t.same(many.map(({ n }) => n), [0, 1, 2, 3, 4, 5, 6, 7])
  t.equal(new Set(many.map(({ pid }) => pid)).size, 2)
  const others = await Promise.all([0, 1, 2].map(ask))
  t.equal(new Set(others.map(({ pid }) => pid)).size, 3, 'those that do not say so have a connection each')
})

t.test('a quick query waits for no slow one while a connection is free', async (t) => {
  const { sql, ask, askQuickly } = await warmPool(t, 3)
  const slow: Promise<unknown[]>[] = []
  // Waits until a transaction gives its lock back.
  const wait = () =>
    slow.push(Promise.resolve(sql`select pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)`))
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`
    const before = askQuickly(0)
    wait()
    await Promise.all([before, askQuickly(1), askQuickly(2)])
    await Promise.all([askQuickly(3), askQuickly(4)])
    await ask(5)
  })
  await Promise.all(slow)
  await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(1)`
    // Its connection is the last of the free ones then.
    await askQuickly(0)
    const other = ask(1)
    wait()
    await Promise.all([other, askQuickly(2)])
  })
  t.same((await Promise.all(slow)).map(({ length }) => length), [1, 1])
})

t.test('a query that fails, at the server or before it is sent, fails alone', async (t) => {
  const { sql, askQuickly } = await warmPool(t, 2)
  const divide = (by: unknown) =>
    sql.unsafe<{ n: number }[]>('select 1 / $1::int as n', [by as number], { prepare: true, quick: true })
  await Promise.all([divide(1), divide(1)])
  for (const wrong of [0, undefined]) {
    const mixed = await Promise.allSettled([askQuickly(1), divide(wrong), askQuickly(2), divide(1)])
    t.same(mixed.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'], String(wrong))
    t.match(mixed, [{ value: { n: 1 } }, {}, { value: { n: 2 } }, { value: [{ n: 1 }] }])
  }
})

t.test('quick queries whose statement the server has forgotten are prepared anew, each with its answer', async (t) => {
  const { sql, askQuickly } = await warmPool(t, 2)
  const forget = () => sql.unsafe('select pg_sleep(0.1); deallocate all')
  for (let round = 0; round < 3; round++) {
    await Promise.all([forget(), forget()])
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(askQuickly))
    t.same(answers.map(({ n }) => n), [1, 2, 3, 4, 5, 6])
  }
})

t.test('a transaction begins rightly behind as many queries as go over one connection', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  await sql`select ${0}::int`
  const reads = Promise.all(Array.from({ length: 100 }, (_, n) => sql`select ${n}::int`.execute()))
  t.match(await sql.begin((tx) => tx`select ${7}::int as n`), [{ n: 7 }])
  t.equal((await reads).length, 100)
})

t.test('a query that is cancelled while it waits takes no answer from the one behind it', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  await sql`select 1`
  const slow = sql`select pg_sleep(0.3)`.execute()
  const cancelled = sql`select pg_sleep(0), 1 as n`.execute()
  const last = sql<{ n: number }[]>`select 2 as n`.execute()
  cancelled.catch(() => {})
  await turn()
  cancelled.cancel()
  await Promise.allSettled([slow, cancelled])
  // PostgreSQL cancels what its process does at the moment, which may be a later query already.
  for (const [query, n] of [[last, 2], [sql<{ n: number }[]>`select 3 as n`, 3]] as const) {
    const answer = await query.catch((err: { code: string }) => err.code)
    t.ok(typeof answer === 'string' ? answer === '57014' : answer[0]!.n === n)
  }
})

t.test('the rows of a query begin at the first, also after one that failed in the midst of its rows', async (t) => {
  const { sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  await t.rejects(sql`select 10 / (3 - n) from generate_series(1, 3) n`, { code: '22012' })
  t.same([...await sql`select 1 as n`], [{ n: 1 }])
})
