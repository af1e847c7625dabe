import { mayPass } from '#src/database/problems.ts'
import { queueWorker } from '#src/services/queue/worker.ts'

const RETRY_MS = 2000
/** With more keys than this the rest stay taken for their day. */
const OWED_MAX = 10_000

type Work = () => PromiseLike<unknown>

/**
 * A queue of work on keys that failed because the database was away: it is tried again, in its order, until it is done.
 * It is kept in memory: the keys of a process that dies stay taken, because it is not known what it did.
 */
export function freedLater () {
  const owed: Work[] = []
  const worker = queueWorker<Work[]>({
    claim: async () => owed.length > 0 ? owed : undefined,
    async carryOut () {
      while (owed.length > 0) {
        try {
          await owed[0]!()
        } catch (err) {
          if (mayPass(err)) return false
        }
        owed.shift()
      }
      return true
    },
    onError () {}
  })
  const timer = setInterval(worker.wake, RETRY_MS).unref()

  return {
    add (work: Work): void {
      if (owed.length < OWED_MAX) owed.push(work)
    },
    /** Tries once more, while the database is still open. */
    async stop (): Promise<void> {
      clearInterval(timer)
      worker.wake()
      await worker.stop()
    }
  }
}
