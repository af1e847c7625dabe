import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { workerPool, type PoolOptions, type RunOptions } from '#src/services/workers/pool.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'
import type obey from './task.ts'
import type { Order } from './task.ts'

const TASK = new URL('task.ts', import.meta.url)
const LONG = 120_000

/** A pool of one thread by default. */
function open (t: Test, options: Partial<PoolOptions> = {}) {
  const pool = workerPool({ threads: 1, waiting: 3, waitMs: LONG, memoryMb: 32, idleMs: LONG, ...options })
  t.teardown(() => pool.close())
  const run = (order: Order, options: Partial<RunOptions> = {}) =>
    pool.run<typeof obey>(TASK, order, { caller: 'a', deadlineMs: LONG, ...options })
  return { pool, run }
}

const look = async (run: ReturnType<typeof open>['run']) =>
  await run({ do: 'look' }) as { thread: number, env: Record<string, string> }

t.test('a thread runs a task, and its environment has only the compile cache', async (t) => {
  const { run } = open(t)
  t.same(await run({ do: 'echo', value: { text: 'è', bytes: new Uint8Array([1, 2]) } }),
    { text: 'è', bytes: new Uint8Array([1, 2]) })
  const { thread, env } = await look(run)
  t.ok(thread > 0)
  t.same(env, { NODE_COMPILE_CACHE: COMPILE_CACHE })
})

t.test('an error thrown by a task reaches the caller', async (t) => {
  const { pool, run } = open(t)
  await t.rejects(run({ do: 'fail' }), { message: 'as asked for' })
  t.ok(await look(run))
  t.same(pool.count(), { running: 0, waiting: 0 })
})

t.test('a task that cannot be cloned to a thread fails, and the next one runs', async (t) => {
  const { run } = open(t)
  await t.rejects(run({ do: 'echo', value: () => {} }))
  t.equal(await run({ do: 'echo', value: 1 }), 1)
})

t.test('a task that exceeds its deadline is ended with its thread, and the next task gets a new one', async (t) => {
  const { run } = open(t)
  const { thread } = await look(run)
  await t.rejects(run({ do: 'spin' }, { deadlineMs: 200 }), { code: 'LAVORO_TROPPO_LUNGO', statusCode: 503 })
  t.not((await look(run)).thread, thread)
})

t.test('queued tasks run after a running task is ended', async (t) => {
  const { run } = open(t)
  const held = run({ do: 'wait', ms: LONG }, { deadlineMs: 500 })
  const waiting = [run({ do: 'echo', value: 1 }), run({ do: 'echo', value: 2 })]
  await t.rejects(held, { code: 'LAVORO_TROPPO_LUNGO' })
  t.same(await Promise.all(waiting), [1, 2])
})

t.test('a task that waits too long fails with a retryable 503, and its deadline starts when it runs', async (t) => {
  const { run } = open(t, { waitMs: 1000 })
  const held = run({ do: 'wait', ms: LONG }, { deadlineMs: 3000 })
  await t.rejects(run({ do: 'echo', value: 1 }), { code: 'SERVIZIO_OCCUPATO', transient: true })
  await t.rejects(held, { code: 'LAVORO_TROPPO_LUNGO' })
  const { run: patient } = open(t)
  const first = patient({ do: 'wait', ms: LONG }, { deadlineMs: 6000 })
  const second = patient({ do: 'echo', value: 2 }, { deadlineMs: 5000 })
  await t.rejects(first, { code: 'LAVORO_TROPPO_LUNGO' })
  t.equal(await second, 2)
})

t.test('only the task that exceeds the memory limit fails', async (t) => {
  const { run } = open(t)
  const hoarding = run({ do: 'hoard' })
  const behind = run({ do: 'echo', value: 'lives' })
  await t.rejects(hoarding, { code: 'LAVORO_NON_RIUSCITO', statusCode: 503 })
  t.equal(await behind, 'lives')
})

t.test('only the task that exceeds the limit of buffers, which are outside the heap, fails', async (t) => {
  const { run } = open(t, { buffersMb: 128 })
  const filling = run({ do: 'fill' }, { deadlineMs: 20_000 })
  const behind = run({ do: 'echo', value: 'lives' })
  await t.rejects(filling, { code: 'LAVORO_NON_RIUSCITO', statusCode: 503 })
  t.equal(await behind, 'lives')
})

t.test('a thread that exits fails only its own task', async (t) => {
  const { run } = open(t)
  await t.rejects(run({ do: 'exit' }), { code: 'LAVORO_NON_RIUSCITO' })
  t.equal(await run({ do: 'echo', value: 1 }), 1)
})

t.test('aborting ends a running task and removes a queued one', async (t) => {
  const { pool, run } = open(t)
  const controller = new AbortController()
  const running = run({ do: 'spin' }, { signal: controller.signal })
  const waiting = run({ do: 'spin' }, { signal: controller.signal })
  t.same(pool.count(), { running: 1, waiting: 1 })
  controller.abort()
  await t.rejects(running, { code: 'SERVIZIO_OCCUPATO' })
  await t.rejects(waiting, { code: 'SERVIZIO_OCCUPATO' })
  await t.rejects(run({ do: 'spin' }, { signal: controller.signal }), { code: 'SERVIZIO_OCCUPATO' }, 'refused')
  t.equal(await run({ do: 'echo', value: 1 }), 1)
  t.same(pool.count(), { running: 0, waiting: 0 })
})

t.test('a full queue refuses the newest task of the caller with the most tasks', async (t) => {
  const { run } = open(t)
  const controller = new AbortController()
  const { signal } = controller
  const held = [1, 2, 3, 4].map(() => run({ do: 'wait', ms: LONG }, { signal }))
  await t.rejects(run({ do: 'look' }), { code: 'SERVIZIO_OCCUPATO' }, 'the caller who fills the queue')
  const other = run({ do: 'look' }, { caller: 'b' })
  await t.rejects(held[3]!, { code: 'SERVIZIO_OCCUPATO', transient: true }, 'its newest task')
  controller.abort()
  await Promise.allSettled(held)
  t.ok(await other)
})

t.test('an idle thread ends', async (t) => {
  const { run } = open(t, { idleMs: 50 })
  const { thread } = await look(run)
  let next = thread
  while (next === thread) {
    await wait(100)
    next = (await look(run)).thread
  }
  t.not(next, thread)
})

t.test('closing a pool does not wait for tasks', async (t) => {
  const { pool, run } = open(t)
  const spinning = run({ do: 'spin' })
  const waiting = run({ do: 'spin' })
  await look(open(t).run)
  await Promise.all([
    t.rejects(spinning, { code: 'SERVIZIO_OCCUPATO' }),
    t.rejects(waiting, { code: 'SERVIZIO_OCCUPATO' }),
    pool.close()
  ])
})
