import type { EsitoSchedina, InvioAnswer, InvioBody } from '#schemas/alloggiati.ts'
import { counted } from '#src/lib/counted.ts'
import type { Author } from '#src/plugins/audit/log.ts'
import { accept, type Accepted, type Desk } from './accept.ts'
import { deliver, methodFor } from '../service/calls.ts'
import { InvioFallito } from '../errors.ts'
import { classifyFailure, classifyLogin, classifyReply } from '../ledger/classify.ts'
import { reached, type LedgerContext } from '../ledger/context.ts'
import { reserve } from '../ledger/reserve.ts'
import { carryOut, type Outcome } from '../ledger/worker.ts'
import type { PoliceService } from '../service/police-service.ts'
import { bookingOf } from './booking-match.ts'

/**
 * Checks a list of guests and hands it to the police: a dry run in test mode, else for good.
 * @param author who asks
 * @throws InvioFallito, SchedineGiaInviate, CampiNonValidi, RegistroNonDisponibile
 */
export async function submit (desk: Desk, body: InvioBody, author: Author): Promise<InvioAnswer> {
  const accepted = await accept(desk, body)
  if (desk.ledger === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
  return body.testMode === true
    ? await rehearse(desk.ledger.service, accepted)
    : await send(desk.ledger, accepted, author)
}

async function rehearse (service: PoliceService, { lines, stay }: Accepted): Promise<InvioAnswer> {
  const metodo = methodFor(true, stay.id_appartamento)
  const verdict = await service.token.get().then(
    (token) => deliver(service, metodo, token, lines)
      .then((reply) => classifyReply(reply, lines.length), (err) => classifyFailure(err, lines.length)),
    (err) => classifyLogin(err, lines.length)
  )
  const schedine = verdict.schedine.map((row, indice) => ({ ...row, indice }))
  if (verdict.stato !== 'acquisito') {
    // A dry run without a usable answer leaves nothing in doubt: it registers nothing.
    const causa = verdict.stato === 'sconosciuto' ? 'SERVIZIO_NON_RAGGIUNGIBILE' : verdict.causa
    throw failure(
      {
        stato: verdict.stato === 'sconosciuto' ? 'non_inviato' : verdict.stato,
        schedine,
        causa,
        errore: verdict.errore
      },
      true
    )
  }
  return {
    success: true,
    message: `${counted(lines.length, 'schedina valida', 'schedine valide')}: nessuna registrazione, era una prova`,
    ricevuta: '',
    dettagli: { schedine_inviate: lines.length, metodo, prenotazione_id: null }
  }
}

async function send (
  ledger: LedgerContext,
  { records, lines, capi, stay }: Accepted,
  { actor: operatore, ip }: Author
): Promise<InvioAnswer> {
  const { db, service, log } = ledger
  const prenotazione_id = await bookingOf(db, stay.id, records[0]!)
  const metodo = methodFor(false, stay.id_appartamento)
  const { id_appartamento } = stay
  const submission = {
    account: service.account,
    operatore,
    ip,
    metodo,
    records,
    lines,
    capi,
    id_appartamento,
    prenotazione_id
  }
  const { id, ricevuta } = await reserve(ledger, submission)
  reached('reserved', id)
  let outcome: Outcome
  try {
    outcome = await carryOut(ledger, id, true)
  } catch (err) {
    // What was written before still stands; the sweep settles it.
    log.error({ err, ricevuta }, 'a submission could not be followed to its end')
    throw new InvioFallito('ESITO_SCONOSCIUTO', { ricevuta })
  }
  if (outcome.stato !== 'acquisito') throw failure(outcome, false, ricevuta)
  return {
    success: true,
    message: counted(lines.length, 'schedina acquisita', 'schedine acquisite'),
    ricevuta,
    dettagli: { schedine_inviate: lines.length, metodo, prenotazione_id }
  }
}

function failure ({ stato, causa, errore, schedine }: Outcome, test: boolean, ricevuta?: string): InvioFallito {
  const reference = ricevuta === undefined ? {} : { ricevuta }
  if (stato === 'non_inviato') {
    return new InvioFallito(causa ?? 'SERVIZIO_NON_RAGGIUNGIBILE', { messaggio_soap: errore ?? '', ...reference })
  }
  if (stato !== 'rifiutato' && stato !== 'parziale') {
    return new InvioFallito('ESITO_SCONOSCIUTO', { messaggio_soap: errore ?? '', ...reference })
  }
  const first = schedine.find(({ esito }) => esito === 'rifiutata')
  return new InvioFallito('SCHEDINE_RIFIUTATE', {
    codice_errore: first?.codice_errore ?? '',
    messaggio_soap: [first?.messaggio_soap, first?.dettaglio].filter(Boolean).join(': '),
    schedine: schedine.map(({ indice, esito, codice_errore, messaggio_soap, dettaglio }): EsitoSchedina => ({
      ospite: indice,
      esito: esito === 'acquisita' ? test ? 'valida' : 'acquisita' : 'rifiutata',
      codice_errore: codice_errore ?? '',
      messaggio_soap: messaggio_soap ?? '',
      dettaglio: dettaglio ?? ''
    })),
    ...reference
  })
}
