import { sql } from 'drizzle-orm'
import { delayAfter } from '#src/lib/delay.ts'
import { within } from '#src/lib/within.ts'

/*
 * Queues of rows. A worker claims the row that has been due for longest (`FOR UPDATE SKIP LOCKED`) by moving its next
 * attempt on by a lease, so that no other process takes it. A task is carried out at least once: the lease of a process
 * that died expires, and another one repeats the task.
 */

/** The end of a lease. It is longer than the longest attempt. */
export const LEASE = sql`now() + interval '5 minutes'`

/** Seconds between attempts. */
const DELAYS = { first: 60, longest: 3600 }

/** The instant of the next attempt after so many that have failed. */
export function nextAttempt (attempts: number) {
  return sql`now() + make_interval(secs => ${delayAfter(attempts, DELAYS)})`
}

/** How long the end of the process waits for the attempt under way, and again once that is aborted. */
const CLOSE_WITHIN_MS = 10_000

export interface QueueWorker {
  /** Carries out what is due, soon. */
  wake (): void
  /** Begins no further attempt and waits for the one under way. One that takes too long is aborted, and made again. */
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
  closeWithinMs?: number | undefined
}

/** Works on one queue, one task after the other; any number of processes may share it. */
export function queueWorker<Task> (options: QueueOptions<Task>): QueueWorker {
  const { claim, carryOut, onError, closeWithinMs = CLOSE_WITHIN_MS } = options
  const end = new AbortController()
  const abort = new AbortController()
  let underWay: Promise<void> | undefined
  let wanted = false

  async function work (): Promise<void> {
    try {
      while (wanted && !end.signal.aborted) {
        wanted = false
        await round()
      }
    } catch (err) {
      onError(err)
    } finally {
      underWay = undefined
    }
  }

  async function round (): Promise<void> {
    for (let goesOn = true; goesOn && !end.signal.aborted;) {
      const task = await claim()
      goesOn = task !== undefined && await carryOut(task, abort.signal)
    }
  }

  return {
    wake () {
      if (end.signal.aborted) return
      wanted = true
      underWay ??= work()
    },
    async stop () {
      end.abort()
      await within(closeWithinMs, underWay)
      abort.abort()
      await within(closeWithinMs, underWay)
    }
  }
}
