import type { FastifyInstance } from 'fastify'
import { coverageOf } from '#src/alloggiati/index.ts'
import { lockBooking } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import { imageStatus, type ImageStatus } from '#src/documents/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, dayInRome, instantInRome, type Clock } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { discardScans } from './scan-pictures.ts'
import type { ScanRepository, StoredScan } from './repository.ts'

/** Maximum scans without a guest deleted per transaction. */
const BATCH = 500

/** `stato` is null for a scan without a guest, which is deleted on the day `until`. */
type ScanStatus = ImageStatus | { stato: null, until: string }

export type ScanRetention = ReturnType<typeof scanRetention>

/**
 * Deletes scans after `IMAGE_RETENTION_DAYS`. For a scan of a guest, the days start with the receipt that covers the
 * guest, like for document images. For a scan without a guest, they start when it was saved, and are at least one.
 */
export function scanRetention (
  app: Pick<FastifyInstance, 'db' | 'files' | 'audit' | 'log' | 'eraseResponses'>,
  repository: ScanRepository,
  { config, keys, clock }: { config: Config, keys: Keys, clock: Clock }
) {
  const { db, files, audit, log, eraseResponses } = app
  const { ALLOGGIATI_MODE: mode, IMAGE_RETENTION_DAYS: days } = config
  const daysAlone = Math.max(1, days)

  /** The retention status of each scan, in the order of `scans`. */
  async function statusesOf (db: Executor, scans: readonly StoredScan[]): Promise<ScanStatus[]> {
    const bookings = new Set(scans.flatMap(({ prenotazione_id: id }) => id ?? []))
    const coverages = await coverageOf({ db, keys, mode, today: clock.today() }, [...bookings])
    return scans.map(({ prenotazione_id: booking, guest_idx: place, created_at: saved }) => {
      const coverage = booking === null ? undefined : coverages.get(booking)
      return coverage === undefined || place === null
        ? { stato: null, until: addDays(dayInRome(saved), daysAlone) }
        : imageStatus(coverage, place, days)
    })
  }

  async function purgeBooking (booking: number): Promise<number> {
    return await db.transaction(async (tx) => {
      // The lock prevents concurrent submissions of the booking and changes of its guests.
      if (!await lockBooking(tx, booking)) return 0
      const scans = await repository.ofBooking(tx, booking)
      const statuses = await statusesOf(tx, scans)
      const due = scans.flatMap(({ id }, at) => isDue(statuses[at]!) ? id : [])
      return await discard(tx, due, `prenotazione:${booking}`)
    })
  }

  async function purgeUnplaced (): Promise<number> {
    const before = instantInRome(addDays(clock.today(), 1 - daysAlone), 0)
    return await db.transaction(async (tx) => discard(tx, await repository.unplacedBefore(tx, before, BATCH)))
  }

  async function discard (tx: Parameters<typeof discardScans>[1], ids: readonly number[], object?: string) {
    if (ids.length === 0) return 0
    const count = await discardScans({ files, repository, eraseResponses }, tx, ids)
    await audit.append(tx, {
      actor: 'sistema', action: 'scansioni_scadute', object, details: { scansioni: ids.map(String) }
    })
    return count
  }

  function isDue ({ until }: ScanStatus): boolean {
    return until !== null && until <= clock.today()
  }

  return {
    statusesOf,
    /**
     * Deletes expired scans. If the process ends, the next run continues. After a failure for one booking, the other
     * scans are still deleted.
     * @throws the first failure, at the end
     */
    async purge (): Promise<void> {
      const failures: unknown[] = []
      let purged = 0
      for (const booking of await repository.bookings(db)) {
        await purgeBooking(booking).then((count) => { purged += count }, (err: unknown) => { failures.push(err) })
      }
      for (let count = BATCH; count === BATCH;) purged += count = await purgeUnplaced()
      files.removeDiscarded()
      if (purged > 0) log.info({ scans: purged }, 'document scans past their retention were deleted')
      if (failures.length > 0) throw failures[0]
    }
  }
}
