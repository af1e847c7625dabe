import { setTimeout as wait } from 'node:timers/promises'

/** Waits for the end of `work`, but no longer than so many milliseconds. */
export async function within (ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, wait(ms, undefined, { signal: over.signal }).catch(() => {})])
  } finally {
    over.abort()
  }
}
