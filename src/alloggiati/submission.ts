import type { FastifyBaseLogger } from 'fastify'
import type { EsitoSchedina, InvioAnswer, InvioBody } from '#schemas/alloggiati.ts'
import type { Soggiorno } from '#schemas/schedina.ts'
import { CampiNonValidi } from '#src/errors.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { Clock } from '#src/time.ts'
import { deliver, methodFor, type Method } from './calls.ts'
import { encode, type RecordSchedina } from './codec/codec.ts'
import { InvioFallito } from './errors.ts'
import { classifyFailure, classifyLogin, classifyReply, type SendReply, type Verdict } from './ledger/classify.ts'
import type { Ledger, Reserved } from './ledger/ledger.ts'
import { validate } from './rules/validate.ts'
import type { PoliceService } from './service.ts'
import type { Tables } from './tables/tables.ts'
import { bookingOf } from './tie.ts'

/** What a submission works with. */
export interface Desk {
  db: Database
  ledger: Ledger
  service: PoliceService | null
  clock: Clock
  log: FastifyBaseLogger
  tables (): Promise<Tables>
}

/** A request that passed the rules: records, and the same records as rows. */
interface Accepted {
  records: RecordSchedina[]
  lines: string[]
  stay: Soggiorno
  method: Method
}

/**
 * Checks a list of guests and hands it to the police: a dry run in test mode, else for good.
 * @throws InvioFallito, SchedineGiaInviate, CampiNonValidi
 */
export async function submit (desk: Desk, body: InvioBody): Promise<InvioAnswer> {
  const accepted = await accept(desk, body)
  if (desk.service === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
  return body.testMode === true ? await rehearse(desk.service, accepted) : await send(desk, desk.service, accepted)
}

async function accept ({ tables, clock }: Desk, { ospiti, prenotazione, soggiorno, testMode = false }: InvioBody): Promise<Accepted> {
  if (prenotazione === undefined && soggiorno === undefined) throw new CampiNonValidi({ campo: 'prenotazione', messaggio: 'è obbligatorio se manca soggiorno' })
  const stay = { ...soggiorno, ...prenotazione }
  const fileUnico = stay.id_appartamento !== undefined
  const { errors, records } = validate({ ospiti, soggiorno: stay, tables: await tables(), today: clock.today(), fileUnico })
  if (records === null) throw new InvioFallito('VALIDAZIONE', { messaggio_soap: errors[0]?.messaggio ?? '', errors })
  return { records, lines: records.map(encode), stay, method: methodFor(testMode, stay.id_appartamento) }
}

async function rehearse (service: PoliceService, { lines, method }: Accepted): Promise<InvioAnswer> {
  const verdict = await call(service, async (token) => deliver(service, method, token, lines), lines.length)
  if (verdict.stato !== 'acquisito') throw failure(verdict, true)
  return {
    success: true,
    message: `${counted(lines.length, 'schedina valida', 'schedine valide')}: nessuna registrazione, era una prova`,
    ricevuta: '',
    dettagli: { schedine_inviate: lines.length, metodo: method, prenotazione_id: null }
  }
}

async function send ({ db, ledger, log }: Desk, service: PoliceService, { records, lines, stay, method }: Accepted): Promise<InvioAnswer> {
  const prenotazione_id = await bookingOf(db, stay.id, records[0]!)
  const { id_appartamento } = stay
  const reserved = await ledger.reserve({ account: service.account, metodo: method, records, lines, id_appartamento, prenotazione_id })
  const verdict = await call(service, async (token) => (
    deliver(service, method, token, lines, { beforeWrite: () => ledger.dispatch(reserved) })), lines.length)
  await record(ledger, reserved, verdict, log)
  if (verdict.stato !== 'acquisito') throw failure(verdict, false, reserved.ricevuta)
  return {
    success: true,
    message: counted(lines.length, 'schedina acquisita', 'schedine acquisite'),
    ricevuta: reserved.ricevuta,
    dettagli: { schedine_inviate: lines.length, metodo: method, prenotazione_id }
  }
}

/** One call and what it proves. The login comes first: as long as it has not succeeded nothing is sent. */
async function call (service: PoliceService, work: (token: string) => Promise<SendReply>, rows: number): Promise<Verdict> {
  let token: string
  try {
    token = await service.token.get()
  } catch (err) {
    return classifyLogin(err, rows)
  }
  try {
    const reply = await work(token)
    // Whatever the refusal was about, the next call begins with a fresh login.
    if (!reply.esito.esito) service.token.invalidate(token)
    return classifyReply(reply, rows)
  } catch (err) {
    return classifyFailure(err, rows)
  }
}

/** When the outcome cannot be written, the submission stays dispatched, and the sweep makes it unknown. */
async function record (ledger: Ledger, reserved: Reserved, verdict: Verdict, log: FastifyBaseLogger): Promise<void> {
  try {
    await ledger.settle(reserved, verdict)
  } catch (err) {
    log.error({ err, ricevuta: reserved.ricevuta }, 'outcome of a submission not recorded')
    throw new InvioFallito('ESITO_SCONOSCIUTO', { ricevuta: reserved.ricevuta })
  }
  if (verdict.stato === 'sconosciuto') log.error({ ricevuta: reserved.ricevuta, errore: verdict.errore }, 'outcome of a submission unknown')
}

function failure (verdict: Verdict, test: boolean, ricevuta?: string): InvioFallito {
  const reference = ricevuta === undefined ? {} : { ricevuta }
  const detail = verdict.errore === undefined ? {} : { messaggio_soap: verdict.errore }
  // A dry run without a usable answer leaves nothing in doubt: it registers nothing.
  if (verdict.stato === 'sconosciuto') return new InvioFallito(test ? 'SERVIZIO_NON_RAGGIUNGIBILE' : 'ESITO_SCONOSCIUTO', { ...detail, ...reference })
  if (verdict.causa !== undefined) return new InvioFallito(verdict.causa, { ...detail, ...reference })
  const first = verdict.schedine.find(({ esito }) => esito === 'rifiutata')
  return new InvioFallito('SCHEDINE_RIFIUTATE', {
    codice_errore: first?.codice_errore ?? '',
    messaggio_soap: [first?.messaggio_soap, first?.dettaglio].filter(Boolean).join(': '),
    schedine: verdict.schedine.map((row, ospite): EsitoSchedina => ({
      ospite,
      esito: row.esito === 'acquisita' ? test ? 'valida' : 'acquisita' : 'rifiutata',
      codice_errore: row.codice_errore ?? '',
      messaggio_soap: row.messaggio_soap ?? '',
      dettaglio: row.dettaglio ?? ''
    })),
    ...reference
  })
}

function counted (count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
