import { sql } from 'drizzle-orm'
import { within } from '#src/lib/within.ts'

/*
 * Queues of rows. A worker claims the row that has been due for longest (`FOR UPDATE SKIP LOCKED`) by moving its next
 * attempt on by a lease, so that no other process takes it. A task is carried out at least once: the lease of a process
 * that died expires, and another one repeats the task.
 */

/** The end of a lease. It is longer than the longest attempt; work that may take longer renews it. */
export const LEASE = sql`now() + interval '2 minutes'`

/** Seconds between attempts: the delay doubles after each failure. */
export interface Delays { first: number, longest: number }

const DELAYS: Delays = { first: 60, longest: 3600 }

/**
 * Seconds to wait after so many failures, 1 or more. Up to a tenth less, so that tasks that failed together are not all
 * repeated together.
 */
export function backOff (failures: number, { first, longest } = DELAYS): number {
  return Math.min(first * 2 ** (failures - 1), longest) * (1 - Math.random() / 10)
}

export function inSeconds (seconds: number) {
  return sql`now() + make_interval(secs => ${seconds}::float8)`
}

/** The instant of the next attempt after so many that have failed. */
export function nextAttempt (failures: number) {
  return inSeconds(backOff(failures))
}

/** How long the end of the process waits for the attempts under way, and again once they are aborted. */
const CLOSE_WITHIN_MS = 10_000

export interface QueueWorker {
  /** Carries out what is due, soon. */
  wake (): void
  /** Begins no further attempt and waits for those under way. One that takes too long is aborted, and made again. */
  stop (): Promise<void>
}

interface QueueOptions<Task> {
  /** Takes the next task under a lease; undefined: nothing is due. */
  claim (): Promise<Task | undefined>
  /**
   * Carries out a task and records its outcome.
   * @returns false when the next one would fail as well: the others wait until the worker is woken again
   */
  carryOut (task: Task, signal: AbortSignal): Promise<boolean>
  onError (err: unknown): void
  /** Attempts of this process at a time. A queue that keeps an order per key claims no two tasks of one key. */
  concurrency?: number
  closeWithinMs?: number | undefined
}

/** Works on one queue; any number of processes may share it. */
export function queueWorker<Task> (options: QueueOptions<Task>): QueueWorker {
  const { claim, carryOut, onError, concurrency = 1, closeWithinMs = CLOSE_WITHIN_MS } = options
  const end = new AbortController()
  const abort = new AbortController()
  const attempts = new Set<Promise<void>>()
  let claiming: Promise<void> | undefined
  /** Something may be due that was not looked for yet. */
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
      await within(closeWithinMs, idle())
      abort.abort()
      await within(closeWithinMs, idle())
    }
  }
}
