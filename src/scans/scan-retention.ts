import type { FastifyInstance } from 'fastify'
import { coverageOf } from '#src/alloggiati/index.ts'
import { lockBooking } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import { imageStanding, type ImageStanding } from '#src/documents/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, dayInRome, instantInRome, type Clock } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { discardScans } from './scan-pictures.ts'
import type { ScanRepository, StoredScan } from './repository.ts'

/** Scans that are deleted in one transaction. */
const BATCH = 500

/** `stato` is null of a scan that is no guest's: it goes on its day. */
type ScanStanding = ImageStanding | { stato: null, until: string }

export type ScanRetention = ReturnType<typeof scanRetention>

/**
 * A guest's scan goes as the images of the document do: so many days after the receipt that covers the guest. One that
 * is no guest's goes so many days after it was saved, the next day at the earliest.
 */
export function scanRetention (
  app: Pick<FastifyInstance, 'db' | 'storage' | 'audit' | 'log' | 'forgetAnswers'>,
  repository: ScanRepository,
  { config, keys, clock }: { config: Config, keys: Keys, clock: Clock }
) {
  const { db, storage, audit, log, forgetAnswers } = app
  const { ALLOGGIATI_MODE: mode, IMAGE_RETENTION_DAYS: days } = config
  const daysAlone = Math.max(1, days)

  /** Until when and why scans are kept, in their order. */
  async function judge (db: Executor, scans: readonly StoredScan[]): Promise<ScanStanding[]> {
    const bookings = new Set(scans.flatMap(({ prenotazione_id: id }) => id ?? []))
    const coverages = await coverageOf({ db, keys, mode, today: clock.today() }, [...bookings])
    return scans.map(({ prenotazione_id: booking, guest_idx: place, created_at: saved }) => {
      const coverage = booking === null ? undefined : coverages.get(booking)
      return coverage === undefined || place === null
        ? { stato: null, until: addDays(dayInRome(saved), daysAlone) }
        : imageStanding(coverage, place, days)
    })
  }

  async function purgeBooking (booking: number): Promise<number> {
    return await db.transaction(async (tx) => {
      // Changes of its guests and submissions of the booking wait, or are seen here.
      if (!await lockBooking(tx, booking)) return 0
      const scans = await repository.ofBooking(tx, booking)
      const standings = await judge(tx, scans)
      const due = scans.flatMap(({ id }, at) => isDue(standings[at]!) ? id : [])
      return await discard(tx, due, `prenotazione:${booking}`)
    })
  }

  async function purgeUnplaced (): Promise<number> {
    const before = instantInRome(addDays(clock.today(), 1 - daysAlone), 0)
    return await db.transaction(async (tx) => discard(tx, await repository.unplacedBefore(tx, before, BATCH)))
  }

  async function discard (tx: Parameters<typeof discardScans>[1], ids: readonly number[], object?: string) {
    if (ids.length === 0) return 0
    const count = await discardScans({ storage, repository, forgetAnswers }, tx, ids)
    await audit.append(tx, {
      actor: 'sistema', action: 'scansioni_scadute', object, details: { scansioni: ids.map(String) }
    })
    return count
  }

  function isDue ({ until }: ScanStanding): boolean {
    return until !== null && until <= clock.today()
  }

  return {
    judge,
    /**
     * Deletes the scans whose day has come. A process may end at any time, and the next run goes on; a booking that
     * fails does not keep the others.
     * @throws the first failure, at the end
     */
    async purge (): Promise<void> {
      const failures: unknown[] = []
      let purged = 0
      for (const booking of await repository.bookings(db)) {
        await purgeBooking(booking).then((count) => { purged += count }, (err: unknown) => { failures.push(err) })
      }
      for (let count = BATCH; count === BATCH;) purged += count = await purgeUnplaced()
      storage.removeDiscarded()
      if (purged > 0) log.info({ scansioni: purged }, 'scans of documents were deleted at their time')
      if (failures.length > 0) throw failures[0]
    }
  }
}
