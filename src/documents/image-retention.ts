import type { FastifyInstance } from 'fastify'
import type { ImageState } from '#schemas/privacy.ts'
import type { Side } from '#schemas/storage.ts'
import { coverageOf, type BookingCoverage } from '#src/alloggiati/index.ts'
import { lockBooking } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, dayInRome, type Clock, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { DOCUMENTS, isDocumentImage, bookingPrefix, parseImageName } from './image-names.ts'

/** Images per batch. */
const BATCH = 1000

/** The reason why images and scans of a guest's document are kept, and until when. */
export interface ImageStatus {
  stato: ImageState
  /** The day of deletion. Null while it is unknown. */
  until: Day | null
}

/**
 * The status of a guest's images. They are deleted `days` days after the receipt that covers the guest. They stay while
 * a submission of the booking is open or its outcome is unknown.
 * @param place 0-based place of the guest in the booking
 */
export function imageStatus ({ open, guest }: BookingCoverage, place: number, days: number): ImageStatus {
  if (open !== null) return { stato: open, until: null }
  const status = guest(place)
  return status.stato === 'ricevuto'
    ? { stato: 'in_scadenza', until: addDays(dayInRome(status.dal), days) }
    : { stato: status.stato, until: null }
}

/** An image, with the reason why it is kept and until when. */
interface KeptImage extends ImageStatus {
  image: StoredFile
  booking: number
  guest: number
  side: Side
}

export type ImageRetention = ReturnType<typeof imageRetention>

/**
 * Deletes images of documents a number of days after the receipt that covers the guest. Keeps images while a submission
 * of the booking is open or has an unknown outcome, and images of guests without a receipt.
 */
export function imageRetention (
  { db, files, audit, log }: Pick<FastifyInstance, 'db' | 'files' | 'audit' | 'log'>,
  { config, keys, clock }: { config: Config, keys: Keys, clock: Clock }
) {
  const { ALLOGGIATI_MODE: mode, IMAGE_RETENTION_DAYS: days } = config

  /** The reason why each image is kept, and until when. Images of bookings that do not exist are left out. */
  async function statusesOf (db: Executor, images: readonly StoredFile[]): Promise<KeptImage[]> {
    const placed = images.filter(({ name }) => isDocumentImage(name))
      .map((image) => ({ image, ...parseImageName(image.name) }))
    const bookings = new Set(placed.map(({ booking_id }) => booking_id))
    const coverages = await coverageOf({ db, keys, mode, today: clock.today() }, [...bookings])
    return placed.flatMap(({ image, booking_id: booking, guest_idx: guest, side }) => {
      const coverage = coverages.get(booking)
      return coverage ? { image, booking, guest, side, ...imageStatus(coverage, guest, days) } : []
    })
  }

  function isDue ({ until }: KeptImage): boolean {
    return until !== null && until <= clock.today()
  }

  async function purgeBooking (booking: number): Promise<number> {
    return await db.transaction(async (tx) => {
      // The lock prevents concurrent uploads, deletions and submissions of the booking.
      if (!await lockBooking(tx, booking)) return 0
      const due = (await statusesOf(tx, await files.findByPrefix(tx, DOCUMENTS, bookingPrefix(booking)))).filter(isDue)
      if (due.length === 0) return 0
      await files.discard(tx, due.map(({ image }) => image))
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
    statusesOf,
    /**
     * Deletes expired images, one booking at a time. If the process ends, the next run continues. A failure for one
     * booking does not stop the others.
     * @throws the first failure, at the end
     */
    async purge (): Promise<void> {
      const failures: unknown[] = []
      let purged = 0
      for (let after: string | undefined = ''; after !== undefined;) {
        const images = await files.findAfter(db, DOCUMENTS, after, BATCH)
        const due = (await statusesOf(db, images)).filter(isDue)
        for (const booking of new Set(due.map(({ booking }) => booking))) {
          await purgeBooking(booking).then((count) => { purged += count }, (err: unknown) => { failures.push(err) })
        }
        after = images.length < BATCH ? undefined : images.at(-1)!.name
      }
      files.removeDiscarded()
      if (purged > 0) log.info({ images: purged }, 'document images past their retention were deleted')
      if (failures.length > 0) throw failures[0]
    }
  }
}
