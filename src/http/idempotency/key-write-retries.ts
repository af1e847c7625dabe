import { isTransient } from '#src/database/problems.ts'
import { queueWorker } from '#src/services/queue/worker.ts'

const RETRY_MS = 2000
/** Maximum pending operations. Above it, further keys stay taken for 24 hours. */
const OWED_MAX = 10_000

type Work = () => PromiseLike<unknown>

/**
 * Retries operations on keys that failed because the database was unavailable, in order, until they succeed or fail for
 * another reason. The queue is in memory. After a crash the keys stay taken, because the outcome of their requests is
 * unknown.
 */
export function keyWriteRetries () {
  const owed: Work[] = []
  const worker = queueWorker<Work[]>({
    claim: async () => owed.length > 0 ? owed : undefined,
    async carryOut () {
      while (owed.length > 0) {
        try {
          await owed[0]!()
        } catch (err) {
          if (isTransient(err)) return false
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
    /** Tries once more while the database is still open. */
    async stop (): Promise<void> {
      clearInterval(timer)
      worker.wake()
      await worker.stop()
    }
  }
}
