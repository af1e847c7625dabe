import type { FieldError } from '#schemas/common.ts'
import { addDays, isDay, italianDay, type Day } from '#src/lib/time.ts'
import type { Stay } from './stay.ts'

/** A guest's own arrival and departure. Null or empty: that of the booking. */
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
      const messaggio = `deve essere dal ${italianDay(check_in)} al ${italianDay(addDays(check_out, -1))}, ` +
        'fra le notti della prenotazione'
      faults.push({ campo: `dati[${at}].arrivo`, messaggio })
    }
    if (guest.partenza && (departure <= check_in || departure > check_out || departure <= arrival)) {
      const messaggio = `deve essere dopo l’arrivo e al più tardi il ${italianDay(check_out)}, la partenza della ` +
        'prenotazione'
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

/** The error of a stay that does not include the own days of all saved guests. Empty if it does. */
export function leftOutFaults (guests: readonly OwnDays[], stay: Stay): FieldError[] {
  const [first] = guestDayFaults(guests, stay)
  if (first === undefined) return []
  const [, at, field] = /\[(\d+)\]\.(\w+)/.exec(first.campo)!
  const day = guests[Number(at)]![field as keyof OwnDays]
  const what = isDay(day ?? '') ? `${field} il ${italianDay(day as Day)}` : String(field)
  const messaggio = `lascia fuori i giorni dell’ospite ${Number(at) + 1} (${what}): prima salvare gli ospiti senza ` +
    'quei giorni, o con altri'
  return [{ campo: 'check_in', messaggio }]
}
