import type { Segnalazione } from '#schemas/schedina.ts'
import { FILED_STATES, isUnderWay, isUnresolved, type RowOutcome, type State } from '#schemas/submission.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import type { BookingRow, Conflict } from '../../ledger/conflicts.ts'
import type { Guest } from '../../ledger/fingerprints.ts'
import { namedReceipts } from '../../sent-errors.ts'

interface Sent { ricevuta: string, esito: RowOutcome }

function isOpen ({ esito }: Sent): boolean {
  return isUnresolved(esito)
}

export const LEFT_OUT = 'La prenotazione è stata inviata in parte: inviare il resto con solo_mancanti'

export const ALONE = 'la prenotazione va inviata da sola, con una conferma'

/** The text about sent rows that match none of the saved guests. */
export function changedText (unmatched: readonly Sent[]): string {
  const perhaps = unmatched.some(isOpen) ? 'forse ' : ''
  return `Con ${namedReceipts(referencesOf(unmatched))} sono stati inviati ospiti ora non fra quelli salvati: se ` +
    `sono stati corretti, ${perhaps}sono già comunicati; altrimenti ${ALONE}`
}

/** Texts about rows sent with another arrival: the booking was moved, or guests arrived on another day. */
export function movedTexts (before: readonly BookingRow[], guests: readonly Guest[]): string[] {
  const moved = before.filter(({ data_arrivo }) => data_arrivo !== guests[0]?.data_arrivo)
  return [...Map.groupBy(moved, ({ data_arrivo }) => data_arrivo)].map(([day, rows]) => {
    const sent = rows.some(isOpen) ? 'Già inviata, o di esito sconosciuto,' : 'Già inviata'
    const arrival = `l’arrivo ${dayWithArticle('del', day)}`
    return `${sent} con ${arrival} (${namedReceipts(referencesOf(rows))}): per comunicare anche questo ` +
      `arrivo ${ALONE}`
  })
}

/**
 * The remark on a guest who may have been sent before.
 * @param confirmable whether a confirmation lifts the conflict, because the guest may be another person
 * @param twinOf the booking of another unsent guest of the day with the same data
 */
export function conflictRemark (
  { ospite, ricevuta, stato, motivo }: Conflict['duplicate'], confirmable: boolean, twinOf: number | undefined
): Segnalazione {
  const [campo, what]: [string, string] =
    motivo === 'stessa_persona' ? ['cognome', 'Stessa persona'] : ['numero_documento', 'Stesso documento']
  const where = ricevuta === null
    ? `di un altro ospite della giornata (prenotazione ${twinOf})`
    : `della ricevuta ${ricevuta}`
  const double = stato === null
    ? 'una delle due prenotazioni è forse un doppione'
    : `${statusOf(stato)}, e questa prenotazione è forse un doppione`
  return remark(ospite, campo, `${what} ${where}: ${confirmable ? ALONE : double}`)
}

/** Describes a live row by the state of its submission. */
function statusOf (stato: State): string {
  if (isUnderWay(stato)) return 'è in corso di invio'
  const isAcquired = [...FILED_STATES, 'parziale'].some((each) => each === stato)
  return isAcquired ? 'è già comunicata' : 'è di esito sconosciuto'
}

/** A remark on one guest. `ospite` is the index in the checked list, and 0 for a remark on the booking. */
export function remark (ospite: number, campo: string, messaggio: string): Segnalazione {
  return { ospite, campo, messaggio }
}

export function referencesOf (rows: readonly { ricevuta: string }[]): string[] {
  return [...new Set(rows.map(({ ricevuta }) => ricevuta))]
}
