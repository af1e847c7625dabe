import type { FastifyBaseLogger } from 'fastify'
import { ServizioOccupato } from '#src/lib/errors.ts'
import type { NotificationListener } from '#src/database/notifications.ts'

/** How long a request waits for the database. */
const PATIENCE_MS = 2000

/**
 * Caches a value read from the database until the database reports a change.
 * @param changes returns the listener, which is built later, when the value is first read
 */
export function cachedValue<T> (
  load: () => Promise<T>,
  notifications: () => Pick<NotificationListener, 'ready'>,
  log: Pick<FastifyBaseLogger, 'warn'>
) {
  let last: { value: T } | undefined
  let isCurrent = false
  let hasChanged = false
  /** Incremented on every change, so that a value read before a change is read again. */
  let generation = 0
  let reading: Promise<T> | undefined

  function read (): Promise<T> {
    reading ??= readUnchanged().finally(() => { reading = undefined })
    return reading
  }

  async function readUnchanged (): Promise<T> {
    for (;;) {
      // Listens before reading, so that a change in between is noticed.
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
      log.warn({ err }, 'the settings cannot be read: the last known ones are in force')
      return last.value
    }
  }

  function forget (): void {
    generation++
    isCurrent = false
  }

  return {
    /**
     * The cached value; after a change, a promise of the new one, which concurrent requests share. While the database
     * does not respond, the last value is used. After a confirmed change, or when there was never a value, the promise
     * rejects.
     */
    current: (): T | Promise<T> => isCurrent ? last!.value : freshOrLast(),
    /** The value may have changed: the next request reads it. */
    forget,
    /** The value has changed: the last one must not be used any more. */
    change (): void {
      hasChanged = true
      forget()
    },
    /** Reads the value again in the background. Never rejects. */
    async refresh (): Promise<void> {
      await read().catch((err: unknown) => log.warn({ err }, 'the settings cannot be read again'))
    }
  }
}

/** @throws ServizioOccupato when a request's waiting time is over */
async function orTooLate<T> (work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new ServizioOccupato()), PATIENCE_MS)
  try {
    return await Promise.race([work, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
