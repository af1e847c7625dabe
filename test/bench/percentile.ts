import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { median, type BenchResult } from './harness.ts'
import { API_KEY, type Running } from './process.ts'
import { DETAIL } from './requests.ts'

const MEASURED_MS = 2000
/** Pause between two requests. */
const EVERY_MS = 5

/** The p95 of a plain GET in milliseconds, over two seconds or for the duration of some work. */
export async function p95 (
  server: Running, work: Promise<unknown> = sleep(MEASURED_MS), path = DETAIL
): Promise<number> {
  const times: number[] = []
  const end = new AbortController()
  const over = work.finally(() => end.abort())
  while (!end.signal.aborted) {
    const start = performance.now()
    const response = await fetch(server.url + path, { headers: { 'x-api-key': API_KEY } })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    times.push(performance.now() - start)
    await sleep(EVERY_MS)
  }
  await over
  return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? NaN
}

/** Checks the ratio of the p95 of a plain GET during some work to the p95 on a quiet server, by default at most 2. */
export async function againstQuiet (
  name: string,
  server: Running,
  meanwhile: () => Promise<number>,
  { rounds = 5, path = DETAIL, limit = 2 } = {}
): Promise<BenchResult> {
  const ratios: number[] = []
  const all: Record<'quiet' | 'among', number[]> = { quiet: [], among: [] }
  const quietly = () => p95(server, sleep(MEASURED_MS), path)
  await quietly()
  for (let round = 0; round < rounds; round++) {
    const quiet = await quietly()
    const among = await meanwhile()
    ratios.push(among / quiet)
    all.quiet.push(quiet)
    all.among.push(among)
  }
  const ratio = median(ratios)
  return {
    name,
    ratio,
    bound: `≤ ${limit}x`,
    ok: ratio <= limit,
    detail: `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}; ` +
      `${median(all.among).toFixed(2)} ms against ${median(all.quiet).toFixed(2)} ms`
  }
}
