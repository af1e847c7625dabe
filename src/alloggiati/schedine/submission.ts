import type { EsitoSchedina, InvioResponse, InvioBody } from '#schemas/alloggiati.ts'
import { ACQUIRED_STATES, isDecidable, isUnderWay, type State } from '#schemas/submission.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { staysById, bookingExists, staysByArrival } from '#src/bookings/index.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { inRome } from '#src/lib/time.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { RecordSchedina } from '../codec/layout.ts'
import { filingDeadline } from '../deadlines.ts'
import { InvioFallito } from '../errors.ts'
import { compareStay } from '../ledger/coverage.ts'
import { announce, type LedgerContext } from '../ledger/ledger-context.ts'
import { makeTestCall } from '../ledger/sending/police-call.ts'
import type { Submission } from '../ledger/reserve.ts'
import { readRetryTimes } from '../ledger/read-ledger.ts'
import { departureOf, guestsOfNight } from '../ledger/stay-nights.ts'
import { checkSuspension } from '../ledger/suspension.ts'
import { overlapRemarks } from '../ledger/overlaps.ts'
import { type RowResult, type SubmissionResult, readResult } from '../ledger/sending/carry-out.ts'
import { describeWaiting, SchedineInCorso } from '../sent-errors.ts'
import { methodFor } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { concernsCaller } from '../service/police-faults.ts'
import { failureText } from '../service/soap/errors.ts'
import { chooseAccount, type Chosen } from '../accounts/choose-account.ts'
import { accept, accountFor, type Accepted, type Order, type SchedineContext } from './accept-schedine.ts'
import { follow, type Requester, reserveInTime } from './requester.ts'
import { eq } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import type { Executor } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { foldName, nameKey } from '../codec/folding.ts'

/**
 * Validates a list of guests and sends it to the police, or makes a dry run in test mode. A Send without a result in
 * time continues in the background, and the response says that it is in progress.
 * @throws InvioFallito, CampiNonValidi, and errors of `reserveInTime`
 */
export async function submit (
  context: SchedineContext,
  body: InvioBody & Pick<Order, 'indices' | 'avvisi' | 'versions' | 'nights' | 'dal'>,
  author: Author,
  requester: Requester
): Promise<InvioResponse> {
  const { motivo } = body
  const confirmation = motivo === undefined ? undefined : { motivo }
  const named = await accountFor(context, body)
  const accepted = await withOverlaps(context, await accept(context, body, named))
  // A test call registers nothing, so its booking need not exist.
  const isTest = body.testMode === true && accepted.stay.id !== undefined
  const { ledger, prenotazione_id } = isTest
    ? { ledger: requireLedger(named), prenotazione_id: null }
    : await tieToBooking(context, accepted, named)
  if (body.testMode !== true) {
    return send(ledger, { ...accepted, prenotazione_id, confirmation }, author, requester)
  }
  const response = await dryRun(ledger.service, accepted)
  requester.end()
  return response
}

/** Adds a warning for each guest of a booking who was sent for another booking with nights in common. */
async function withOverlaps ({ accounts, keys, mode }: SchedineContext, accepted: Accepted): Promise<Accepted> {
  const { stay, records, indices, warnings } = accepted
  if (stay.id === undefined) return accepted
  const found = await overlapRemarks({ db: accounts.base.db, keys, mode }, stay.id, records)
  const numbered = found.map((each) => ({ ...each, ospite: indices?.[each.ospite] ?? each.ospite }))
  return { ...accepted, warnings: [...warnings, ...numbered] }
}

/**
 * Finds the booking of accepted guests, and the ledger of its account.
 * @param named the account that the request names
 * @throws CampiNonValidi, InvioFallito when the guests have no account
 */
export async function tieToBooking (
  { accounts }: SchedineContext, { stay, records }: Pick<Accepted, 'stay' | 'records'>, named: Chosen
): Promise<{ ledger: LedgerContext, prenotazione_id: number | null }> {
  const { db } = accounts.base
  const prenotazione_id = await findBooking(db, stay, records[0]!)
  const chosen = stay.id === prenotazione_id
    ? named
    : await chooseAccount(accounts, db, { booking: prenotazione_id, establishment: stay.struttura_id })
  return { ledger: requireLedger(chosen), prenotazione_id }
}

/** @throws the error of guests without an account */
function requireLedger ({ ledger, error }: Chosen): LedgerContext {
  if (ledger === null) throw error
  return ledger
}

/** Makes only the test call: neither the service nor the ledger registers anything. */
async function dryRun (
  service: PoliceService, { lines, stay, warnings, indices }: Accepted
): Promise<InvioResponse> {
  const { id_appartamento } = stay
  const testCall = await makeTestCall(service, { lines, id_appartamento }, { signal: service.responseDeadline() })
  const { verdict } = testCall!
  if (verdict.stato !== 'acquisito') {
    const schedine = verdict.schedine.map((row, at) => ({ ...row, indice: indices?.[at] ?? at }))
    throw failure({ ...verdict, schedine }, 'valida')
  }
  return {
    success: true,
    message: countWithNoun(lines.length, 'schedina valida', 'schedine valide') +
      ': nessuna registrazione, era una prova',
    ricevuta: '',
    dettagli: { schedine_inviate: lines.length, metodo: methodFor(true, id_appartamento), prenotazione_id: null },
    ...warnings.length === 0 ? {} : { avvisi: [...warnings] }
  }
}

async function send (
  ledger: LedgerContext,
  { stay, warnings, confirmation, prenotazione_id, ...accepted }: Accepted &
    Pick<Submission, 'confirmation' | 'prenotazione_id'>,
  { actor: operatore, ip }: Author,
  requester: Requester
): Promise<InvioResponse> {
  const { db, service } = ledger
  const { records } = accepted
  // Checked before any write, because a submission cannot be sent during a suspension.
  if (await checkSuspension(ledger)) throw new InvioFallito('INVII_SOSPESI')
  const metodo = methodFor(false, stay.id_appartamento)
  const { id, ricevuta } = await reserveInTime(ledger, {
    account: service.account,
    operatore,
    ip,
    metodo,
    ...accepted,
    id_appartamento: stay.id_appartamento,
    prenotazione_id,
    confirmation
  }, requester)
  requester.locate(id)
  announce('reserved', id)
  const result = await follow(ledger, { id, ricevuta }, requester)
  if (result === undefined || isUnderWay(result.stato)) {
    requester.leaveOpen()
    requester.confirmAsync()
    const until = (await readRetryTimes(db, [ricevuta])).get(ricevuta)
    const reason = until && describeWaiting(until)
    throw new InvioFallito('INVIO_IN_CORSO', { ricevuta, reason }, requester.isAsync ? 202 : 422)
  }
  closeIfDecided(requester, result.stato)
  const response = responseOf(result, { ricevuta, metodo, prenotazione_id })
  const others = prenotazione_id === null ? [] : await othersOf(ledger, prenotazione_id, records[0]!)
  const avvisi = [...warnings, ...others]
  return avvisi.length === 0 ? response : { ...response, avvisi }
}

/** A warning if fewer guests are declared for the first night than are present in that night. */
async function othersOf (
  { db, keys, mode, clock }: LedgerContext, id: number, { data_arrivo, permanenza }: RecordSchedina
): Promise<Segnalazione[]> {
  const [stay] = await staysById(db, [id])
  // The booking may have been deleted or moved meanwhile. The result is reported anyway.
  if (stay === undefined || data_arrivo < stay.check_in || data_arrivo >= departureOf(stay)) return []
  const compared = await compareStay({ db, keys, mode, today: clock.today() }, stay)
  const { present, declared } = guestsOfNight(compared, data_arrivo)
  if (declared >= present) return []
  const share = `${countWithNoun(declared, 'ospite', 'ospiti')} su ${present} della prenotazione`
  const others = present - declared === 1 ? 'l’altro va inviato' : 'gli altri vanno inviati'
  const deadline = inRome(filingDeadline(data_arrivo, permanenza))
  return [{ ospite: 0, campo: 'ospiti', messaggio: `${share}: ${others} entro ${deadline}` }]
}

/** An unknown outcome is not final: a receipt or a person settles it later. */
function closeIfDecided (requester: Requester, stato: State): void {
  if (isDecidable(stato)) requester.leaveOpen()
  else requester.end()
}

/**
 * The response for a submission that is not in progress.
 * @throws InvioFallito when not all guests were acquired
 */
function responseOf (
  result: SubmissionResult,
  { ricevuta, metodo, prenotazione_id }: { ricevuta: string, metodo: string, prenotazione_id: number | null }
): InvioResponse {
  const isElsewhere = result.stato === 'depositato_altrove'
  if (!isElsewhere && !ACQUIRED_STATES.some((stato) => stato === result.stato)) {
    throw failure(result, 'acquisita', { ricevuta })
  }
  const { length } = result.schedine
  const [one, many] = isElsewhere ? ELSEWHERE : ACQUIRED
  return {
    success: true,
    message: countWithNoun(length, one, many),
    ricevuta,
    dettagli: { schedine_inviate: length, metodo, prenotazione_id }
  }
}

const ACQUIRED = ['schedina acquisita', 'schedine acquisite'] as const
const ELSEWHERE = ['schedina comunicata per altra via', 'schedine comunicate per altra via'] as const

/** @param accepted the outcome to report for a row that the service accepted */
function failure (
  { stato, causa, errore, schedine }: SubmissionResult,
  accepted: EsitoSchedina['esito'],
  reference: { ricevuta?: string } = {}
): InvioFallito {
  const messaggio_soap = failureText(errore ?? '')
  if (stato === 'non_inviato') {
    const cause = concernsCaller(messaggio_soap) ? 'CREDENZIALI_RIFIUTATE' : causa ?? 'NON_INVIATO'
    return new InvioFallito(cause, { messaggio_soap, ...reference })
  }
  if (stato === 'annullato') return new InvioFallito('INVIO_ANNULLATO', { messaggio_soap, ...reference })
  if (stato !== 'rifiutato' && stato !== 'parziale') {
    return new InvioFallito('ESITO_SCONOSCIUTO', { messaggio_soap, ...reference })
  }
  const refused = schedine.filter(({ esito }) => esito === 'rifiutata')
  // A row that was excluded because of another row has no error code from the service.
  const first = refused.find(({ codice_errore: code }) => code) ?? refused[0]!
  const { messaggio_soap: name, dettaglio } = serviceTexts(first)
  const why = [name, dettaglio].filter((text) => text !== '').join(': ')
  const reason = `ospite ${first.indice + 1}: ${why}`
  return new InvioFallito('SCHEDINE_RIFIUTATE', {
    codice_errore: first.codice_errore ?? '',
    messaggio_soap: reason,
    reason,
    schedine: schedine.map((row) =>
      ({ ospite: row.indice, esito: row.esito === 'acquisita' ? accepted : 'rifiutata', ...serviceTexts(row) })),
    ...reference
  })
}

const TO_CHOOSE = ': indicare un id_appartamento fra quelli di GET /api/v1/appartamenti'

/** The service's texts about a row. For an apartment that the service does not know, advice is added. */
export function serviceTexts ({ codice_errore, messaggio_soap, dettaglio }: Omit<RowResult, 'indice'>) {
  const advice = /appartamento/i.test(dettaglio ?? '') ? TO_CHOOSE : ''
  return {
    codice_errore: codice_errore ?? '', messaggio_soap: messaggio_soap ?? '', dettaglio: `${dettaglio ?? ''}${advice}`
  }
}

/**
 * Responds to a repeated request with the current state of the submission that the first request created.
 * @throws SchedineInCorso while the submission is in progress, InvioFallito
 */
export async function respondToRepeat (db: Executor, ricevuta: string, requester: Requester): Promise<InvioResponse> {
  const { id, metodo, prenotazione_id } = invii
  const [found] = await db.select({ id, metodo, prenotazione_id }).from(invii).where(eq(invii.ricevuta, ricevuta))
  const { id: submission, ...fields } = found!
  requester.locate(submission)
  const result = await readResult(db, submission)
  if (isUnderWay(result.stato)) {
    requester.leaveOpen()
    const waiting = await readRetryTimes(db, [ricevuta])
    throw new SchedineInCorso(ricevuta, result.stato, { waitsUntil: waiting.get(ricevuta) })
  }
  closeIfDecided(requester, result.stato)
  return responseOf(result, { ricevuta, ...fields })
}

/**
 * Finds the booking of a submission: the given one, else the only confirmed booking with the same arrival and the
 * list's first guest as main guest. Null if no booking or several match.
 * @throws CampiNonValidi when the given booking does not exist
 */
async function findBooking (
  db: Executor, { id, check_in }: Accepted['stay'], { data_arrivo, cognome, nome }: RecordSchedina
): Promise<number | null> {
  if (id !== undefined) {
    if (!await bookingExists(db, id)) {
      const messaggio = `non esiste una prenotazione ${id}: prenderlo da GET /api/v1/prenotazioni`
      throw new CampiNonValidi({ campo: 'prenotazione.id', messaggio })
    }
    return id
  }
  // The main guest may arrive later than the booking.
  const arrival = check_in?.trim() ?? data_arrivo
  const arrivals = await staysByArrival(db, { from: arrival, to: arrival, confirmed: true })
  const key = nameKey(cognome, nome)
  const matching = arrivals.filter(({ nome_cognome }) =>
    nameKey(nome_cognome, '') === key && foldName(nome_cognome).refused === ''
  )
  return matching.length === 1 ? matching[0]!.id : null
}
