import { MAX_BOOKED_NIGHTS, type BookingCreation, type BookingUpdate } from '#schemas/booking.ts'
import type { FieldError } from '#schemas/common.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { addDays, daysBetween, isDay, type Day } from '#src/lib/time.ts'

export interface Stay { check_in: Day, check_out: Day }

const NO_END: readonly FieldError[] = [
  { campo: 'check_out', messaggio: 'è un campo obbligatorio se manca numero_notti' },
  { campo: 'numero_notti', messaggio: 'è un campo obbligatorio se manca check_out' }
]

/**
 * The stay of a new booking. `check_out` takes precedence over `numero_notti`. One of them is required.
 * @throws CampiNonValidi for the errors of `newStayErrors`
 */
export function newStay (
  { check_in, check_out, numero_notti }: Pick<BookingCreation, 'check_in' | 'check_out' | 'numero_notti'>
): Stay {
  if (check_out !== undefined) return ordered({ check_in, check_out })
  if (numero_notti !== undefined) return moved(check_in, numero_notti)
  throw new CampiNonValidi(...NO_END)
}

/**
 * The stay after an update: `check_out` has precedence. `numero_notti` alone moves the departure, `check_in` alone does
 * not.
 * @throws CampiNonValidi
 */
export function changedStay (
  current: Stay,
  { check_in = current.check_in, check_out, numero_notti }: BookingUpdate
): Stay {
  if (check_out !== undefined) return ordered({ check_in, check_out })
  if (numero_notti !== undefined) return moved(check_in, numero_notti)
  return ordered({ check_in, check_out: current.check_out }, 'check_in')
}

/** Validation errors of a new booking's days. Values that are not a day or a number are skipped. */
export function newStayErrors (fields: Readonly<Record<string, unknown>>): FieldError[] {
  if (fields.check_out === undefined && fields.numero_notti === undefined) return [...NO_END]
  return givenStayErrors(fields)
}

/** Validation errors of the days in a change, before the stored days of the booking are read. */
export function givenStayErrors (
  { check_in, check_out, numero_notti }: Readonly<Record<string, unknown>>
): FieldError[] {
  if (!isGivenDay(check_in)) return []
  if (check_out !== undefined) return isGivenDay(check_out) ? orderErrors({ check_in, check_out }) : []
  return Number.isInteger(numero_notti) ? departureErrors(check_in, Number(numero_notti)) : []
}

function isGivenDay (value: unknown): value is Day {
  return typeof value === 'string' && isDay(value)
}

function ordered (stay: Stay, campo: keyof Stay = 'check_out'): Stay {
  refuse(orderErrors(stay, campo))
  return stay
}

function moved (check_in: Day, nights: number): Stay {
  refuse(departureErrors(check_in, nights))
  return { check_in, check_out: addDays(check_in, nights) }
}

function refuse (faults: readonly FieldError[]): void {
  if (faults.length > 0) throw new CampiNonValidi(...faults)
}

function orderErrors ({ check_in, check_out }: Stay, campo: keyof Stay = 'check_out'): FieldError[] {
  if (check_out <= check_in) {
    const [rule, given] = campo === 'check_out'
      ? [`dopo check_in, ${dayWithArticle('il', check_in)}`, check_out]
      : [`prima di check_out, ${dayWithArticle('il', check_out)}`, check_in]
    return [{ campo, messaggio: `deve essere ${rule} (ricevuto «${given}»)` }]
  }
  if (daysBetween(check_in, check_out) > MAX_BOOKED_NIGHTS) {
    return [{ campo, messaggio: `porta il soggiorno oltre ${MAX_BOOKED_NIGHTS} notti` }]
  }
  return []
}

/** A departure after the year 9999 is not a valid day. The schema rejects a number of nights out of bounds. */
function departureErrors (check_in: Day, nights: number): FieldError[] {
  if (nights < 1 || nights > MAX_BOOKED_NIGHTS || isDay(addDays(check_in, nights))) return []
  return [{ campo: 'numero_notti', messaggio: 'porta la partenza oltre il calendario' }]
}
