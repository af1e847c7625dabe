import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '#test/crash/seeded-random.ts'
import type { Caller } from '../caller.ts'

/** One kind of client: what it does, and how long it rests between, on the average. */
export interface Client { name: string, restMs: number, act (): Promise<void> }

/** What every client works with. */
export interface Surroundings extends Pick<Caller, 'ask' | 'surprise'> {
  random: SeededRandom
  /** The header of an administrator. */
  admin: Record<string, string>
}

/** Lets a client work, again and again; it waits while no server runs. */
export async function keepActing (
  client: Client, random: SeededRandom, runs: () => boolean, signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    await sleep(runs() ? client.restMs * (0.5 + random.fraction()) : 50, undefined, { signal }).catch(() => {})
    if (runs() && !signal.aborted) await client.act()
  }
}
