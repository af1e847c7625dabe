import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { ConfigError, type Config } from '#src/config/config.ts'
import { isEmail } from './email.ts'
import { PASSWORD_PROBLEMS, passwordProblems } from '../sign-in/passwords.ts'
import { LOCKS } from '#src/database/locks.ts'
import { findUser } from './find-users.ts'
import { countAdmins, createUser, deleteUser, updateUser } from './users.ts'

export interface Account { email: string, password: string }

const DEFAULT_EMAIL = 'admin@locanda.local'
/** 32 characters without look-alikes, so five bits each. */
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789'
const GROUPS = 6
const GROUP = 4

/**
 * Creates the first administrator of the embedded provider, once, with `ADMIN_EMAIL` and `ADMIN_PASSWORD`. Without
 * them, the account has a random password, which the person must replace at the first sign-in. A confirmed account with
 * the address of `ADMIN_EMAIL` becomes the administrator and keeps its password.
 * @returns the account with the random password, which the caller prints
 * @throws ConfigError, which names ADMIN_EMAIL or ADMIN_PASSWORD
 */
export async function firstAdministrator (
  app: FastifyInstance, { IDP_URL, ADMIN_EMAIL, ADMIN_PASSWORD }: Config
): Promise<Account | undefined> {
  if (IDP_URL !== undefined || (await countAdmins(app.db)) > 0) return undefined
  const chosen = ADMIN_EMAIL !== undefined && ADMIN_PASSWORD !== undefined
  const account = chosen
    ? { email: ADMIN_EMAIL, password: ADMIN_PASSWORD }
    : { email: DEFAULT_EMAIL, password: readablePassword() }
  const isMade = await makeAdministrator(app, account, chosen)
  return isMade && !chosen ? account : undefined
}

async function makeAdministrator (
  app: FastifyInstance, { email, password }: Account, chosen: boolean
): Promise<boolean> {
  return await app.db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.firstAdministrator})`)
    if (await countAdmins(tx) > 0) return false
    const present = await findUser(tx, { email })
    if (chosen && present !== undefined && present.email_confirmed_at !== null) {
      await updateUser(tx, present.id, { app_metadata: { ...present.app_metadata, role: 'admin' }, banned_until: null })
      await app.audit.append(tx, {
        actor: 'sistema', action: 'utente_modificato', object: `user:${present.id}`, details: { role: 'admin' }
      })
      return true
    }
    // A stranger may have signed up with the address.
    if (present) await deleteUser(tx, present.id)
    const password_hash = await app.identity.passwords.hash(checkSettings(password, email))
    const { id } = await createUser(tx, {
      email, password_hash, password_printed: !chosen, confirmed: true, app_metadata: { role: 'admin' }
    })
    await app.audit.append(tx, {
      actor: 'sistema', action: 'utente_creato', object: `user:${id}`, details: { role: 'admin' }
    })
    return true
  })
}

function checkSettings (password: string, email: string): string {
  if (!isEmail(email)) {
    throw new ConfigError('ADMIN_EMAIL', 'deve essere un indirizzo e-mail, per esempio anna@example.com')
  }
  const [problem] = passwordProblems(password, email)
  if (problem !== undefined) throw new ConfigError('ADMIN_PASSWORD', PASSWORD_PROBLEMS[problem])
  return password
}

/** A random password of 120 bits that a person can read out aloud. */
function readablePassword (): string {
  const characters = [...randomBytes(GROUPS * GROUP)].map((byte) => ALPHABET[byte % ALPHABET.length]!)
  return Array.from({ length: GROUPS }, (_, at) => characters.slice(at * GROUP, (at + 1) * GROUP).join('')).join('-')
}
