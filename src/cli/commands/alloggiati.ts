import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { EsitoSchedina } from '#schemas/alloggiati.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { call, type Context } from '../command-context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import { expectBody, fieldsOf, parsedJson, refusal, type ApiResponse } from '../server-call.ts'
import { table } from '../output.ts'

/** The source of the records: a file (`-`: standard input), or a stored booking. */
export interface Source { file?: string | undefined, prenotazione?: number, appartamento?: number }

interface Check { connected: boolean, message: string, endpoint: string }
interface CheckResponse { valid: boolean, errors: Segnalazione[], warnings: Segnalazione[] }

/** The error codes that mean invalid records. */
const RECORDS_AT_FAULT = ['VALIDAZIONE', 'SCHEDINE_RIFIUTATE']

/** Checks that the server reaches the police service with its credentials. */
export async function checkConnection (context: Context): Promise<Exit> {
  const response = await call(context, '/api/alloggiati/check')
  const checked = expectBody<Check>(response, 'connected', 'message', 'endpoint')
  const modalita = response.headers.get('x-alloggiati-mode') ?? 'production'
  context.out.result(`${checked.message} (${modalita}: ${checked.endpoint})`, { ...checked, modalita })
  return EXIT.ok
}

/** Validates records by the official rules, without a call to the police. */
export async function validate (context: Context, source: Source): Promise<Exit> {
  const response = await callWithRecords(context, source, { ofFile: 'valida', ofBooking: 'schedine' })
  const checked = expectBody<CheckResponse>(response, 'valid', 'errors', 'warnings')
  const { valid, errors, warnings } = checked
  const parts = [
    errors.length > 0 ? `Le schedine contengono errori:\n${remarks(errors)}` : 'Le schedine sono valide.',
    ...(warnings.length > 0 ? [`Avvisi:\n${remarks(warnings)}`] : [])
  ]
  context.out.result(parts.join('\n\n'), checked)
  return valid ? EXIT.ok : EXIT.invalid
}

/** Asks the police service to validate records with a test call, which registers no guest. */
export async function testCall (context: Context, source: Source): Promise<Exit> {
  const response = await callWithRecords(context, source, { ofFile: 'invio', ofBooking: 'invio' }, { testMode: true })
  if (response.status === 422) return rejected(context, response)
  const accepted = expectBody<{ success: boolean, message: string }>(response, 'success', 'message')
  context.out.result(`${accepted.message}.`, accepted)
  return EXIT.ok
}

/** @param overrides replace fields of the file, so that a file cannot change a test call into a Send */
async function callWithRecords (
  context: Context,
  { file, prenotazione, appartamento }: Source,
  { ofFile, ofBooking }: { ofFile: string, ofBooking: string },
  overrides: object = {}
): Promise<ApiResponse> {
  if (prenotazione === undefined) {
    const body = { ...await records(context, file), ...overrides }
    return call(context, `/api/alloggiati/${ofFile}`, { method: 'POST', body })
  }
  const body = { id_appartamento: appartamento, ...overrides }
  return call(context, `/api/v1/prenotazioni/${prenotazione}/${ofBooking}`, { method: 'POST', body })
}

function rejected (context: Context, response: ApiResponse): Exit {
  const refused = refusal(response)
  if (!RECORDS_AT_FAULT.includes(refused.codice)) throw refused
  const { errors = [], schedine = [] } = response.body as { errors?: Segnalazione[], schedine?: EsitoSchedina[] }
  const parts = [
    `${refused.message}.`,
    ...(errors.length > 0 ? [remarks(errors)] : []),
    ...(schedine.length > 0 ? [outcomes(schedine)] : [])
  ]
  context.out.result(parts.join('\n'), response.body)
  return EXIT.invalid
}

function remarks (items: readonly Segnalazione[]): string {
  return perGuest('campo', items.map(({ ospite, campo, messaggio }) => [ospite, campo, messaggio]))
}

function outcomes (rows: readonly EsitoSchedina[]): string {
  return perGuest('esito', rows.map(({ ospite, esito, messaggio_soap, dettaglio }) =>
    [ospite, esito, [messaggio_soap, dettaglio].filter((text) => text !== '').join(': ')]))
}

/** Texts count guests from 1, the API from 0. */
function perGuest (title: string, rows: readonly (readonly [guest: number, text: string, message: string])[]): string {
  const columns = [{ title: 'ospite', right: true }, { title }, { title: 'messaggio' }]
  return table(columns, rows.map(([guest, ...texts]) => [String(guest + 1), ...texts]))
}

async function records ({ terminal }: Context, file = '-'): Promise<object> {
  const name = file === '-' ? 'standard input' : file
  const content = await (file === '-' ? text(terminal.stdin) : readFile(file, 'utf8')).catch(
    (err: NodeJS.ErrnoException) => {
      throw new CliError(EXIT.failed, 'FILE_NON_LEGGIBILE', `Impossibile leggere ${name} (${err.code ?? 'errore'})`)
    }
  )
  // Some editors write a byte order mark at the start of a file.
  const body = fieldsOf(parsedJson(content.replace(/^\ufeff/, '')))
  if (body === undefined) throw usageError(`${name}: deve contenere un oggetto JSON con «ospiti» e «prenotazione»`)
  return body
}
