import { setTimeout as sleep } from 'node:timers/promises'
import { mayPass } from '#src/database/problems.ts'

/** For so long a database that is away, full or locked is waited for. */
const INSIST_MS = 60_000
const PAUSE_MS = 500

/** Does work on the database again until it succeeds, for a minute, as long as its failure may pass. */
export async function insist<T> (work: () => Promise<T>): Promise<T> {
  const until = performance.now() + INSIST_MS
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (!mayPass(err) || performance.now() > until) throw err
    }
    await sleep(PAUSE_MS)
  }
}
