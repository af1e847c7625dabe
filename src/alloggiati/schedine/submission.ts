import type { EsitoSchedina, InvioAnswer, InvioBody } from '#schemas/alloggiati.ts'
import { counted } from '#src/lib/counted.ts'
import type { Author } from '#src/plugins/audit/log.ts'
import { InvioFallito } from '../errors.ts'
import { announce, type LedgerContext } from '../ledger/context.ts'
import { logIn, rehearse } from '../ledger/handover.ts'
import { reserve, type Submission } from '../ledger/reserve.ts'
import { carryOut, type RowResult, type SubmissionResult } from '../ledger/worker.ts'
import { methodFor } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { accept, type Accepted, type SchedineContext } from './accept.ts'
import { findBooking } from './booking-match.ts'
import { confirmationOf } from './confirmation.ts'

/**
 * Checks a list of guests and hands it to the police: a dry run in test mode, else for good.
 * @param author who asks
 * @throws InvioFallito, SchedineGiaInviate, CampiNonValidi, RegistroNonDisponibile
 */
export async function submit (context: SchedineContext, body: InvioBody, author: Author): Promise<InvioAnswer> {
  const confirmation = confirmationOf(body)
  const accepted = await accept(context, body)
  if (context.ledger === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
  return body.testMode === true
    ? await dryRun(context.ledger.service, accepted)
    : await send(context.ledger, accepted, author, confirmation)
}

/** A Test alone: neither the service nor the ledger registers anything. */
async function dryRun (service: PoliceService, { lines, stay }: Accepted): Promise<InvioAnswer> {
  const { id_appartamento } = stay
  const handover = { lines, id_appartamento }
  const { token, refused } = await logIn(service, handover)
  const verdict = refused ?? await rehearse(service, token, handover)
  if (verdict.stato !== 'acquisito') {
    const schedine = verdict.schedine.map((row, indice) => ({ ...row, indice }))
    throw failure({ ...verdict, schedine }, 'valida')
  }
  return {
    success: true,
    message: `${counted(lines.length, 'schedina valida', 'schedine valide')}: nessuna registrazione, era una prova`,
    ricevuta: '',
    dettagli: { schedine_inviate: lines.length, metodo: methodFor(true, id_appartamento), prenotazione_id: null }
  }
}

async function send (
  ledger: LedgerContext,
  { stay, ...accepted }: Accepted,
  { actor: operatore, ip }: Author,
  confirmation: Submission['confirmation']
): Promise<InvioAnswer> {
  const { db, service, log } = ledger
  const { records, lines } = accepted
  const prenotazione_id = await findBooking(db, stay.id, records[0]!)
  const metodo = methodFor(false, stay.id_appartamento)
  const { id, ricevuta } = await reserve(ledger, {
    account: service.account,
    operatore,
    ip,
    metodo,
    ...accepted,
    id_appartamento: stay.id_appartamento,
    prenotazione_id,
    confirmation
  })
  announce('reserved', id)
  let result: SubmissionResult
  try {
    result = await carryOut(ledger, id, true)
  } catch (err) {
    // What was written before still stands; the sweep carries it on.
    log.error({ err, ricevuta }, 'a submission could not be followed to its end')
    throw new InvioFallito('ESITO_SCONOSCIUTO', { ricevuta })
  }
  if (result.stato !== 'acquisito') throw failure(result, 'acquisita', { ricevuta })
  return {
    success: true,
    message: counted(lines.length, 'schedina acquisita', 'schedine acquisite'),
    ricevuta,
    dettagli: { schedine_inviate: lines.length, metodo, prenotazione_id }
  }
}

/** @param accepted what is told of a row that the service took */
function failure (
  { stato, causa, errore, schedine }: SubmissionResult,
  accepted: EsitoSchedina['esito'],
  reference: { ricevuta?: string } = {}
): InvioFallito {
  const messaggio_soap = errore ?? ''
  if (stato === 'non_inviato') {
    return new InvioFallito(causa ?? 'SERVIZIO_NON_RAGGIUNGIBILE', { messaggio_soap, ...reference })
  }
  if (stato !== 'rifiutato' && stato !== 'parziale') {
    return new InvioFallito('ESITO_SCONOSCIUTO', { messaggio_soap, ...reference })
  }
  const first = schedine.find(({ esito }) => esito === 'rifiutata')!
  return new InvioFallito('SCHEDINE_RIFIUTATE', {
    codice_errore: first.codice_errore ?? '',
    messaggio_soap: [first.messaggio_soap, first.dettaglio].filter(Boolean).join(': '),
    schedine: schedine.map((row) => toldOf(row, accepted)),
    ...reference
  })
}

function toldOf (row: RowResult, accepted: EsitoSchedina['esito']): EsitoSchedina {
  return {
    ospite: row.indice,
    esito: row.esito === 'acquisita' ? accepted : 'rifiutata',
    codice_errore: row.codice_errore ?? '',
    messaggio_soap: row.messaggio_soap ?? '',
    dettaglio: row.dettaglio ?? ''
  }
}
