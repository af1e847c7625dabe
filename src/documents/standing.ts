import type { ImageState } from '#schemas/privacy.ts'
import type { BookingCoverage } from '#src/alloggiati/index.ts'
import { addDays, dayInRome, type Day } from '#src/lib/time.ts'

/** Until when and why what was taken from a guest's document is kept. */
export interface ImageStanding {
  stato: ImageState
  /** The day on which it goes; null as long as that is not known. */
  until: Day | null
}

/**
 * It goes so many days after the receipt that covers the guest is in, never while a submission of the booking is open
 * or its outcome is unknown.
 * @param place of the guest, 0-based
 */
export function imageStanding ({ open, guest }: BookingCoverage, place: number, days: number): ImageStanding {
  if (open !== null) return { stato: open, until: null }
  const standing = guest(place)
  return standing.stato === 'ricevuto'
    ? { stato: 'in_scadenza', until: addDays(dayInRome(standing.dal), days) }
    : { stato: standing.stato, until: null }
}
