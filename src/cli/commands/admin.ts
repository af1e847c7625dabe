import { randomBytes } from 'node:crypto'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { Context } from '../command-context.ts'
import { CliError, EXIT, type Exit } from '../errors.ts'
import { callLocalServer, serverEnvironment } from '../local-server.ts'
import { expectBody, fieldsOf, type ApiResponse } from '../server-call.ts'
import { newSecret } from '../terminal.ts'

interface AdminOptions { email: string, genera?: boolean }
interface ResetOptions extends AdminOptions { rimuoviSecondoFattore?: boolean }

const USERS = '/auth/v1/admin/users'
const PER_PAGE = 1000
/** Random bytes of a generated password (120 bits). */
const GENERATED_BYTES = 15

/** Creates an administrator on the server of this environment. */
export async function createAdmin (context: Context, options: AdminOptions): Promise<Exit> {
  await requireOwnAccounts(context)
  const password = await newPassword(context, options)
  const { id, email } = userOf(await callLocalServer(context, USERS, {
    method: 'POST',
    body: { email: options.email, password, email_confirm: true, app_metadata: { role: 'admin' } }
  }))
  return report(context, options, `Amministratore ${email} creato.`, { id, email }, password)
}

/**
 * Sets a new password for a person, on the server of this environment. Ends the person's sessions and keys. With an
 * option, it also removes second factors and passkeys.
 */
export async function resetPassword (context: Context, options: ResetOptions): Promise<Exit> {
  await requireOwnAccounts(context)
  const { id, email } = await findUser(context, options.email)
  const password = await newPassword(context, options)
  const rimossi = options.rimuoviSecondoFattore === true
  const body = { password, ...rimossi && { rimuovi_secondo_fattore: true } }
  userOf(await callLocalServer(context, `${USERS}/${id}`, { method: 'PUT', body }))
  const left = rimossi ? 'sono rimossi' : 'restano, se ci sono (li toglie --rimuovi-secondo-fattore)'
  const text = `Password di ${email} cambiata: le sue sessioni e le sue chiavi API non valgono più. Secondi fattori ` +
    `e passkey ${left}.`
  return report(context, options, text, { id, email, rimossi }, password)
}

async function findUser (context: Context, given: string): Promise<AuthUser> {
  const email = given.trim().toLowerCase()
  const response = await callLocalServer(context, USERS, { query: { filter: email, per_page: PER_PAGE } })
  const { users } = expectBody<{ users: AuthUser[] }>(response, 'users')
  const found = users.find((user) => user.email === email)
  if (!found) throw new CliError(EXIT.failed, 'UTENTE_NON_TROVATO', `Nessun utente ha l’indirizzo ${email}`)
  return found
}

/** The new password: generated for `--genera`, else from the environment, the terminal (twice) or standard input. */
async function newPassword ({ terminal }: Context, { genera }: AdminOptions): Promise<string> {
  if (genera === true) return randomBytes(GENERATED_BYTES).toString('base64url')
  return await newSecret(terminal, 'LOCANDA_PASSWORD', 'Nuova password')
}

/** Shows a password only when this program has generated it. */
function report ({ out }: Context, { genera }: AdminOptions, text: string, result: object, password: string): Exit {
  if (genera === true) {
    out.note(`${text} La password non verrà mostrata di nuovo.`)
    out.result(password, { ...result, password })
  } else {
    out.result(text, result)
  }
  return EXIT.ok
}

/** @throws CliError with an external identity provider, because this server does not manage its accounts */
async function requireOwnAccounts ({ terminal: { env } }: Context): Promise<void> {
  const { config: { IDP_URL } } = await serverEnvironment(env)
  if (IDP_URL === undefined) return
  throw new CliError(EXIT.failed, 'PROVIDER_ESTERNO', 'Gli account sono del provider di IDP_URL: gestirli lì')
}

const REFUSALS: Readonly<Record<string, string>> = {
  email_exists: 'Un account con questo indirizzo c’è già: per una nuova password «locanda admin reset-password»',
  validation_failed: '--email: non è un indirizzo e-mail che si può usare',
  weak_password:
    'La password deve avere da 8 a 128 caratteri, nessuno di controllo, e non essere facile da indovinare'
}

/** @throws CliError with an Italian text for mistakes that the user can fix */
function userOf (response: ApiResponse): AuthUser {
  const code = String(fieldsOf(response.body)?.error_code)
  const text = REFUSALS[code]
  if (response.status >= 400 && response.status < 500 && text !== undefined) {
    throw new CliError(EXIT.failed, code.toUpperCase(), text)
  }
  return expectBody<AuthUser>(response, 'id', 'email')
}
