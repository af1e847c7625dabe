/** How long the last one serves on before it is tried again. */
const AGAIN_MS = 60_000

/**
 * What is costly to get, got once for all who ask at the same time and kept for a while. When it cannot be had anew,
 * the last one serves on; a failure is not kept.
 */
export function remembered<T> (
  load: () => Promise<T>,
  freshMs: number,
  now: () => number = () => performance.now()
): () => Promise<T> {
  let kept: { value: T; until: number } | undefined
  let loading: Promise<T> | undefined

  async function renew (): Promise<T> {
    try {
      const value = await load()
      kept = { value, until: now() + freshMs }
      return value
    } catch (err) {
      if (kept === undefined) throw err
      kept.until = now() + AGAIN_MS
      return kept.value
    } finally {
      loading = undefined
    }
  }

  return async () => {
    if (kept !== undefined && kept.until > now()) return kept.value
    loading ??= renew()
    return await loading
  }
}
