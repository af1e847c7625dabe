import { rm } from 'node:fs/promises'
import { ownKey, type Context } from '../command-context.ts'
import { CliError, EXIT, usageError, type Exit } from '../errors.ts'
import { refusal } from '../server-call.ts'
import { givenKey, mintKey } from '../sign-in.ts'
import { isKey, keyFile, writeKey, type StoredKey } from '../stored-key.ts'
import { dayOf } from '../output.ts'

interface LoginOptions { email?: string, chiave?: boolean }

/** Signs in, or reads a key from the user. Stores the key, and revokes the key that it replaces. */
export async function login (context: Context, { email, chiave = false }: LoginOptions): Promise<Exit> {
  const { terminal, out } = context
  const [url, earlier] = await Promise.all([context.base(), context.stored()])
  if (chiave && email !== undefined) throw usageError('Con --chiave non serve --email')
  const { apiKey: key, id, expires_at } = await (chiave ? givenKey(context, url) : mintKey(context, url, email))
  if (!isKey(key)) throw new CliError(EXIT.failed, 'RISPOSTA_NON_VALIDA', 'La chiave del server non è valida')
  const stored = { url, id, key, expires_at }
  try {
    await writeKey(terminal, stored)
  } catch (err) {
    // A key that cannot be stored is useless, so it is revoked.
    await revoke(context, stored).catch(() => {})
    throw err
  }
  if (earlier !== undefined) {
    await revoke(context, earlier).catch(() => {
      out.warn(
        `la chiave precedente (${earlier.id}, di ${earlier.url}) non è stata revocata: ` +
          `vale fino al ${dayOf(earlier.expires_at)}`
      )
    })
  }
  const text = `Accesso a ${url} riuscito: la chiave di questo computer vale fino al ${dayOf(expires_at)}.`
  out.result(text, { url, id, expires_at })
  return EXIT.ok
}

/** Revokes the stored key and deletes it. */
export async function logout (context: Context): Promise<Exit> {
  const { terminal, out } = context
  const stored = await ownKey(context)
  await revoke(context, stored)
  await rm(keyFile(terminal), { force: true })
  const { url, id } = stored
  out.result(`La chiave per ${url} è revocata ed eliminata da questo computer.`, { url, id })
  return EXIT.ok
}

interface KeyOptions { email?: string, giorni?: number, scope?: readonly string[] }

/** Creates a key for another program. The command shows it once and does not store it. */
export async function key (context: Context, { email, giorni: days, scope: scopes }: KeyOptions): Promise<Exit> {
  const made = await mintKey(context, await context.base(), email, { days, scopes })
  context.out.note(`Chiave ${made.id}, valida fino al ${dayOf(made.expires_at)}: non verrà mostrata di nuovo.`)
  context.out.result(made.apiKey, made)
  return EXIT.ok
}

/** Revokes a key on its server. If the server does not know the key any more, this is a success. */
async function revoke (context: Context, { url, id, key }: StoredKey): Promise<void> {
  const path = `/api/v1/keys/${encodeURIComponent(id)}`
  const response = await context.send(url, path, { method: 'DELETE', headers: { 'x-api-key': key } })
  if (response.status < 300 || response.status === 401) return
  const refused = refusal(response)
  if (refused.codice !== 'CHIAVE_NON_TROVATA') throw refused
}
