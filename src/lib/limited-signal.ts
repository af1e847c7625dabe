/** A signal that is aborted by any of other signals, by a time limit, or by a call. */
export interface LimitedSignal {
  signal: AbortSignal
  /** Whether the time limit has aborted it. */
  isTooLate (): boolean
  abort (): void
  /** Lets go of the time limit and of the other signals. The caller calls it when the work is over. */
  end (): void
}

/**
 * In the place of `AbortSignal.any` with `AbortSignal.timeout`: Node keeps such a signal, and all that listens to it,
 * until the time is over, and for ever where it is a part of another one.
 * @param ms without which there is no time limit
 */
export function limitedSignal (others: readonly AbortSignal[], ms?: number): LimitedSignal {
  const controller = new AbortController()
  let tooLate = false
  const timer = ms === undefined ? undefined : setTimeout(onTime, ms).unref()
  for (const other of others) {
    other.addEventListener('abort', abort, { once: true })
  }
  if (others.some(({ aborted }) => aborted)) abort()

  function onTime (): void {
    tooLate = !controller.signal.aborted
    abort()
  }

  function abort (): void {
    controller.abort()
    end()
  }

  function end (): void {
    clearTimeout(timer)
    for (const other of others) other.removeEventListener('abort', abort)
  }

  return { signal: controller.signal, isTooLate: () => tooLate, abort, end }
}
