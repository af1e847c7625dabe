import type { FieldError } from '#schemas/common.ts'
import { isDay, type Day } from '#src/lib/time.ts'
import type { RequestFields } from '#src/http/faults.ts'

/** What is wrong with the fields of a scan together, or today. */
export function scanFaults ({ body }: Pick<RequestFields, 'body'>, today: Day): FieldError[] {
  const { birthDate, prenotazione_id: booking, guest_idx: guest } = body
  const isBornLater = typeof birthDate === 'string' && isDay(birthDate) && birthDate > today
  return [
    ...(isBornLater ? [{ campo: 'birthDate', messaggio: 'è nel futuro' }] : []),
    ...(booking !== undefined && guest === undefined ? [missing('guest_idx', 'prenotazione_id')] : []),
    ...(booking === undefined && guest !== undefined ? [missing('prenotazione_id', 'guest_idx')] : [])
  ]
}

function missing (campo: string, other: string): FieldError {
  return { campo, messaggio: `è obbligatorio con ${other}` }
}
