import { setTimeout as sleep } from 'node:timers/promises'
import { timed } from './scenario.ts'
import type { Target } from './target.ts'

/** Probes liveness until aborted, and returns the latencies in milliseconds. */
export async function probeLiveness (target: Target, signal: AbortSignal): Promise<number[]> {
  const times: number[] = []
  while (!signal.aborted) {
    times.push(await timed(async () => { await (await target.get('/health/live')).arrayBuffer() }))
    await sleep(20)
  }
  return times
}
