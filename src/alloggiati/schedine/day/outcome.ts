import type { SchedinaDellaGiornata } from '#schemas/giornata.ts'
import type { State } from '#schemas/submission.ts'
import { InvioFallito, type Cause } from '../../errors.ts'
import type { RowResult } from '../../ledger/sending/worker.ts'
import { isUnderWay } from '../submission.ts'
import { remark, type DayBooking } from './look.ts'

/** What became of a booking's guests in one submission; `ospite` is the index into the booking's guests. */
export interface Outcome {
  ricevuta: string
  stato: State
  causa?: Cause
  rows: readonly (Omit<RowResult, 'indice'> & { ospite: number })[]
}

/** Tells of a booking what became of its guests in one submission, beside those before. */
export function addOutcome (booking: DayBooking, { ricevuta, stato, causa, rows }: Outcome): void {
  const underWay = isUnderWay(stato) || booking.stato === 'in_corso'
  booking.ricevute = [...booking.ricevute, ricevuta]
  booking.schedine = [...booking.schedine, ...rows.map(toldOf)]
  booking.stato = stateOf(booking.schedine, underWay)
  const isCancelled = stato === 'annullato'
  const why = new InvioFallito(causa ?? (isCancelled ? 'INVIO_ANNULLATO' : 'NON_INVIATO')).message
  if (booking.stato === 'non_inviata') notSent(booking, why)
  // Their outcome stays unknown.
  else if (isCancelled) booking.errors = [...booking.errors, remark(0, 'ospiti', why)]
}

function toldOf ({ ospite, esito, codice_errore, messaggio_soap, dettaglio }: Outcome['rows'][number]) {
  return {
    ospite,
    esito,
    codice_errore: codice_errore ?? '',
    messaggio_soap: messaggio_soap ?? '',
    dettaglio: dettaglio ?? ''
  } satisfies SchedinaDellaGiornata
}

/** How a booking stands by the rows that were sent of it. */
function stateOf (rows: readonly SchedinaDellaGiornata[], underWay: boolean): DayBooking['stato'] {
  const some = (...outcomes: SchedinaDellaGiornata['esito'][]) => rows.some(({ esito }) => outcomes.includes(esito))
  if (some('in_corso') && underWay) return 'in_corso'
  // Not under way, and nothing known for good: a person decides.
  if (some('in_corso', 'sconosciuta')) return 'sconosciuta'
  if (!some('rifiutata', 'non_inviata', 'annullata')) return 'acquisita'
  if (some('acquisita', 'depositata')) return 'parziale'
  return some('rifiutata') ? 'rifiutata' : 'non_inviata'
}

export function notSent (booking: DayBooking, why: string): void {
  booking.stato = 'non_inviata'
  booking.errors = [remark(0, 'ospiti', why)]
}
