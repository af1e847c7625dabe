import { sql } from 'drizzle-orm'
import { waitAtMost } from '#src/lib/wait-at-most.ts'

/*
 * Queues of rows. A worker claims the row that has been due longest (`FOR UPDATE SKIP LOCKED`) by moving its next
 * attempt to the end of a lease. A task is executed at least once: if a process is killed, the lease expires, and
 * another process repeats the task.
 */

/** The end of a lease. An attempt is shorter than a lease, or it renews the lease. */
export const LEASE = sql`now() + interval '2 minutes'`

/** Seconds between attempts. The delay doubles after each failure. */
interface Delays { first: number, max: number }

const DELAYS: Delays = { first: 60, max: 3600 }

/** Back-off in seconds after one or more failures. Jitter of up to a tenth spreads tasks that failed together. */
export function backOff (failures: number, { first, max } = DELAYS): number {
  return Math.min(first * 2 ** (failures - 1), max) * (1 - Math.random() / 10)
}

export function inSeconds (seconds: number) {
  return sql`now() + make_interval(secs => ${seconds}::float8)`
}

/** Time of the next attempt after this many failures. */
export function nextAttempt (failures: number) {
  return inSeconds(backOff(failures))
}

/** Shutdown waits this long for running attempts, and once more after it has aborted them. */
const CLOSE_WITHIN_MS = 10_000

export interface QueueWorker {
  /** Claims due tasks, without waiting for them. */
  wake (): void
  /** Starts no further attempts, and waits for running ones. Slow ones are aborted, and repeated after the start. */
  stop (): Promise<void>
}

interface QueueOptions<Task> {
  /** Claims the next task under a lease. Undefined when no task is due. */
  claim (): Promise<Task | undefined>
  /**
   * Executes a task and records its outcome.
   * @returns false if the next task would also fail. Then the queue pauses until `wake` is called
   */
  carryOut (task: Task, signal: AbortSignal): Promise<boolean>
  onError (err: unknown): void
  /** Concurrent attempts of this process. A queue with an order per key runs the tasks of a key one by one. */
  concurrency?: number
  closeWithinMs?: number | undefined
}

/** Executes the tasks of one queue, which any number of processes may share. */
export function queueWorker<Task> (options: QueueOptions<Task>): QueueWorker {
  const { claim, carryOut, onError, concurrency = 1, closeWithinMs = CLOSE_WITHIN_MS } = options
  const end = new AbortController()
  const abort = new AbortController()
  const attempts = new Set<Promise<void>>()
  let claiming: Promise<void> | undefined
  /** Whether a task may be due that is not claimed yet. */
  let wanted = false
  const hasRoom = () => attempts.size < concurrency && !end.signal.aborted

  function wake (): void {
    wanted = true
    if (claiming === undefined && hasRoom()) claiming = fill()
  }

  async function fill (): Promise<void> {
    try {
      while (wanted && hasRoom()) {
        wanted = false
        const task = await claim()
        if (task !== undefined) begin(task)
      }
    } catch (err) {
      onError(err)
    } finally {
      claiming = undefined
    }
  }

  function begin (task: Task): void {
    const attempt = carryOut(task, abort.signal).catch((err: unknown) => {
      onError(err)
      return false
    }).then((goesOn) => {
      attempts.delete(attempt)
      if (goesOn || wanted) wake()
    })
    attempts.add(attempt)
    wanted ||= hasRoom()
  }

  async function idle (): Promise<void> {
    await claiming
    await Promise.all(attempts)
  }

  return {
    wake,
    async stop () {
      end.abort()
      await waitAtMost(closeWithinMs, idle())
      abort.abort()
      await waitAtMost(closeWithinMs, idle())
    }
  }
}
