import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { under, type BenchResult } from './harness.ts'
import { startLocanda, temporaryFolder } from './process.ts'

const ROUNDS = 5
/** After this the server has nothing more to do. */
const IDLE_MS = 4000

/** First and second starts with the embedded PostgreSQL, and the memory of a server without requests. */
export async function starts (): Promise<BenchResult[]> {
  const times = { first: [] as number[], second: [] as number[] }
  const resident = { first: [] as number[], second: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    const dataDir = temporaryFolder()
    // What earlier starts have cached, besides the data.
    rmSync(new URL('../../node_modules/.cache/locanda', import.meta.url), { recursive: true, force: true })
    for (const which of ['first', 'second'] as const) {
      const server = await startLocanda({ dataDir })
      times[which].push(server.readyAfterMs / 1000)
      await sleep(IDLE_MS)
      resident[which].push(server.resident())
      await server.stop()
    }
    rmSync(dataDir, { recursive: true })
  }
  return [
    under(10, 's', { name: 'first start, with a new database', amounts: times.first }),
    under(3, 's', { name: 'later start', amounts: times.second }),
    under(200, 'MB', { name: 'idle memory, first start', amounts: resident.first }),
    under(200, 'MB', { name: 'idle memory', amounts: resident.second })
  ]
}
