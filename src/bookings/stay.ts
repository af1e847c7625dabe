import { LONGEST_STAY, type BookingCreation, type BookingUpdate } from '#schemas/booking.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { addDays, daysBetween, isDay, type Day } from '#src/lib/time.ts'

export interface Stay { check_in: Day, check_out: Day }

/** The stay of a new booking: `check_out` wins over `numero_notti`; one of the two is needed. */
export function newStay ({
  check_in,
  check_out,
  numero_notti
}: Pick<BookingCreation, 'check_in' | 'check_out' | 'numero_notti'>): Stay {
  if (check_out !== undefined) return ordered({ check_in, check_out })
  if (numero_notti !== undefined) return moved(check_in, numero_notti)
  throw new CampiNonValidi(
    { campo: 'check_out', messaggio: 'è obbligatorio se manca numero_notti' },
    { campo: 'numero_notti', messaggio: 'è obbligatorio se manca check_out' }
  )
}

/** The stay after an update: `check_out` wins, `numero_notti` alone moves the departure, `check_in` alone leaves it. */
export function changedStay (
  current: Stay,
  { check_in = current.check_in, check_out, numero_notti }: BookingUpdate
): Stay {
  if (check_out !== undefined) return ordered({ check_in, check_out })
  if (numero_notti !== undefined) return moved(check_in, numero_notti)
  return ordered({ check_in, check_out: current.check_out }, 'check_in')
}

function ordered (stay: Stay, campo: keyof Stay = 'check_out'): Stay {
  if (stay.check_out <= stay.check_in) {
    throw new CampiNonValidi({
      campo,
      messaggio: campo === 'check_out' ? 'deve essere dopo check_in' : 'deve essere prima di check_out'
    })
  }
  if (daysBetween(stay.check_in, stay.check_out) > LONGEST_STAY) {
    throw new CampiNonValidi({ campo, messaggio: `porta il soggiorno oltre ${LONGEST_STAY} notti` })
  }
  return stay
}

function moved (check_in: Day, nights: number): Stay {
  const check_out = addDays(check_in, nights)
  // Beyond the year 9999 it is no longer a day.
  if (!isDay(check_out)) {
    throw new CampiNonValidi({ campo: 'numero_notti', messaggio: 'porta la partenza oltre il calendario' })
  }
  return { check_in, check_out }
}
