import type { FastifyBaseLogger } from 'fastify'
import { ServizioOccupato } from '#src/lib/errors.ts'
import type { ChangeListener } from '#src/plugins/changes.ts'

/** How long a request waits for the database before it makes do with what was last known. */
const PATIENCE_MS = 2000

/** What was read from the database, kept until the database says that it has changed. */
export interface Kept<T> {
  /**
   * At once while nothing says that it has changed, else as soon as it is read; requests share one reading. While the
   * database does not answer, what was last known. Rejects when it was never known.
   */
  current (): T | Promise<T>
  /** It may have changed: the next request waits for the present one. */
  forget (): void
  /** Reads it again, and makes nobody wait. Never rejects. */
  refresh (): Promise<void>
}

/** @param changes asked for only when it is read: the listener is built after it */
export function kept<T> (
  load: () => Promise<T>,
  changes: () => Pick<ChangeListener, 'ready'>,
  log: Pick<FastifyBaseLogger, 'warn'>
): Kept<T> {
  let last: { value: T } | undefined
  let isCurrent = false
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
      return value
    }
  }

  async function freshOrLast (): Promise<T> {
    const { promise: tooLate, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new ServizioOccupato()), PATIENCE_MS)
    try {
      return await Promise.race([read(), tooLate])
    } catch (err) {
      if (last === undefined) throw err
      log.warn({ err }, 'the settings cannot be read: the last known ones are in force')
      return last.value
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    current: () => isCurrent ? last!.value : freshOrLast(),
    forget () {
      generation++
      isCurrent = false
    },
    async refresh () {
      await read().catch((err: unknown) => log.warn({ err }, 'the settings cannot be read again'))
    }
  }
}
