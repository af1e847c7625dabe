import { refusal } from '../answers.ts'
import { ownKey, type Context } from '../context.ts'
import { CliError, EXIT, type Exit } from '../errors.ts'
import { day } from '../instants.ts'
import { mintKey, type SignInOptions } from '../sign-in.ts'
import { forgetKey, isKey, keyFile, writeKey, type StoredKey } from '../stored-key.ts'

/** Signs in and keeps a key of the user's; the one that it replaces is revoked. */
export async function login (context: Context, signIn: SignInOptions): Promise<Exit> {
  const { terminal, out } = context
  const [base, earlier] = await Promise.all([context.base(), context.stored()])
  const { apiKey, id, expires_at } = await mintKey(context, base, signIn)
  if (!isKey(apiKey)) throw new CliError(EXIT.failed, 'RISPOSTA_NON_VALIDA', 'Il server ha dato una chiave illeggibile')
  const stored = { url: base, id, key: apiKey, expires_at }
  try {
    await writeKey(terminal, stored)
  } catch (err) {
    // A key that is not stored is of no use.
    await revoke(context, stored).catch(() => {})
    throw err
  }
  if (earlier !== undefined) {
    await revoke(context, earlier).catch(() => {
      out.warn(
        `la chiave precedente (${earlier.id}, di ${earlier.url}) non è stata revocata: ` +
          `vale fino al ${day(earlier.expires_at)}`
      )
    })
  }
  out.result(`Accesso a ${base} riuscito: la chiave di questo computer vale fino al ${day(expires_at)}.`, {
    url: base,
    id,
    expires_at
  })
  return EXIT.ok
}

/** Revokes the stored key and forgets it. */
export async function logout (context: Context): Promise<Exit> {
  const { terminal, out } = context
  const stored = await ownKey(context)
  try {
    await revoke(context, stored)
  } catch (err) {
    if (err instanceof CliError) {
      throw new CliError(
        err.exit,
        err.codice,
        `${err.message}. La chiave vale ancora, e resta in ${keyFile(terminal)}`,
        err.risposta
      )
    }
    throw err
  }
  await forgetKey(terminal)
  out.result(`La chiave per ${stored.url} è revocata ed eliminata da questo computer.`, {
    url: stored.url,
    id: stored.id
  })
  return EXIT.ok
}

/** Revokes a key where it was made. One that is not known there any more needs no revoking. */
async function revoke (context: Context, { url, id, key }: StoredKey): Promise<void> {
  const answer = await context.send(url, `/api/v1/keys/${encodeURIComponent(id)}`, {
    method: 'DELETE',
    headers: { 'x-api-key': key }
  })
  if (answer.status < 300 || answer.status === 401) return
  const refused = refusal(answer)
  if (refused.codice !== 'CHIAVE_NON_TROVATA') throw refused
}
