import { randomBytes } from 'node:crypto'
import type { AuthUser } from '#schemas/auth/user.ts'
import { expectBody, isObject } from '../answers.ts'
import type { Context } from '../context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import type { Answer } from '../exchange.ts'
import { callOwnServer } from '../own-server.ts'
import { serverEnvironment } from '../server-environment.ts'
import { ask, firstLine } from '../terminal.ts'

export interface AdminOptions { email: string, genera?: boolean }
export interface ResetOptions extends AdminOptions { rimuoviSecondoFattore?: boolean }

const USERS = '/auth/v1/admin/users'
const PER_PAGE = 1000
/** Characters of a generated password: 120 bits. */
const GENERATED_BYTES = 15

/** Makes an administrator on the server whose environment this is. */
export async function createAdmin (context: Context, options: AdminOptions): Promise<Exit> {
  await requireOwnAccounts(context)
  const password = await newPassword(context, options)
  const answer = await callOwnServer(context, USERS, {
    method: 'POST',
    body: { email: options.email, password, email_confirm: true, app_metadata: { role: 'admin' } }
  })
  const { id, email } = userOf(answer)
  return done(context, options, `Amministratore ${email} creato.`, { id, email, password })
}

/** Gives a person a new password, on the server whose environment this is; their sessions and keys end. */
export async function resetPassword (context: Context, options: ResetOptions): Promise<Exit> {
  await requireOwnAccounts(context)
  const { id, email } = await findUser(context, options.email)
  const password = await newPassword(context, options)
  userOf(await callOwnServer(context, `${USERS}/${id}`, { method: 'PUT', body: { password } }))
  const removed = options.rimuoviSecondoFattore ? await removeFactors(context, id) : 0
  const factors = removed > 0 ? ' Il secondo fattore è rimosso.' : ''
  const text = `Password di ${email} cambiata: le sue sessioni e le sue chiavi API non valgono più.${factors}`
  return done(context, options, text, { id, email, password, fattori_rimossi: removed })
}

/** How many were removed. Those that go with another one are gone before their turn. */
async function removeFactors (context: Context, userId: string): Promise<number> {
  const path = `${USERS}/${userId}/factors`
  const { body } = await callOwnServer(context, path, {})
  const ids = Array.isArray(body) ? body.map(({ id }: { id: string }) => id) : []
  for (const id of ids) {
    const answer = await callOwnServer(context, `${path}/${id}`, { method: 'DELETE' })
    if (answer.status !== 404) expectBody(answer)
  }
  return ids.length
}

async function findUser (context: Context, given: string): Promise<AuthUser> {
  const email = given.trim().toLowerCase()
  const answer = await callOwnServer(context, USERS, { query: { filter: email, per_page: PER_PAGE } })
  const { users } = expectBody<{ users: AuthUser[] }>(answer, 'users')
  const found = users.find((user) => user.email === email)
  if (!found) throw new CliError(EXIT.failed, 'UTENTE_NON_TROVATO', `Nessun utente ha l'indirizzo ${email}`)
  return found
}

/** From `--genera`, from the environment, twice from the terminal, or from the first line of standard input. */
async function newPassword ({ terminal }: Context, { genera }: AdminOptions): Promise<string> {
  if (genera === true) return randomBytes(GENERATED_BYTES).toString('base64url')
  if (terminal.env.LOCANDA_PASSWORD) return terminal.env.LOCANDA_PASSWORD
  if (terminal.stdin.isTTY !== true) return required(await firstLine(terminal))
  const password = required(await ask(terminal, 'Nuova password: ', true))
  if (await ask(terminal, 'Ancora una volta: ', true) !== password) {
    throw usageError('Le due password non sono uguali')
  }
  return password
}

function required (password: string): string {
  if (password === '') throw usageError('Manca la password')
  return password
}

/** A password is shown only where this program has made it up. */
function done (
  { out }: Context,
  { genera }: AdminOptions,
  text: string,
  { password, ...result }: { password: string, id: string, email: string, fattori_rimossi?: number }
): Exit {
  if (genera !== true) out.result(text, result)
  else {
    out.note(`${text} La password non verrà mostrata di nuovo.`)
    out.result(password, { ...result, password })
  }
  return EXIT.ok
}

/** @throws CliError with an external provider, whose accounts are not of this server */
async function requireOwnAccounts ({ terminal: { env } }: Context): Promise<void> {
  const { config: { IDP_URL } } = await serverEnvironment(env)
  if (IDP_URL === undefined) return
  throw new CliError(EXIT.failed, 'PROVIDER_ESTERNO', 'Gli account sono del provider di IDP_URL: si amministrano là')
}

const REFUSALS: Readonly<Record<string, string>> = {
  email_exists: 'Un account con questo indirizzo c\'è già: per una nuova password «locanda admin reset-password»',
  validation_failed: '--email: non è un indirizzo e-mail che si può usare',
  weak_password:
    'La password deve avere da 8 a 128 caratteri, nessuno di controllo, e non essere facile da indovinare'
}

/** @throws CliError in Italian for what people get wrong */
function userOf (answer: Answer): AuthUser {
  const { error_code: code = '' } = (isObject(answer.body) ? answer.body : {}) as Record<string, string>
  if (answer.status >= 400 && answer.status < 500) {
    const text = REFUSALS[code]
    if (text !== undefined) throw new CliError(EXIT.failed, code.toUpperCase(), text)
  }
  return expectBody<AuthUser>(answer, 'id', 'email')
}
