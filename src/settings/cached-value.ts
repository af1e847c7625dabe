import type { FastifyBaseLogger } from 'fastify'
import { ServizioOccupato } from '#src/lib/errors.ts'
import type { NotificationListener } from '#src/database/notifications.ts'

/** Maximum milliseconds that a request waits for the database. */
const TIMEOUT_MS = 2000

/**
 * Caches a value read from the database until the database reports a change.
 * @param notifications returns the listener. A function, because the listener needs the cache and is built after it
 */
export function cachedValue<T> (
  load: () => Promise<T>,
  notifications: () => Pick<NotificationListener, 'ready'>,
  log: Pick<FastifyBaseLogger, 'warn'>
) {
  let last: { value: T } | undefined
  let isCurrent = false
  let hasChanged = false
  /** Incremented on every possible change. A value that was read before one is then read again. */
  let generation = 0
  let reading: Promise<T> | undefined

  function read (): Promise<T> {
    reading ??= readUnchanged().finally(() => { reading = undefined })
    return reading
  }

  async function readUnchanged (): Promise<T> {
    for (;;) {
      // Listen before reading, so that a change in between is noticed.
      const isListening = await notifications().ready()
      const before = generation
      const value = await load()
      if (before !== generation) continue
      last = { value }
      isCurrent = isListening
      hasChanged = false
      return value
    }
  }

  async function freshOrLast (): Promise<T> {
    try {
      return await orTooLate(read())
    } catch (err) {
      if (last === undefined || hasChanged) throw err
      log.warn({ err }, 'the settings cannot be read: the last known ones are used')
      return last.value
    }
  }

  function forget (): void {
    generation++
    isCurrent = false
  }

  return {
    /**
     * The cached value. After a change it is a promise of the new value, which concurrent requests share. While the
     * database does not respond, it resolves with the last value. It rejects instead when no value was read yet, or the
     * value has certainly changed.
     */
    current: (): T | Promise<T> => isCurrent ? last!.value : freshOrLast(),
    /** Marks the value as possibly changed. The next request reads it. */
    forget,
    /** Drops the value, because it has changed and must not be used any more. */
    change (): void {
      hasChanged = true
      forget()
    },
    /** Reads the value again. Logs a failure, and never rejects. */
    async refresh (): Promise<void> {
      await read().catch((err: unknown) => log.warn({ err }, 'the settings cannot be read again'))
    }
  }
}

/** @throws ServizioOccupato when a request has waited for the maximum time */
async function orTooLate<T> (work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new ServizioOccupato()), TIMEOUT_MS)
  try {
    return await Promise.race([work, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
