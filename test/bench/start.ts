import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { under, type BenchResult } from './harness.ts'
import { startLocanda, temporaryFolder } from './process.ts'

const ROUNDS = 3
/** Time after which the server is idle. */
const IDLE_MS = 4000

/** Measures first and later starts with the embedded PostgreSQL, and idle memory. */
export async function starts (): Promise<BenchResult[]> {
  const times = { first: [] as number[], second: [] as number[] }
  const resident = { first: [] as number[], second: [] as number[] }
  for (let round = 0; round < ROUNDS; round++) {
    const dataDir = temporaryFolder()
    // Remove the compile cache of earlier starts.
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
    under(230, 'MB', { name: 'idle memory, first start', amounts: resident.first }),
    under(220, 'MB', { name: 'idle memory', amounts: resident.second })
  ]
}
