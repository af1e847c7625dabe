import type { EsitoSchedina, InvioResponse } from '#schemas/alloggiati.ts'
import type { ErrorBody, FieldError } from '#schemas/common.ts'
import type { Segnalazione } from '#schemas/schedina.ts'

/** The result of a test call, or the refusal of a Send, as the page of the booking shows it. */
export interface PoliceResult {
  passed?: InvioResponse
  refusal?: ErrorBody
  /** The remarks about guests: errors of the rules, and results of the service. */
  remarks: readonly Segnalazione[]
  /** Errors of the confirmation. */
  fields: readonly FieldError[]
}

export function passedResult (passed: InvioResponse): PoliceResult {
  // The rules derive the province from the comune, and warn about each guest born in Italy. The page omits that.
  const remarks = (passed.avvisi ?? []).filter(({ campo }) => campo !== 'provincia_nascita')
  return { passed, remarks, fields: [] }
}

type FailedSend = ErrorBody & { errors?: Segnalazione[], schedine?: EsitoSchedina[] }

export function refusedResult (refusal: ErrorBody): PoliceResult {
  const { errors = [], schedine = [] } = refusal as FailedSend
  const { dettagli } = refusal
  const rows = schedine.filter(({ esito }) => esito === 'rifiutata').map(remarkOf)
  return { refusal, remarks: [...errors, ...rows], fields: Array.isArray(dettagli) ? dettagli : [] }
}

function remarkOf ({ ospite, messaggio_soap: text, dettaglio }: EsitoSchedina): Segnalazione {
  return { ospite, campo: '', messaggio: [text, dettaglio].filter((part) => part !== '').join(': ') }
}

/** The refusals that a person may lift with a reason, by code. */
const CONFIRMABLE = ['SCHEDINE_GIA_INVIATE', 'OSPITI_OLTRE_LA_PRENOTAZIONE', 'OSPITI_CAMBIATI']

/** Whether a person may send anyway with a reason. An invalid `motivo` or the text of the refusal shows it. */
export function isConfirmable ({ refusal, fields }: PoliceResult): boolean {
  if (refusal === undefined) return false
  if (fields.some(({ campo }) => campo === 'motivo')) return true
  return CONFIRMABLE.includes(refusal.codice) && refusal.error.includes('confermo_diverso')
}

/** Whether the other guests of the booking can be sent. */
export function hasOthersLeft ({ refusal }: PoliceResult): boolean {
  return refusal?.error.includes('solo_mancanti') ?? false
}
