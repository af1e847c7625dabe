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
import { BARE, interleaved, under, within, type BenchResult } from './harness.ts'
import { fillLedger } from './ledger-data.ts'
import { API_KEY, startLocanda, startPeer, type Running } from './process.ts'
import { againstBare, growthOf, latency } from './requests.ts'

/** Submissions of three years of a busy account. Three submissions have ten rows. */
const SUBMISSIONS = 300_000
/** Number of Sends for the dispatch time, after warm-up Sends. */
const WARM_UPS = 150
const SENDS = 40
/** Number of past days to reconcile. */
const DAYS = 40
/** Number of sequential requests per latency measurement. */
const TURNS = 20

/** Measures the ledger on a database of 300,000 submissions and 1,000,000 rows. */
export async function ledgerBench (clusterUrl: string, folder: string): Promise<BenchResult[]> {
  const databaseUrl = await emptyDatabase(clusterUrl, 'bench_ledger')
  await administer(databaseUrl, (sql) =>
    fillLedger(sql, { submissions: SUBMISSIONS, today: createClock().today() }))
  const police = await openStandIn(oracle(join(folder, 'acquired')))
  const bare = await startPeer(databaseUrl)
  try {
    const days = await reconciliation(databaseUrl, police, folder, bare)
    const server = await startLocanda({ dataDir: folder, databaseUrl, environ: productionEnviron(police) })
    try {
      return [...await requests(server, bare), await dispatches(server, police, bare), days]
    } finally {
      await server.stop()
    }
  } finally {
    await bare.stop()
    await police.stop()
  }
}

async function requests (server: Running, bare: Running): Promise<BenchResult[]> {
  const today = createClock().today()
  const month = `/api/alloggiati/verifica-ricevute?da=${today.slice(0, 8)}01`
  return [
    await againstBare(20, 'ledger: first page of the list', server, '/api/v1/invii?limit=50', bare),
    await againstBare(20, 'ledger: first page of one state', server, '/api/v1/invii?limit=50&stato=parziale', bare),
    // The gauges read the open submissions and the days without a receipt.
    await againstBare(100, 'ledger: /metrics', server, '/metrics', bare),
    // At the end of a month it compares 8,500 submissions, and looks for unproven days among them.
    await againstBare(1500, 'ledger: verifica-ricevute of this month', server, month, bare, 4),
    under(50, 'MB', {
      name: 'ledger: verifica-ricevute of three years, growth of memory',
      amounts: [await growthOf(server, '/api/alloggiati/verifica-ricevute', 1)]
    })
  ]
}

/**
 * Measures dispatch time at the police service: from the connection of the Send, when the ledger begins to commit the
 * attempt, to its first byte.
 */
async function dispatches (server: Running, police: StandIn, bare: Running): Promise<BenchResult> {
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
  const peer = await latency(bare, BARE, TURNS)
  return against(15, 'ledger: dispatch', amounts.slice(WARM_UPS), peer)
}

/** Measures the hourly reconciliation of one past day. */
async function reconciliation (
  databaseUrl: string, police: StandIn, dataDir: string, bare: Running
): Promise<BenchResult> {
  const config = readConfig({ DATABASE_URL: databaseUrl, DATA_DIR: dataDir, API_KEY, ...productionEnviron(police) })
  const app = await build({ config, logStream: { write: () => {} } })
  try {
    await app.ready()
    const context = await ledgerOf({ app, dataDir, url: databaseUrl }, police)
    let n = 0
    const reconcile = async () => {
      const day = addDays(context.clock.today(), -1 - n++ % DAYS)
      await reconcileDay(context, { account: context.service.account, day })
    }
    return within(30, await interleaved("ledger: one day's reconciliation / a bare statement",
      reconcile, () => latency(bare, BARE, TURNS), { rounds: DAYS, warmUps: DAYS }))
  } finally {
    await app.close()
  }
}

/** Claims that the median of some milliseconds is at most `limit` times a bare statement's. */
function against (limit: number, name: string, amounts: readonly number[], peer: number): BenchResult {
  const ratios = amounts.map((each) => each / peer)
  return under(limit, 'x', { name: `${name} / a bare statement`, amounts: ratios })
}
