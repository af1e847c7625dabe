import { setTimeout as wait } from 'node:timers/promises'

/** Waits for `work`, but at most `ms` milliseconds. */
export async function waitAtMost (ms: number, work: Promise<unknown> | undefined): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([work, wait(ms, undefined, { signal: over.signal }).catch(() => {})])
  } finally {
    over.abort()
  }
}
