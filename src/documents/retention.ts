import type { FastifyInstance } from 'fastify'
import type { Side } from '#schemas/storage.ts'
import { coverageOf } from '#src/alloggiati/index.ts'
import { lockBooking } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { StoredObject } from '#src/services/files/storage.ts'
import { DOCUMENTS, isOfGuest, ofBooking, placeOf } from './names.ts'
import { imageStanding, type ImageStanding } from './standing.ts'

/** Images that are judged together. */
const BATCH = 1000

/** An image, and until when and why it is kept. */
export interface KeptImage extends ImageStanding {
  image: StoredObject
  booking: number
  guest: number
  side: Side
}

export interface ImageRetention {
  /** Until when and why images are kept. Those of bookings that do not exist are left out. */
  judge (db: Executor, images: readonly StoredObject[]): Promise<KeptImage[]>
  /**
   * Deletes the images whose day has come, booking by booking: a process may end at any time, and the next run goes on.
   * A booking that fails does not keep the others.
   * @throws the first failure, at the end
   */
  purge (): Promise<void>
}

/**
 * The images of a guest's document go so many days after the receipt that covers the guest is in, never while a
 * submission of the booking is open or its outcome is unknown. Of a guest who is not covered they stay.
 */
export function imageRetention (
  { db, storage, audit, log }: Pick<FastifyInstance, 'db' | 'storage' | 'audit' | 'log'>,
  { config, keys, clock }: { config: Config, keys: Keys, clock: Clock }
): ImageRetention {
  const { ALLOGGIATI_MODE: mode, IMAGE_RETENTION_DAYS: days } = config

  async function judge (db: Executor, images: readonly StoredObject[]): Promise<KeptImage[]> {
    const placed = images.filter(({ name }) => isOfGuest(name)).map((image) => ({ image, ...placeOf(image.name) }))
    const bookings = new Set(placed.map(({ booking_id }) => booking_id))
    const coverages = await coverageOf({ db, keys, mode, today: clock.today() }, [...bookings])
    return placed.flatMap(({ image, booking_id: booking, guest_idx: guest, side }) => {
      const coverage = coverages.get(booking)
      return coverage ? { image, booking, guest, side, ...imageStanding(coverage, guest, days) } : []
    })
  }

  function isDue ({ until }: KeptImage): boolean {
    return until !== null && until <= clock.today()
  }

  async function purgeBooking (booking: number): Promise<number> {
    return await db.transaction(async (tx) => {
      // Uploads, deletions and submissions of the booking wait, or are seen here.
      if (!await lockBooking(tx, booking)) return 0
      const due = (await judge(tx, await storage.findByPrefix(tx, DOCUMENTS, ofBooking(booking)))).filter(isDue)
      if (due.length === 0) return 0
      await storage.discard(tx, due.map(({ image }) => image))
      await audit.append(tx, {
        actor: 'sistema',
        action: 'immagini_scadute',
        object: `prenotazione:${booking}`,
        details: { immagini: due.map(({ guest, side }) => `${guest}/${side}`) }
      })
      return due.length
    })
  }

  return {
    judge,
    async purge () {
      const failures: unknown[] = []
      let purged = 0
      for (let after: string | undefined = ''; after !== undefined;) {
        const images = await storage.findAfter(db, DOCUMENTS, after, BATCH)
        const due = (await judge(db, images)).filter(isDue)
        for (const booking of new Set(due.map(({ booking }) => booking))) {
          await purgeBooking(booking).then((count) => { purged += count }, (err: unknown) => { failures.push(err) })
        }
        after = images.length < BATCH ? undefined : images.at(-1)!.name
      }
      storage.removeDiscarded()
      if (purged > 0) log.info({ immagini: purged }, 'images of documents were deleted at their time')
      if (failures.length > 0) throw failures[0]
    }
  }
}
