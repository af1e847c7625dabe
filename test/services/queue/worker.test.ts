import t from 'tap'
import { backOff, queueWorker } from '#src/services/queue/worker.ts'
import { until } from '#test/alloggiati/stand-in.ts'

t.test('backOff doubles with each failure up to a maximum', async (t) => {
  for (const [failures, max] of [[1, 60], [2, 120], [3, 240], [6, 1920], [7, 3600], [100_000, 3600]] as const) {
    const delay = backOff(failures)
    t.ok(delay > max * 0.9 && delay <= max, `${failures}`)
  }
})

/** An in-memory queue whose tasks run until the test ends them. */
function heldQueue (concurrency: number) {
  const due: number[] = []
  const held = new Map<number, (goesOn: boolean) => void>()
  const worker = queueWorker<number>({
    claim: async () => due.shift(),
    carryOut: (task) => new Promise((resolve) => { held.set(task, resolve) }),
    onError () {},
    concurrency,
    closeWithinMs: 50
  })
  const end = (task: number, goesOn = true) => {
    held.get(task)!(goesOn)
    held.delete(task)
  }
  return { due, held, worker, end, running: () => [...held.keys()] }
}

t.test('a worker runs tasks up to its concurrency, and starts the next task when one ends', async (t) => {
  for (const concurrency of [1, 2]) {
    const { due, worker, running, end, held } = heldQueue(concurrency)
    due.push(1, 2, 3)
    worker.wake()
    await until(() => held.size === concurrency)
    end(1)
    await until(() => running().includes(concurrency + 1))
    t.equal(held.size, concurrency)
  }
})

t.test('after a task returns false the queue pauses until woken, and a stopped worker claims no task', async (t) => {
  const { due, worker, held, end } = heldQueue(1)
  due.push(1, 2, 3)
  worker.wake()
  await until(() => held.has(1))
  end(1, false)
  await new Promise(setImmediate)
  t.equal(held.size, 0)
  worker.wake()
  await until(() => held.has(2))
  worker.wake()
  end(2, false)
  await until(() => held.has(3))
  await worker.stop()
  due.push(4)
  end(3)
  worker.wake()
  await new Promise(setImmediate)
  t.same(due, [4], 'a stopped worker claims no task')
})
