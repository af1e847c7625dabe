import { and, eq, lt, ne, or, isNull, sql } from 'drizzle-orm'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { factors, sessions } from '#drizzle/tables/identity.ts'
import { webauthn_credentials } from '#drizzle/tables/webauthn.ts'
import type { FactorType } from '#schemas/auth/factor.ts'
import type { AuditEntry } from '#src/services/audit/log.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { FactorRow, User } from '../people/find-users.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { METHODS } from '../session-status.ts'
import { listPasskeys } from './webauthn/credentials.ts'

export type StoredFactor = typeof factors.$inferSelect

/** After this time an unverified factor is deleted when the person enrols another one. */
const UNVERIFIED = sql`interval '15 minutes'`

/**
 * A factor of the given person. A factor of another person is reported as missing.
 * @throws AuthError mfa_factor_not_found
 */
export async function getFactor (db: Executor, user_id: string, id: string): Promise<StoredFactor> {
  const [found] = await db.select().from(factors).where(and(eq(factors.id, id), eq(factors.user_id, user_id)))
  if (!found) throw new AuthError('mfa_factor_not_found')
  return found
}

/** Deletes factors that the person has not verified in time. Requires the person's lock. */
export async function removeAbandoned (tx: Transaction, user_id: string): Promise<void> {
  await tx.delete(factors).where(and(
    eq(factors.user_id, user_id), eq(factors.status, 'unverified'), lt(factors.created_at, sql`now() - ${UNVERIFIED}`)
  ))
}

/** Records the time step of a TOTP code as used. Returns false when this step or a later one is already used. */
export async function takeStep (tx: Transaction, { id }: Pick<StoredFactor, 'id'>, step: number): Promise<boolean> {
  const taken = await tx.update(factors).set({ last_step: step })
    .where(and(eq(factors.id, id), or(isNull(factors.last_step), lt(factors.last_step, step))))
    .returning({ id: factors.id })
  return taken.length > 0
}

/**
 * Marks a factor as verified after its first proof. Deletes all other unverified factors, because a stranger who knew
 * the password may have enrolled them. Requires the person's lock.
 */
export async function markVerified (tx: Transaction, { id, user_id }: StoredFactor): Promise<void> {
  await tx.update(factors).set({ status: 'verified', updated_at: new Date() }).where(eq(factors.id, id))
  await tx.delete(factors).where(and(
    eq(factors.user_id, user_id), eq(factors.status, 'unverified'), ne(factors.id, id)
  ))
}

/** Finds a factor in a list. @throws AuthError mfa_factor_not_found */
export function requireFactor (all: readonly FactorRow[], id: string): FactorRow {
  const found = all.find((each) => each.id === id)
  if (!found) throw new AuthError('mfa_factor_not_found')
  return found
}

/**
 * Renames a factor to a name that is unique for the person. Returns the same row when the name does not change.
 * Requires the person's lock.
 * @throws AuthError mfa_factor_name_conflict
 */
async function updateName (
  tx: Transaction, all: readonly FactorRow[], factor: FactorRow, name: string | null | undefined
): Promise<FactorRow> {
  const friendly_name = name?.trim() ?? ''
  if (friendly_name === '' || friendly_name === factor.friendly_name) return factor
  if (all.some((each) => each.friendly_name === friendly_name)) throw new AuthError('mfa_factor_name_conflict')
  const [row] = await tx.update(factors).set({ friendly_name, updated_at: new Date() })
    .where(eq(factors.id, factor.id)).returning()
  return row!
}

/** Renames a person's factor, and writes a change to the audit log. @throws AuthError mfa_factor_not_found */
export async function renameFactor (
  tx: Transaction, request: FastifyRequest, { id: user, factors }: User, id: string, name: string | null | undefined
): Promise<FactorRow> {
  const factor = requireFactor(factors, id)
  const named = await updateName(tx, factors, factor, name)
  if (named === factor) return factor
  await record(tx, request, 'utente_modificato', `user:${user}`, { factor: id, fields: ['friendly_name'] })
  return named
}

export async function recordRemoved (
  tx: Transaction,
  request: FastifyRequest,
  { id, factor_type: type }: Pick<FactorRow, 'id' | 'factor_type'>,
  details: AuditEntry['details'] = {}
): Promise<void> {
  await record(tx, request, 'fattore_rimosso', `factor:${id}`, { type, ...details })
}

/** Deletes a factor. Sessions in which it was the last proven factor return to `aal1`. Requires the person's lock. */
export async function removeFactor (tx: Transaction, { id }: Pick<FactorRow, 'id'>): Promise<void> {
  const unproven = sql`select coalesce(jsonb_agg(entry order by at), '[]') from jsonb_array_elements(${sessions.amr})
    with ordinality as entries (entry, at) where entry ->> 'method' not in ${Object.values(METHODS)}`
  await tx.update(sessions).set({ amr: sql`(${unproven})`, factor_id: null, updated_at: new Date() })
    .where(eq(sessions.factor_id, id))
  await tx.delete(factors).where(eq(factors.id, id))
}

/** The verified factors, without recovery codes. */
export function realFactors<T extends Pick<FactorRow, 'status' | 'factor_type'>> (all: readonly T[]): T[] {
  return all.filter(({ status, factor_type }) => status === 'verified' && factor_type !== 'recovery_code')
}

export function ofType<T extends { factor_type: FactorType }> (all: readonly T[], type: FactorType): T | undefined {
  return all.find(({ factor_type }) => factor_type === type)
}

/**
 * Deletes all second factors and passkeys of a person at an administrator's request. Afterwards the person can sign in
 * with the password alone. All sessions of the person end. Requires the person's lock. The caller delivers mails after
 * the commit.
 * @returns the audit log entries. Write them as the last statements of the transaction
 */
export async function removeAllProofs (
  app: Pick<FastifyInstance, 'mail'>, tx: Transaction, person: User
): Promise<Required<Pick<AuditEntry, 'action' | 'object' | 'details'>>[]> {
  const { id: user } = person
  const passkeys = await listPasskeys(tx, user)
  await tx.delete(sessions).where(eq(sessions.user_id, user))
  await tx.delete(webauthn_credentials).where(eq(webauthn_credentials.user_id, user))
  await tx.delete(factors).where(eq(factors.user_id, user))
  if (person.factors.length + passkeys.length > 0) await notify(app, tx, person, 'access_reset')
  return [
    ...person.factors.map(({ id, factor_type: type, status }) => (
      { action: 'fattore_rimosso', object: `factor:${id}`, details: { type, status, user } } as const
    )),
    ...passkeys.map(({ id }) => ({ action: 'passkey_eliminata', object: `passkey:${id}`, details: { user } } as const))
  ]
}
