import type { FieldError } from '#schemas/common.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Stay } from './stay.ts'

/** A guest's own arrival and departure. Null or empty means the day of the booking. */
export interface OwnDays { arrivo?: string | null | undefined, partenza?: string | null | undefined }

/** The nights of a guest, from the arrival to the day before the departure. */
export interface GuestDays { arrival: Day, departure: Day }

/** @param stay of the booking */
export function guestDays ({ arrivo, partenza }: OwnDays, { check_in, check_out }: Stay): GuestDays {
  return { arrival: arrivo || check_in, departure: partenza || check_out }
}

/** Validation errors of guests whose own days lie outside the booking's stay. */
export function guestDayFaults (guests: readonly OwnDays[], stay: Stay): FieldError[] {
  const { check_in, check_out } = stay
  return guests.flatMap((guest, at) => {
    const { arrival, departure } = guestDays(guest, stay)
    const faults: FieldError[] = []
    if (guest.arrivo && (arrival < check_in || arrival >= check_out)) {
      const nights = [dayWithArticle('dal', check_in), dayWithArticle('al', addDays(check_out, -1))]
      const messaggio = `deve essere ${nights.join(' ')}, fra le notti della prenotazione ` +
        `(ricevuto «${guest.arrivo}»)`
      faults.push({ campo: `dati[${at}].arrivo`, messaggio })
    }
    if (guest.partenza && (departure <= check_in || departure > check_out || departure <= arrival)) {
      const messaggio = `deve essere dopo l’arrivo e al più tardi ${dayWithArticle('il', check_out)}, la partenza ` +
        `della prenotazione (ricevuto «${guest.partenza}»)`
      faults.push({ campo: `dati[${at}].partenza`, messaggio })
    }
    return faults
  })
}

/** The largest number of guests who stay in the same night. */
export function peakOccupancy (nights: readonly GuestDays[]): number {
  return Math.max(0, ...nights.map(({ arrival: night }) =>
    nights.filter(({ arrival, departure }) => arrival <= night && night < departure).length))
}

/**
 * The error for a stay that does not include the own days of all saved guests. Empty if it includes them.
 * @param end the field of the change that sets the departure
 */
export function leftOutFaults (
  guests: readonly OwnDays[], stay: Stay, end: 'check_in' | 'check_out' | 'numero_notti'
): FieldError[] {
  const [first] = guestDayFaults(guests, stay)
  if (first === undefined) return []
  const [, at, field] = /\[(\d+)\]\.(\w+)/.exec(first.campo)!
  const guest = guests[Number(at)]!
  const day = guest[field as keyof OwnDays]!
  const { arrival, departure } = guestDays(guest, stay)
  const isBefore = arrival < stay.check_in || departure <= stay.check_in
  const messaggio = `lascia fuori i giorni dell’ospite ${Number(at) + 1} (${field} ${dayWithArticle('il', day)}): ` +
    'prima salvare gli ospiti senza quei giorni, o con altri'
  return [{ campo: isBefore ? 'check_in' : end, messaggio }]
}
