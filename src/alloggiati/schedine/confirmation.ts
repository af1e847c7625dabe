import type { InvioBody } from '#schemas/alloggiati.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'

/**
 * A person's word that the guests are others than those sent before, or more than the booking says.
 * @throws CampiNonValidi when the word comes without its reason, or the reason without the word
 */
export function confirmationOf (
  { confermo_diverso = false, motivo }: Pick<InvioBody, 'confermo_diverso' | 'motivo'>
): { motivo: string } | undefined {
  if (confermo_diverso !== (motivo !== undefined)) {
    throw new CampiNonValidi(
      confermo_diverso
        ? { campo: 'motivo', messaggio: 'è obbligatorio con confermo_diverso' }
        : { campo: 'confermo_diverso', messaggio: 'deve essere true se si dà un motivo' }
    )
  }
  return motivo === undefined ? undefined : { motivo }
}
