import type { Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { join } from 'node:path'
import { reconcileDay } from '#src/alloggiati/ledger/reconcile/reconcile-day.ts'
import { build } from '#src/app.ts'
import { readConfig } from '#src/config/config.ts'
import { addDays, createClock } from '#src/lib/time.ts'
import { ledgerOf } from '#test/alloggiati/ledger/context.ts'
import { oracle } from '#test/alloggiati/oracle.ts'
import { guestNo, invio, openStandIn, productionEnviron, type StandIn } from '#test/alloggiati/stand-in.ts'
import { administer, emptyDatabase } from './data.ts'
import { under, type BenchResult } from './harness.ts'
import { fillLedger } from './ledger-data.ts'
import { API_KEY, startLocanda, type Running } from './process.ts'
import { growthOf, latency } from './requests.ts'

/** Submissions of three years of a busy account. Three submissions have ten rows. */
const SUBMISSIONS = 300_000
/** Number of Sends for the dispatch time, after warm-up Sends. */
const WARM_UPS = 150
const SENDS = 40
/** Number of past days to reconcile. */
const DAYS = 40
/** Number of requests per latency measurement. */
const CONCURRENCY = 20
const ROUNDS = 3

/** Measures the ledger on a database of 300,000 submissions and 1,000,000 rows. */
export async function ledgerBench (clusterUrl: string, folder: string): Promise<BenchResult[]> {
  const databaseUrl = await emptyDatabase(clusterUrl, 'bench_ledger')
  await administer(databaseUrl, (sql) =>
    fillLedger(sql, { submissions: SUBMISSIONS, today: createClock().today() }))
  const police = await openStandIn(oracle(join(folder, 'acquired')))
  try {
    const days = await reconciliation(databaseUrl, police, folder)
    const server = await startLocanda({ dataDir: folder, databaseUrl, environ: productionEnviron(police) })
    try {
      return [...await requests(server), await dispatches(server, police), days]
    } finally {
      await server.stop()
    }
  } finally {
    await police.stop()
  }
}

async function requests (server: Running): Promise<BenchResult[]> {
  const today = createClock().today()
  const month = `/api/alloggiati/verifica-ricevute?da=${today.slice(0, 8)}01`
  const measure = async (limit: number, name: string, path: string) =>
    under(limit, 'ms', { name, amounts: await repeat(() => latency(server, path, CONCURRENCY)) })
  return [
    await measure(10, 'ledger: first page of the list', '/api/v1/invii?limit=50'),
    await measure(10, 'ledger: first page of one state', '/api/v1/invii?limit=50&stato=parziale'),
    await measure(20, 'ledger: /metrics', '/metrics'),
    await measure(50, 'ledger: verifica-ricevute of this month', month),
    under(50, 'MB', {
      name: 'ledger: verifica-ricevute of three years, growth of memory',
      amounts: await repeat(() => growthOf(server, '/api/alloggiati/verifica-ricevute', 1))
    })
  ]
}

/**
 * Measures dispatch time at the police service: from the connection of the Send, when the ledger begins to commit the
 * attempt, to its first byte.
 */
async function dispatches (server: Running, police: StandIn): Promise<BenchResult> {
  const connected = new WeakMap<Socket, number>()
  const amounts: number[] = []
  police.connection = (socket) => {
    connected.set(socket, performance.now())
    return false
  }
  police.firstByte = async (operation, socket) => {
    if (operation === 'Send') amounts.push(performance.now() - connected.get(socket)!)
  }
  for (let n = 0; n < WARM_UPS + SENDS; n++) {
    const response = await fetch(`${server.url}/api/alloggiati/invio`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(invio([guestNo(n)]))
    })
    if (!response.ok) throw new Error(`invio: ${response.status} ${await response.text()}`)
  }
  return under(5, 'ms', { name: 'ledger: dispatch', amounts: amounts.slice(WARM_UPS) })
}

/** Measures the hourly reconciliation of one past day. */
async function reconciliation (databaseUrl: string, police: StandIn, dataDir: string): Promise<BenchResult> {
  const config = readConfig({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir, API_KEY, ...productionEnviron(police) })
  const app = await build({ config, logStream: { write: () => {} } })
  try {
    await app.ready()
    const context = await ledgerOf({ app, dataDir, url: databaseUrl }, police)
    const amounts: number[] = []
    // The first round is a warm-up.
    for (let n = 0; n < 2 * DAYS; n++) {
      const day = addDays(context.clock.today(), -1 - n % DAYS)
      const start = performance.now()
      await reconcileDay(context, { account: context.service.account, day })
      if (n >= DAYS) amounts.push(performance.now() - start)
    }
    return under(5, 'ms', { name: "ledger: one day's reconciliation", amounts })
  } finally {
    await app.close()
  }
}

async function repeat (measure: () => Promise<number>): Promise<number[]> {
  const amounts: number[] = []
  for (let round = 0; round < ROUNDS; round++) amounts.push(await measure())
  return amounts
}
