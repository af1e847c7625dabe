import { readFile } from 'node:fs/promises'
import type { EsitoSchedina } from '#schemas/alloggiati.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { expectBody, isObject, refusal } from '../answers.ts'
import { call, type Context } from '../context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import type { Answer } from '../exchange.ts'
import { table, type Column } from '../table.ts'
import { wholeInput } from '../terminal.ts'

/** Where the records come from: a file (`-`: standard input), or what is stored of a booking. */
export interface Source { file?: string, prenotazione?: number, appartamento?: number }

interface Check { connected: boolean, message: string, endpoint: string }
interface CheckAnswer { valid: boolean, errors: Segnalazione[], warnings: Segnalazione[] }
/** What a refused rehearsal may say besides its error. */
interface Rejection { codice?: unknown, errors?: Segnalazione[], schedine?: EsitoSchedina[] }

const COLUMNS: readonly Column[] = [{ title: 'ospite', right: true }, { title: 'campo' }, { title: 'messaggio' }]
const OUTCOME_COLUMNS: readonly Column[] = [
  { title: 'ospite', right: true },
  { title: 'esito' },
  { title: 'messaggio' }
]
/** The refusals that say that the records are wrong; all others are about something else. */
const RECORDS_AT_FAULT = ['VALIDAZIONE', 'SCHEDINE_RIFIUTATE']

/** Whether the server reaches the police service, with its credentials. */
export async function checkConnection (context: Context): Promise<Exit> {
  const answer = await call(context, '/api/alloggiati/check')
  const checked = expectBody<Check>(answer, 'connected', 'message', 'endpoint')
  const modalita = answer.headers.get('x-alloggiati-mode') ?? 'production'
  context.out.result(`${checked.message} (${modalita}: ${checked.endpoint})`, { ...checked, modalita })
  return EXIT.ok
}

/** Checks records by the official rules. Nothing is sent to the police. */
export async function validate (context: Context, source: Source): Promise<Exit> {
  const answer =
    source.prenotazione === undefined
      ? await call(context, '/api/alloggiati/valida', { method: 'POST', body: await records(context, source.file) })
      : await call(context, `/api/v1/prenotazioni/${source.prenotazione}/schedine`, {
        method: 'POST',
        body: apartment(source)
      })
  const checked = expectBody<CheckAnswer>(answer, 'valid', 'errors', 'warnings')
  const { valid, errors, warnings } = checked
  const parts = [
    ...(errors.length > 0 ? [`Le schedine contengono errori:\n${remarks(errors)}`] : ['Le schedine sono valide.']),
    ...(warnings.length > 0 ? [`Avvisi:\n${remarks(warnings)}`] : [])
  ]
  context.out.result(parts.join('\n\n'), checked)
  return valid ? EXIT.ok : EXIT.invalid
}

/** Has the police service check records: a Test, which registers nothing. */
export async function rehearse (context: Context, source: Source): Promise<Exit> {
  // After the fields of the file: this is a test, also when the file says otherwise.
  const answer =
    source.prenotazione === undefined
      ? await call(context, '/api/alloggiati/invio', {
        method: 'POST',
        body: { ...(await records(context, source.file)), testMode: true }
      })
      : await call(context, `/api/v1/prenotazioni/${source.prenotazione}/invio`, {
        method: 'POST',
        body: { ...apartment(source), testMode: true }
      })
  if (answer.status === 422) return rejected(context, answer)
  const accepted = expectBody<{ success: boolean, message: string }>(answer, 'success', 'message')
  context.out.result(`${accepted.message}.`, accepted)
  return EXIT.ok
}

function rejected (context: Context, answer: Answer): Exit {
  const refused = refusal(answer)
  const { codice, errors = [], schedine = [] } = (isObject(answer.body) ? answer.body : {}) as Rejection
  if (typeof codice !== 'string' || !RECORDS_AT_FAULT.includes(codice)) throw refused
  const parts = [
    `${refused.message}.`,
    ...(errors.length > 0 ? [remarks(errors)] : []),
    ...(schedine.length > 0 ? [outcomes(schedine)] : [])
  ]
  context.out.result(parts.join('\n'), answer.body)
  return EXIT.invalid
}

/** Guests are counted from 1 for people, from 0 on the wire. */
function remarks (items: readonly Segnalazione[]): string {
  return table(COLUMNS, items.map(({ ospite, campo, messaggio }) => [String(ospite + 1), campo, messaggio]))
}

function outcomes (rows: readonly EsitoSchedina[]): string {
  return table(OUTCOME_COLUMNS, rows.map(({ ospite, esito, messaggio_soap, dettaglio }) => [
    String(ospite + 1), esito, [messaggio_soap, dettaglio].filter((text) => text !== '').join(': ')
  ]))
}

function apartment ({ appartamento }: Source): object {
  return appartamento === undefined ? {} : { id_appartamento: appartamento }
}

async function records ({ terminal }: Context, file = '-'): Promise<object> {
  const name = file === '-' ? 'standard input' : file
  const text = await (file === '-' ? wholeInput(terminal) : readFile(file, 'utf8')).catch(
    (err: NodeJS.ErrnoException) => {
      throw new CliError(EXIT.failed, 'FILE_NON_LEGGIBILE', `Impossibile leggere ${name} (${err.code ?? 'errore'})`)
    }
  )
  let body: unknown
  try {
    // Editors of some systems begin a file with a byte order mark.
    body = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    body = undefined
  }
  if (!isObject(body)) throw usageError(`${name}: deve contenere un oggetto JSON con «ospiti» e «prenotazione»`)
  return body
}
