import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { carryOut, knownMigrations } from '#src/plugins/database/migrate.ts'
import { administer, createDatabase, fillBookings, TODAY } from './data.ts'
import { type BenchResult } from './harness.ts'
import { startLocanda, temporaryFolder } from './process.ts'
import { watchTables } from './waiting.ts'

const BOOKINGS = 1_000_000
/** A client may wait so long while the server is brought to a new version. */
const BOUND_S = 1
/** How long others are watched before the upgrade, to know what they wait without it. */
const QUIET_MS = 3000
const READY_WITHIN_MS = 900_000

/** Databases of before: how many migrations they have seen, and whether the bound is one that holds for them. */
const STARTS = [
  { seen: 22, since: '0021', isBound: true },
  // Old: 0011 makes an index of all bookings, and 0014 writes each one.
  { seen: 11, since: '0010', isBound: false }
]

/** A start of the server on an older database with 1,000,000 bookings, while others read and write in it. */
export async function upgrades (cluster: string): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const { seen, since, isBound } of STARTS) results.push(await upgrade(cluster, seen, since, isBound))
  return results
}

async function upgrade (cluster: string, seen: number, since: string, isBound: boolean): Promise<BenchResult> {
  const url = await createDatabase(cluster, `bench_since_${since}`)
  const all = knownMigrations()
  await administer(url, (sql) => sql.begin((tx) => carryOut(tx, all.slice(0, seen))))
  await fillBookings(url, BOOKINGS)
  const pending = all.slice(seen).flatMap(({ sql }) => sql)
  const watched = await watchTables(url, await touched(url, pending))
  const dataDir = temporaryFolder()
  const environ = { TODAY, MASTER_KEY: randomBytes(32).toString('base64') }
  try {
    await sleep(QUIET_MS)
    const quiet = watched.take()
    const server = await startLocanda({ dataDir, databaseUrl: url, environ, readyWithinMs: READY_WITHIN_MS })
    const { ms, what } = watched.take()
    await server.stop()
    return {
      name: `upgrade of ${BOOKINGS.toLocaleString('en')} bookings since ${since}: longest wait of others`,
      ratio: ms / 1000,
      unit: ' s',
      bound: isBound ? `< ${BOUND_S} s` : 'as found',
      ok: !isBound || ms < BOUND_S * 1000,
      detail: `${what}; before ${quiet.ms.toFixed(0)} ms; ready after ${(server.readyAfterMs / 1000).toFixed(1)} s`
    }
  } finally {
    await watched.stop()
    rmSync(dataDir, { recursive: true })
  }
}

/** The tables that are there and that statements name where they change something. */
async function touched (url: string, statements: readonly string[]): Promise<string[]> {
  const words = /\b(?:table(?: only)?|on|update|into|from|references) (?:"public"\.)?"?(\w+)"?/gi
  const named = new Set(statements.flatMap((text) => [...text.matchAll(words)].map(([, name]) => name!.toLowerCase())))
  let found: string[] = []
  await administer(url, async (sql) => {
    const rows = await sql<{ name: string }[]>`
      select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
    found = rows.map(({ name }) => name).filter((name) => named.has(name))
  })
  return found
}
