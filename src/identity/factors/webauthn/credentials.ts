import { and, asc, eq, isNotNull, isNull, lte, lt, or, sql } from 'drizzle-orm'
import { webauthn_challenges, webauthn_credentials as t } from '#drizzle/tables/webauthn.ts'
import type { Passkey, CEREMONIES } from '#schemas/auth/passkey.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { AuthError } from '../../errors.ts'
import { isUuid } from '../../uuid.ts'

export type CredentialRow = typeof t.$inferSelect
export type NewCredential = Pick<CredentialRow, 'credential_id' | 'public_key' | 'counter' | 'transports'>
type Ceremony = typeof CEREMONIES[number]

const LIFETIME_MS = 300_000
const OLD = sql`now() - interval '1 hour'`

export async function listPasskeys (db: Executor, user_id: string): Promise<CredentialRow[]> {
  return await db.select().from(t).where(and(eq(t.user_id, user_id), isNull(t.factor_id))).orderBy(asc(t.created_at))
}

export async function listOfFactors (db: Executor, user_id: string, factor_id?: string): Promise<CredentialRow[]> {
  const which = factor_id === undefined ? isNotNull(t.factor_id) : eq(t.factor_id, factor_id)
  return await db.select().from(t).where(and(eq(t.user_id, user_id), which))
}

export async function findPasskey (db: Executor, credential_id: string): Promise<CredentialRow | undefined> {
  const [found] = await db.select().from(t).where(and(eq(t.credential_id, credential_id), isNull(t.factor_id)))
  return found
}

export async function addCredential (
  tx: Transaction, values: NewCredential & { user_id: string, factor_id?: string }
): Promise<CredentialRow> {
  try {
    const [row] = await tx.transaction(async (inner) => await inner.insert(t).values(values).returning())
    return row!
  } catch (err) {
    if (postgresError(err)?.constraint_name !== 'webauthn_credentials_credential') throw err
    throw new AuthError('webauthn_credential_exists')
  }
}

/**
 * Records a use. Returns false when the device's counter is not above the stored one, because a concurrent request had
 * the same proof, or the device was copied. A device without a counter always sends 0, which is accepted.
 */
export async function noteUse (tx: Transaction, id: string, counter: number): Promise<boolean> {
  const noted = await tx.update(t).set({ counter, last_used_at: new Date() })
    .where(and(eq(t.id, id), or(lt(t.counter, counter), and(eq(t.counter, 0), lte(t.counter, counter)))))
    .returning({ id: t.id })
  return noted.length > 0
}

/** Renames a person's passkey. @throws AuthError validation_failed when it is missing or another person's */
export async function renamePasskey (tx: Transaction, user_id: string, id: string, friendly_name: string) {
  return await requirePasskey(tx.update(t).set({ friendly_name }).where(passkeyOf(user_id, id)).returning())
}

/** Deletes a person's passkey. @throws AuthError validation_failed when it is missing or another person's */
export async function removePasskey (tx: Transaction, user_id: string, id: string): Promise<CredentialRow> {
  return await requirePasskey(tx.delete(t).where(passkeyOf(user_id, id)).returning())
}

export async function keepChallenge (
  db: Executor, ceremony: Ceremony, challenge: string, user_id: string | null
): Promise<{ id: string, expires_at: number }> {
  await db.delete(webauthn_challenges).where(lt(webauthn_challenges.created_at, OLD))
  const [row] = await db.insert(webauthn_challenges).values({ ceremony, challenge, user_id }).returning()
  return { id: row!.id, expires_at: Math.floor((row!.created_at.getTime() + LIFETIME_MS) / 1000) }
}

/** Deletes and returns a challenge. @throws AuthError webauthn_challenge_not_found, webauthn_challenge_expired */
export async function takeChallenge (
  db: Executor, ceremony: Ceremony, id: string, user_id: string | null
): Promise<string> {
  const { id: column, ceremony: kind, user_id: owner } = webauthn_challenges
  const which = and(eq(column, id), eq(kind, ceremony), user_id === null ? isNull(owner) : eq(owner, user_id))
  const [row] = isUuid(id) ? await db.delete(webauthn_challenges).where(which).returning() : []
  if (!row) throw new AuthError('webauthn_challenge_not_found')
  if (row.created_at.getTime() + LIFETIME_MS <= Date.now()) throw new AuthError('webauthn_challenge_expired')
  return row.challenge
}

export function presentPasskey ({ id, friendly_name, created_at, last_used_at }: CredentialRow): Passkey {
  return {
    id,
    ...(friendly_name === null ? {} : { friendly_name }),
    created_at: created_at.toISOString(),
    ...(last_used_at === null ? {} : { last_used_at: last_used_at.toISOString() })
  }
}

function passkeyOf (user_id: string, id: string) {
  return and(eq(t.id, id), eq(t.user_id, user_id), isNull(t.factor_id))
}

async function requirePasskey (rows: Promise<CredentialRow[]>): Promise<CredentialRow> {
  const [row] = await rows
  if (!row) throw new AuthError('validation_failed', { status: 404, message: 'Passkey not found' })
  return row
}
