import { setTimeout as wait } from 'node:timers/promises'

/** Waits for the end of `work`, but no longer than so many milliseconds. */
export async function within (ms: number, work: Promise<void> | undefined): Promise<void> {
  const over = new AbortController()
  await Promise.race([work, wait(ms, undefined, { signal: over.signal }).catch(() => {})])
  over.abort()
}
