import type { FastifyBaseLogger } from 'fastify'
import { ServizioOccupato } from '#src/lib/errors.ts'
import type { ChangeListener } from '#src/database/changes.ts'

/** How long a request waits for the database. */
const PATIENCE_MS = 2000

/**
 * What was read from the database, kept until the database says that it has changed.
 * @param changes asked for only when it is read: the listener is built after it
 */
export function kept<T> (
  load: () => Promise<T>,
  changes: () => Pick<ChangeListener, 'ready'>,
  log: Pick<FastifyBaseLogger, 'warn'>
) {
  let last: { value: T } | undefined
  let isCurrent = false
  let hasChanged = false
  /** Counts the changes: what was read before a change is read again. */
  let generation = 0
  let reading: Promise<T> | undefined

  function read (): Promise<T> {
    reading ??= readUnchanged().finally(() => { reading = undefined })
    return reading
  }

  async function readUnchanged (): Promise<T> {
    for (;;) {
      // First listen, then read: a change between the two is heard.
      const isListening = await changes().ready()
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
     * At once while nothing says that it has changed, else as soon as it is read; requests share one reading. While the
     * database does not answer, what was last known, unless that has changed since: then it rejects, as it does when
     * nothing was ever known.
     */
    current: (): T | Promise<T> => isCurrent ? last!.value : freshOrLast(),
    /** It may have changed: the next request asks for the present one. */
    forget,
    /** It has changed: what was last known is not in force any more. */
    change (): void {
      hasChanged = true
      forget()
    },
    /** Reads it again, and makes nobody wait. Never rejects. */
    async refresh (): Promise<void> {
      await read().catch((err: unknown) => log.warn({ err }, 'the settings cannot be read again'))
    }
  }
}

/** @throws ServizioOccupato when it takes longer than a request waits */
async function orTooLate<T> (work: Promise<T>): Promise<T> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new ServizioOccupato()), PATIENCE_MS)
  try {
    return await Promise.race([work, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
