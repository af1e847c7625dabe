import type { AttemptOutcome, RowOutcome, State } from '#schemas/submission.ts'
import type { Cause } from '../../errors.ts'
import { type SendReply, deliver, methodFor } from '../../service/calls.ts'
import { ACCESS_REFUSED } from '../../service/police-faults.ts'
import type { EsitoOperazioneServizio } from '../../service/soap/contract.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from '../../service/soap/errors.ts'
import type { PoliceService } from '../../service/police-service.ts'
import type { CallOptions } from '../../service/soap/soap-transport.ts'

export interface Verdict {
  stato: Extract<State, 'acquisito' | 'parziale' | 'rifiutato' | 'non_inviato' | 'sconosciuto'>
  tentativo: AttemptOutcome
  /** One verdict per row, in the order of the rows. */
  schedine: RowVerdict[]
  /** For `non_inviato`: the reason why nothing was sent. */
  causa?: Extract<Cause,
    'CREDENZIALI_RIFIUTATE' | 'SERVIZIO_NON_RAGGIUNGIBILE' | 'RIFIUTATO_DAL_SERVIZIO' | 'CARTELLA_NON_SCRIVIBILE'>
  httpStatus?: number
  errore?: string
  raw?: string
}

interface RowVerdict {
  esito: Extract<RowOutcome, 'acquisita' | 'rifiutata' | 'non_inviata' | 'sconosciuta'>
  codice_errore?: string
  messaggio_soap?: string
  dettaglio?: string
}

/** HTTP statuses with which a web server refuses a request before the service sees it. */
const NEVER_SERVED = new Set([404, 405, 413, 415])

/** Errors by which the service refuses a whole call before it reads the rows. */
const REFUSED_BEFORE = [ACCESS_REFUSED, /PARAMETRO_ERRATO/]

/** The verdict of a reply. It is `sconosciuto` after a wrong count of rows, or an unknown kind of refusal. */
export function classifyReply ({ esito, result, httpStatus, raw }: SendReply, rows: number): Verdict {
  const seen = { httpStatus, raw }
  const details = result?.Dettaglio ?? []
  if (!esito.esito) {
    const errore = [esito.ErroreCod, esito.ErroreDes, esito.ErroreDettaglio].filter((text) => text !== '').join(' ')
    const refusedWhole =
      details.length === 0 &&
      (result?.SchedineValide ?? 0) === 0 &&
      REFUSED_BEFORE.some((names) => names.test(esito.ErroreDes))
    const verdict = refusedWhole ? notSentVerdict('RIFIUTATO_DAL_SERVIZIO', rows) : unknownVerdict(rows)
    return { ...verdict, ...seen, errore }
  }
  const accepted = details.filter((row) => row.esito).length
  if (result === undefined || details.length !== rows || result.SchedineValide !== accepted) {
    return { ...unknownVerdict(rows), ...seen, errore: 'conteggi incoerenti' }
  }
  return {
    stato: accepted === rows ? 'acquisito' : accepted === 0 ? 'rifiutato' : 'parziale',
    tentativo: accepted === 0 ? 'N' : 'K',
    schedine: details.map(rowVerdict),
    ...seen
  }
}

/** The verdict of a call without a usable reply: `non_inviato` only if the service certainly did not process it. */
export function classifyFailure (err: unknown, rows: number): Verdict {
  if (!(err instanceof SoapTransportError)) return { ...unknownVerdict(rows), errore: 'errore interno' }
  const unserved = err.kind === 'http-status' && err.httpStatus !== undefined && NEVER_SERVED.has(err.httpStatus)
  const verdict = !err.sent || unserved ? notSentVerdict('SERVIZIO_NON_RAGGIUNGIBILE', rows) : unknownVerdict(rows)
  return {
    ...verdict,
    errore: err.kind,
    ...(err.httpStatus === undefined ? {} : { httpStatus: err.httpStatus }),
    ...(err.raw === undefined ? {} : { raw: err.raw })
  }
}

/** The verdict of a failed login. No row was sent, because a Send needs a token. */
export function classifyLogin (err: unknown, rows: number): Verdict {
  return err instanceof AlloggiatiCredentialsError
    ? { ...notSentVerdict('CREDENZIALI_RIFIUTATE', rows), errore: err.userText }
    : {
        ...notSentVerdict('SERVIZIO_NON_RAGGIUNGIBILE', rows),
        errore: err instanceof SoapTransportError ? err.kind : 'errore interno'
      }
}

function rowVerdict ({ esito, ErroreCod, ErroreDes, ErroreDettaglio }: EsitoOperazioneServizio): RowVerdict {
  if (esito) return { esito: 'acquisita' }
  return { esito: 'rifiutata', codice_errore: ErroreCod, messaggio_soap: ErroreDes, dettaglio: ErroreDettaglio }
}

/** Verdict for rows that are proven not acquired. */
function notSentVerdict (causa: NonNullable<Verdict['causa']>, rows: number): Verdict {
  return { stato: 'non_inviato', tentativo: 'N', schedine: allRows('non_inviata', rows), causa }
}

/** Verdict for an attempt that could not be recorded in `DATA_DIR`, so nothing was written to the service. */
export function folderVerdict (rows: number): Verdict {
  return { ...notSentVerdict('CARTELLA_NON_SCRIVIBILE', rows), errore: 'cartella dati non scrivibile' }
}

/** Verdict for rows whose outcome is unknown. */
export function unknownVerdict (rows: number): Verdict {
  return { stato: 'sconosciuto', tentativo: '?', schedine: allRows('sconosciuta', rows) }
}

function allRows (esito: RowVerdict['esito'], rows: number): RowVerdict[] {
  return Array.from({ length: rows }, () => ({ esito }))
}

/** The lines of one call. Lines of 174 characters include the apartment. */
export interface SendCall { lines: readonly string[], id_appartamento: number | undefined }

/** The verdict of a test call, and the token that it used. The token is null if there was no call. */
interface TestCall { token: string | null, verdict: Verdict }

interface TestCallOptions {
  /** Aborts the login and the test call. */
  signal: AbortSignal
  /** Runs after each login. If it returns false, no test call is made. */
  loggedIn?: () => Promise<boolean>
}

/**
 * Logs in and makes the test call, which registers nothing: even without a usable reply, no guest is sent. If the
 * service refuses the token, logs in once more.
 * @returns undefined when `loggedIn` returned false
 */
export async function makeTestCall (
  service: PoliceService, sendCall: SendCall, { signal, loggedIn }: TestCallOptions
): Promise<TestCall | undefined> {
  for (let isFresh = false; ; isFresh = true) {
    const token = await service.token.get(signal).catch((err: unknown) => classifyLogin(err, sendCall.lines.length))
    if (typeof token !== 'string') return { token: null, verdict: token }
    if (loggedIn && !await loggedIn()) return undefined
    const { verdict, tokenRefused } = await call(service, true, token, sendCall, { signal })
    if (tokenRefused && !isFresh) continue
    if (verdict.stato !== 'sconosciuto') return { token, verdict }
    const notSent = notSentVerdict('SERVIZIO_NON_RAGGIUNGIBILE', sendCall.lines.length)
    return { token, verdict: { ...notSent, errore: verdict.errore } }
  }
}

/** Makes the Send, which cannot be undone. Only until the end of `options.beforeWrite` can the caller stop it. */
export async function send (
  service: PoliceService, token: string, sendCall: SendCall, options: Pick<CallOptions, 'beforeWrite'>
): Promise<Verdict> {
  return (await call(service, false, token, sendCall, options)).verdict
}

async function call (
  service: PoliceService,
  test: boolean,
  token: string,
  { lines, id_appartamento }: SendCall,
  options: CallOptions
): Promise<{ verdict: Verdict, tokenRefused: boolean }> {
  try {
    const reply = await deliver(service, methodFor(test, id_appartamento), token, lines, options)
    // After any refusal, discard the token, so that the next call logs in again.
    if (!reply.esito.esito) service.token.invalidate(token)
    const tokenRefused = !reply.esito.esito && ACCESS_REFUSED.test(reply.esito.ErroreDes)
    return { verdict: classifyReply(reply, lines.length), tokenRefused }
  } catch (err) {
    return { verdict: classifyFailure(err, lines.length), tokenRefused: false }
  }
}
