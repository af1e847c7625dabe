import { performance } from 'node:perf_hooks'

/** One measured claim: `ratio` is ours over the peer's, `bound` the claim in words, `ok` whether it holds. */
export interface BenchResult { name: string, ratio: number, bound: string, ok: boolean, detail: string }

/** A contestant: returns how long it took in milliseconds, or nothing and is timed from outside. */
export type Contestant = () => number | undefined | void | Promise<number | undefined | void>

/** Medians over the rounds: the per-round ratios, and the milliseconds of either side. */
export interface Measured { name: string, ratio: number, ours: number, peer: number }

const WARM_UPS = 3

/**
 * Runs two contestants alternately, so that whatever else the machine does meets both, and compares them round by round.
 * Who goes first changes every round.
 */
export async function interleaved (name: string, ours: Contestant, peer: Contestant, rounds = 7): Promise<Measured> {
  for (let turn = 0; turn < WARM_UPS; turn++) {
    await ours()
    await peer()
  }
  const times: { ours: number, peer: number }[] = []
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const first = await duration(ours)
      times.push({ ours: first, peer: await duration(peer) })
    } else {
      const first = await duration(peer)
      times.push({ ours: await duration(ours), peer: first })
    }
  }
  return {
    name,
    ratio: median(times.map((time) => time.ours / time.peer)),
    ours: median(times.map((time) => time.ours)),
    peer: median(times.map((time) => time.peer))
  }
}

/** The claim that ours takes at most `limit` times as long as the peer. */
export function within (limit: number, measured: Measured): BenchResult {
  const { name, ratio, ours, peer } = measured
  return { name, ratio, bound: `≤ ${limit}x`, ok: ratio <= limit, detail: `${ours.toFixed(1)} ms contro ${peer.toFixed(1)} ms` }
}

/** The middle value; the mean of the two middle ones when their number is even. */
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
