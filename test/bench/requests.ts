import { get, type IncomingMessage } from 'node:http'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import { lastDayOf, MONTH } from './data.ts'
import { atLeast, BARE, cpuWithin, interleaved, median, under, within, type BenchResult } from './harness.ts'
import { API_KEY, type Running } from './process.ts'

const CONNECTIONS = 8
const SECONDS = 1
/** Sequential requests per latency measurement. */
const SEQUENCE = 300
const KEY = { 'x-api-key': API_KEY }

const SPAN = `start=${MONTH.start}&end=${MONTH.end}`
export const DETAIL = '/api/v1/prenotazioni/500'
const LIST = '/api/v1/prenotazioni'

/**
 * Compares requests per second and CPU time with the bare peer, on 1,000 bookings. PostgreSQL takes as long for both.
 * The peer lacks authentication, limits, headers, log and metrics, and it pipelines the statements of a connection.
 */
export async function throughput (locanda: Running, peer: Running): Promise<BenchResult[]> {
  return [
    ...await compare('detail with guests', DETAIL, { speed: 0.5, cpu: 2.2 }),
    ...await compare('list of 1,000', LIST, { speed: 0.7, cpu: 1.5 }),
    ...await compare('page of 100', `${LIST}?limit=100&conteggio=false`, { speed: 0.65, cpu: 2.2 }, '/pagina'),
    ...await compare('page of 100 with its count', `${LIST}?limit=100`, { speed: 0.65, cpu: 2.4 }, '/pagina'),
    ...await compare(
      'calendar of a month', `/api/prenotazioni?${SPAN}`, { speed: 0.7, cpu: 2 }, `/mese?${SPAN}`
    )
  ]

  async function compare (
    name: string, path: string, limits: { speed: number, cpu: number }, barePath = path
  ): Promise<BenchResult[]> {
    const spent: Record<'locanda' | 'peer', number[]> = { locanda: [], peer: [] }
    const measured = await interleaved(`${name}: requests per second / bare Fastify`,
      () => load(locanda, path, spent.locanda), () => load(peer, barePath, spent.peer),
      { rounds: 5, warmUps: 3, spent })
    return [
      atLeast(limits.speed, measured),
      cpuWithin(limits.cpu, `${name}: processor time a request / bare Fastify`, spent.locanda, spent.peer)
    ]
  }
}

/** Milliseconds per request under load. Adds the server's CPU time per request to `spent`. */
export async function load (
  server: Running,
  path: string,
  spent: number[],
  headers: Record<string, string> = KEY
): Promise<number> {
  const before = server.cpu()
  const { requests, duration, non2xx, errors } = await autocannon({
    url: server.url + path,
    connections: CONNECTIONS,
    duration: SECONDS,
    headers
  })
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests for ${path} failed`)
  spent.push((server.cpu() - before) / requests.total)
  return (duration * 1000) / requests.total
}

/** Number of requests in the long run. */
const LONG_RUN = 150_000
const TENTHS = 10

/** Compares the speed at the end of a long run with that at its start. */
export async function endurance (server: Running): Promise<BenchResult> {
  const amount = LONG_RUN / TENTHS
  const times: number[] = []
  // The first tenth is a warm-up and is repeated.
  for (let tenth = -1; tenth < TENTHS; tenth++) {
    const { requests, duration, non2xx, errors } = await autocannon({
      url: server.url + DETAIL,
      connections: CONNECTIONS,
      amount,
      // autocannon checks only once per sample whether it must stop.
      sampleInt: 10,
      headers: KEY
    })
    if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests for ${DETAIL} failed`)
    if (tenth >= 0) times.push((duration * 1000) / requests.total)
  }
  const ratio = times[0]! / times.at(-1)!
  return {
    name: `detail: speed of the last tenth of ${LONG_RUN.toLocaleString('en')} requests / of the first`,
    ratio,
    bound: '≥ 0.95x',
    ok: ratio >= 0.95,
    detail: `${times.map((ms) => Math.round(1000 / ms)).join(' ')} requests per second`
  }
}

/** Compares latency with many and with few bookings, because it must not depend on their number. */
export async function growth (many: Running, few: Running): Promise<BenchResult[]> {
  const month = `/api/prenotazioni?start=${MONTH.start}&end=${MONTH.end}`
  return [
    within(
      1.3,
      await interleaved(
        'detail: latency with 1,000,000 / with 1,000',
        () => latency(many, DETAIL),
        () => latency(few, DETAIL)
      )
    ),
    within(
      1.3,
      await interleaved(
        'calendar of a month: latency with 1,000,000 / with 1,000',
        () => latency(many, month),
        () => latency(few, month)
      )
    )
  ]
}

/** Compares the latency of a path with a bare route, which sends one prepared statement that reads no table. */
export async function againstBare (
  limit: number, name: string, server: Running, path: string, bare: Running, turns = 20
): Promise<BenchResult> {
  return within(limit, await interleaved(`${name}: latency / a bare statement`,
    () => latency(server, path, turns), () => latency(bare, BARE, turns), { rounds: 5, warmUps: 1 }))
}

/** Measures searches among many bookings, and the first page of the list with its count. */
export async function searching (many: Running, bare: Running): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const [name, query, limit] of [
    ['search of a code', 'q=BK-777777&limit=20', 60],
    ['search of a word in no booking', 'q=zanzibar&limit=20', 60],
    // The trigram index helps least with words that every booking contains.
    ['search of a name whose words all others share', 'q=Prova%20777777&limit=20', 200],
    ['first page of the list with its count', 'limit=20', 10]
  ] as const) results.push(await againstBare(limit, `${name} among 1,000,000`, many, `${LIST}?${query}`, bare))
  return results
}

/** Measures the dashboard's latency with many bookings, and compares it with fewer. */
export async function dashboard (many: Running, some: Running, bare: Running): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const path of ['/api/widget/data', '/api/map/top-countries']) {
    const measured = await interleaved(
      `${path}: latency with 1,000,000 / with 10,000`,
      () => latency(many, path),
      () => latency(some, path)
    )
    results.push(
      within(1.5, measured),
      await againstBare(10, `${path} with 1,000,000`, many, path, bare)
    )
  }
  return results
}

/** Median latency of sequential requests, in milliseconds. */
export async function latency (server: Running, path: string, turns = SEQUENCE): Promise<number> {
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const start = performance.now()
    const response = await fetch(server.url + path, { headers: KEY })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    times.push(performance.now() - start)
  }
  return median(times)
}

const LONG_LIST = 100_000

/** Memory growth in MB while the server sends a list of 100,000 bookings. */
export async function memory (server: Running, total: number): Promise<BenchResult[]> {
  const path = `${LIST}?check_in_a=${lastDayOf(LONG_LIST, total)}`
  const growths = { quick: [] as number[], slow: [] as number[] }
  for (let round = 0; round < 5; round++) {
    growths.quick.push(await growthOf(server, path, LONG_LIST * 200))
    growths.slow.push(await growthOf(server, path, LONG_LIST * 200, 2))
  }
  return [
    under(50, 'MB', { name: 'list of 100,000: growth of memory', amounts: growths.quick }),
    under(50, 'MB', { name: 'list of 100,000, slow reader: growth of memory', amounts: growths.slow })
  ]
}

/** Growth of peak memory during one transfer of at least this many bytes. A slow reader pauses after each chunk. */
export async function growthOf (server: Running, path: string, atLeast: number, pauseMs = 0): Promise<number> {
  const before = server.resident()
  server.forgetPeak()
  const bytes = await transfer(server.url + path, pauseMs)
  if (bytes < atLeast) throw new Error(`Only ${bytes} bytes of the list arrived`)
  return server.peak() - before
}

async function transfer (url: string, pauseMs: number): Promise<number> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers: KEY }, resolve).on('error', reject)
  })
  let bytes = 0
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length
    if (pauseMs > 0) await sleep(pauseMs)
  }
  return bytes
}
