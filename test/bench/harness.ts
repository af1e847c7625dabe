import { performance } from 'node:perf_hooks'

/** The route of a peer with one prepared statement that reads no table. */
export const BARE = '/nuda'

/** One measured claim. `ratio` is Locanda's time over the peer's, or an amount with a unit. `bound` is the limit. */
export interface BenchResult { name: string, ratio: number, unit?: string, bound: string, ok: boolean, detail: string }

/** A contestant returns its milliseconds. If it returns none, the caller measures the time. */
type Contestant = () => number | undefined | void | Promise<number | undefined | void>

/** Results over all rounds: median, lowest and highest ratio, and the median milliseconds of both sides. */
export interface Measured { name: string, ratio: number, lowest: number, highest: number, ours: number, peer: number }

export interface Rounds {
  rounds?: number
  warmUps?: number
  /** CPU times that the contestants collect. `interleaved` drops those of the warm-ups. */
  spent?: Record<string, number[]>
}

/**
 * Runs two contestants alternately, so that other load affects both, and compares them in each round. The first
 * contestant of a round alternates.
 */
export async function interleaved (
  name: string,
  ours: Contestant,
  peer: Contestant,
  { rounds = 7, warmUps = 3, spent = {} }: Rounds = {}
): Promise<Measured> {
  for (let turn = 0; turn < warmUps; turn++) {
    await ours()
    await peer()
  }
  for (const each of Object.values(spent)) each.length = 0
  const times: { ours: number; peer: number }[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await duration(ours)
      times.push({ ours: first, peer: await duration(peer) })
    } else {
      const first = await duration(peer)
      times.push({ ours: await duration(ours), peer: first })
    }
  }
  const ratios = times.map((time) => time.ours / time.peer)
  return {
    name,
    ratio: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    ours: median(times.map((time) => time.ours)),
    peer: median(times.map((time) => time.peer))
  }
}

/** Claims that Locanda takes at most `limit` times as long as the peer. */
export function within (limit: number, measured: Measured): BenchResult {
  const { name, ratio, lowest, highest } = measured
  return {
    name,
    ratio,
    bound: `≤ ${limit}x`,
    ok: ratio <= limit,
    detail: `${spread(lowest, highest)}; ${against(measured)}`
  }
}

/** Claims that Locanda's throughput is at least `limit` times the peer's. */
export function atLeast (limit: number, measured: Measured): BenchResult {
  const { name, lowest, highest } = measured
  const ratio = 1 / measured.ratio
  return {
    name,
    ratio,
    bound: `≥ ${limit}x`,
    ok: ratio >= limit,
    detail: `${spread(1 / highest, 1 / lowest)}; ${against(measured)}`
  }
}

/** Claims that an amount stays below `limit`. */
export function under (
  limit: number,
  unit: string,
  { name, amounts }: { name: string; amounts: readonly number[] }
): BenchResult {
  const ratio = median(amounts)
  return {
    name,
    ratio,
    unit: ` ${unit}`,
    bound: `< ${limit} ${unit}`,
    ok: ratio < limit,
    detail: spread(Math.min(...amounts), Math.max(...amounts))
  }
}

function spread (lowest: number, highest: number): string {
  return `${lowest.toFixed(2)} to ${highest.toFixed(2)}`
}

function against ({ ours, peer }: Measured): string {
  const digits = Math.max(ours, peer) < 10 ? 3 : 1
  return `${ours.toFixed(digits)} ms against ${peer.toFixed(digits)} ms`
}

/** Median CPU time per request of both servers, in milliseconds. */
export function compareCpu (ours: readonly number[], peer: readonly number[]): string {
  return `CPU of the server ${median(ours).toFixed(3)} ms against ${median(peer).toFixed(3)} ms`
}

/** Claims that a request takes at most `limit` times the peer's CPU time. Values are milliseconds per round. */
export function cpuWithin (limit: number, name: string, ours: readonly number[], peer: readonly number[]): BenchResult {
  const ratio = median(ours) / median(peer)
  return { name, ratio, bound: `≤ ${limit}x`, ok: ratio <= limit, detail: compareCpu(ours, peer) }
}

/** The median. */
export function median (values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[(sorted.length >> 1) - 1] ?? NaN) + upper) / 2
}

async function duration (contestant: Contestant): Promise<number> {
  const start = performance.now()
  const own = await contestant()
  return typeof own === 'number' ? own : performance.now() - start
}
