import type { Day } from '#src/lib/time.ts'
import type { TipoTabella } from '../tables/tabella.ts'
import type { PoliceService } from './police-service.ts'
import type { ElencoSchedineEsito, EsitoOperazioneServizio } from './soap/contract.ts'
import { refusesCaller } from './police-faults.ts'
import { AlloggiatiCredentialsError, ownCode } from './soap/errors.ts'
import type { CallOptions } from './soap/soap-transport.ts'

/** The SOAP method for a list of lines. Lines with an apartment have 174 characters. */
export function methodFor (test: boolean, idAppartamento: number | undefined) {
  if (idAppartamento !== undefined) {
    return test ? 'GestioneAppartamenti_FileUnico_Test' : 'GestioneAppartamenti_FileUnico_Send'
  }
  return test ? 'Test' : 'Send'
}

type Method = ReturnType<typeof methodFor>

/** The service's reply to a list of lines: the outcome of the call, and the outcome of each line if given. */
export interface SendReply {
  esito: EsitoOperazioneServizio
  result: ElencoSchedineEsito | undefined
  httpStatus: number
  raw: string
}

/** Sends lines with one of the four methods, in one call. */
export async function deliver (
  service: PoliceService, method: Method, token: string, lines: readonly string[], options?: CallOptions
): Promise<SendReply> {
  const request = { Utente: service.utente, token, ElencoSchedine: { string: lines } }
  const { result, httpStatus, raw } = await service.client[method](request, options)
  const outcomes = Object.entries(result).find(([name]) => name === `${method}Result`)
  return { esito: outcomes![1] as EsitoOperazioneServizio, result: result.result, httpStatus, raw }
}

/** Checks the credentials: a login unless a token is cached, and the service's own token test. */
export async function authenticate (service: PoliceService, signal: AbortSignal): Promise<EsitoOperazioneServizio> {
  const request = { Utente: service.utente, token: await service.token.get(signal) }
  const { result } = await service.client.Authentication_Test(request, { signal })
  return result.Authentication_TestResult
}

/**
 * Downloads one code table as CSV. The apartment table is empty when the service refuses it (no apartments).
 * @throws AlloggiatiCredentialsError when the login or the token is refused, SoapTransportError without a valid reply,
 * Error when the service refuses the table for another reason
 */
export async function downloadTable (
  service: PoliceService, tipo: TipoTabella, signal?: AbortSignal
): Promise<string> {
  const token = await service.token.get(signal)
  const { result: { TabellaResult, CSV } } = await service.client.Tabella(
    { Utente: service.utente, token, tipo }, { signal }
  )
  if (TabellaResult.esito) return CSV
  refuseToken(service, token, TabellaResult)
  if (tipo === 'ListaAppartamenti') return ''
  throw new Error(`The service refused the table ${tipo}${ownCode(TabellaResult.ErroreCod)}`)
}

/**
 * Downloads the receipt of a day. Undefined when the service has none, even if guests were sent that day. Aborts when
 * the response is due, or when `closing` aborts.
 * @throws AlloggiatiCredentialsError when the login or the token is refused, SoapTransportError without a valid reply
 */
export async function downloadReceipt (
  service: PoliceService, day: Day, closing: AbortSignal
): Promise<Buffer | undefined> {
  const signal = AbortSignal.any([service.responseDeadline(), closing])
  const token = await service.token.get(signal)
  const {
    result: { RicevutaResult, PDF }
  } = await service.client.Ricevuta({ Utente: service.utente, token, Data: day }, { signal })
  if (RicevutaResult.esito) return PDF
  refuseToken(service, token, RicevutaResult)
  return undefined
}

/** Throws if the token was refused. First drops the token, so that the next call logs in again. */
export function refuseToken (service: PoliceService, token: string, outcome: EsitoOperazioneServizio): void {
  if (forgetRefused(service, token, outcome)) throw new AlloggiatiCredentialsError(outcome.ErroreCod, outcome.ErroreDes)
}

/** Drops the token if the outcome refuses it. Returns whether it did. */
function forgetRefused (
  { token: tokens }: PoliceService, token: string, outcome: EsitoOperazioneServizio
): boolean {
  const isRefused = refusesCaller(outcome)
  if (isRefused) tokens.invalidate(token)
  return isRefused
}
