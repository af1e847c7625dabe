import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '#test/crash/seeded-random.ts'
import type { Caller } from '../caller.ts'

/** One kind of client: its action, and the average pause between two actions. */
export interface Client { name: string, restMs: number, act (): Promise<void> }

/** Dependencies of every client. */
export interface Surroundings extends Pick<Caller, 'ask' | 'surprise'> {
  random: SeededRandom
  /** An administrator's header. */
  admin: Record<string, string>
}

/** Runs a client's action in a loop, and pauses while no server runs. */
export async function keepActing (
  client: Client, random: SeededRandom, runs: () => boolean, signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    await sleep(runs() ? client.restMs * (0.5 + random.fraction()) : 50, undefined, { signal }).catch(() => {})
    if (runs() && !signal.aborted) await client.act()
  }
}
