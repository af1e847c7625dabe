import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { fill, TODAY } from './data.ts'
import { median, type BenchResult } from './harness.ts'
import { startLocanda, temporaryFolder, type Running } from './process.ts'
import { DETAIL, load } from './requests.ts'

const ROUNDS = 5
const BOOKINGS = 100_000
/** Requests for one row by id, and for the first page of the list with its count. */
const PATHS = { detail: DETAIL, 'page of the list': '/api/v1/prenotazioni?limit=50' }

/**
 * Compares requests per second of one server and of two on one database, with the same clients. They share the CPU with
 * PostgreSQL and the clients, so with few cores the gain is small.
 */
export async function instances (cluster: string): Promise<BenchResult[]> {
  const databaseUrl = await fill(cluster, 'bench_instances', BOOKINGS)
  const MASTER_KEY = randomBytes(32).toString('base64')
  const folders = [temporaryFolder(), temporaryFolder()]
  const servers: Running[] = []
  try {
    for (const dataDir of folders) {
      servers.push(await startLocanda({ dataDir, databaseUrl, environ: { TODAY, MASTER_KEY } }))
    }
    const results: BenchResult[] = []
    for (const [name, path] of Object.entries(PATHS)) results.push(await compare(name, path, servers))
    return results
  } finally {
    for (const { stop } of servers) await stop()
    for (const folder of folders) rmSync(folder, { recursive: true })
  }
}

async function compare (name: string, path: string, servers: readonly Running[]): Promise<BenchResult> {
  const spent: number[] = []
  /** The sum for these servers. */
  const perSecond = async (which: readonly Running[]) => {
    const times = await Promise.all(which.map((server) => load(server, path, spent)))
    return times.reduce((sum, time) => sum + 1000 / time, 0)
  }
  await perSecond(servers)
  spent.length = 0
  const one: number[] = []
  const two: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    one.push(await perSecond([servers[round % 2]!]))
    two.push(await perSecond(servers))
  }
  return {
    name: `${name}: requests per second of two servers / of one`,
    ratio: median(two) / median(one),
    bound: 'as found',
    ok: true,
    detail: `${median(two).toFixed(0)} against ${median(one).toFixed(0)} per second; ` +
      `CPU of a server ${median(spent).toFixed(3)} ms a request`
  }
}
