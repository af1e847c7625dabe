/** A signal that aborts with other signals, after a timeout, or by a call. */
export interface LimitedSignal {
  signal: AbortSignal
  /** Whether the timeout caused the abort. */
  isTooLate (): boolean
  abort (): void
  /** Releases the timer and the other signals. The caller must call it at the end of the work. */
  end (): void
}

/**
 * Replaces `AbortSignal.any` with `AbortSignal.timeout`: Node retains such a signal and its listeners until the
 * timeout, and forever when it is part of another signal.
 * @param ms the timeout. Undefined means no timeout
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
