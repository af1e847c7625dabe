/** After a failure the last value is used for so long before the next attempt. */
const RETRY_MS = 60_000

/**
 * Caches a value that is costly to load. Callers at the same time share one load. When a later load fails, the last
 * value is used on; a failure is not cached.
 */
export function cached<T> (
  load: () => Promise<T>,
  freshMs: number,
  now: () => number = () => performance.now()
): () => Promise<T> {
  let last: { value: T; until: number } | undefined
  let loading: Promise<T> | undefined

  async function renew (): Promise<T> {
    try {
      const value = await load()
      last = { value, until: now() + freshMs }
      return value
    } catch (err) {
      if (last === undefined) throw err
      last.until = now() + RETRY_MS
      return last.value
    } finally {
      loading = undefined
    }
  }

  return async () => {
    if (last !== undefined && last.until > now()) return last.value
    loading ??= renew()
    return await loading
  }
}
