import { setTimeout as sleep } from 'node:timers/promises'
import { databaseProblem } from '#src/plugins/database/problems.ts'

/** For so long a database that is away is waited for. */
const INSIST_MS = 60_000
const PAUSE_MS = 500

/** Does work on the database again until it succeeds, for a minute, as long as the database is away or busy. */
export async function insist<T> (work: () => Promise<T>): Promise<T> {
  const until = performance.now() + INSIST_MS
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (databaseProblem(err)?.status !== 503 || performance.now() > until) throw err
    }
    await sleep(PAUSE_MS)
  }
}
