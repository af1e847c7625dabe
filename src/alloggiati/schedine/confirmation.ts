import type { FieldError } from '#schemas/common.ts'

/**
 * A person says that the guests are others than those sent before, or more than the booking says, and why: the word
 * does not come without its reason, nor the reason without the word.
 */
export function confirmationFaults (
  { confermo_diverso = false, motivo }: Readonly<Record<string, unknown>>
): FieldError[] {
  if (typeof confermo_diverso !== 'boolean' || confermo_diverso === (motivo !== undefined)) return []
  return [
    motivo === undefined
      ? { campo: 'motivo', messaggio: 'è obbligatorio con confermo_diverso' }
      : { campo: 'confermo_diverso', messaggio: 'deve essere true se si dà un motivo' }
  ]
}

/** A list of guests says for which stay. */
export function stayGivenFaults ({ prenotazione, soggiorno }: Readonly<Record<string, unknown>>): FieldError[] {
  if (prenotazione !== undefined || soggiorno !== undefined) return []
  return [{ campo: 'prenotazione', messaggio: 'è obbligatorio se manca soggiorno' }]
}
