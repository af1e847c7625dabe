import { and, asc, count, desc, eq, inArray, isNotNull, isNull, ne, or, sql, type SQL } from 'drizzle-orm'
import { api_keys, identities, sessions, users, type Metadata } from '#drizzle/tables/identity.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import { normalizeEmail } from './email.ts'
import { AuthError } from '../errors.ts'
import { forgetTokens } from '../sign-in/one-time-tokens.ts'
import { isAdmin } from './roles.ts'

export type UserRow = typeof users.$inferSelect
export type IdentityRow = typeof identities.$inferSelect

/** A person with the ways in which they can sign in, oldest first. */
export interface User extends UserRow { identities: IdentityRow[] }

export interface NewUser {
  email: string
  password_hash?: string | null
  /** The address is proven, or an administrator vouches for it. */
  confirmed: boolean
  invited?: boolean
  app_metadata?: Metadata
  user_metadata?: Metadata
}

export type UserChange = Partial<
  Pick<
    UserRow,
    | 'email'
    | 'password_hash'
    | 'email_confirmed_at'
    | 'app_metadata'
    | 'user_metadata'
    | 'banned_until'
    | 'new_email'
    | 'confirmation_sent_at'
    | 'recovery_sent_at'
    | 'email_change_sent_at'
    | 'reauthentication_sent_at'
    | 'last_sign_in_at'
    | 'invited_at'
  >
>

const alive = isNull(users.deleted_at)

export async function findUser (db: Executor, by: { id: string } | { email: string }): Promise<User | undefined> {
  const where = 'id' in by ? eq(users.id, by.id) : eq(users.email, normalizeEmail(by.email))
  const [row] = await db.select().from(users).where(and(where, alive))
  return row && await withIdentities(db, row)
}

/** @throws AuthError user_not_found */
export async function getUser (db: Executor, id: string): Promise<User> {
  const user = await findUser(db, { id })
  if (!user) throw new AuthError('user_not_found')
  return user
}

/**
 * A person as they are while nobody else changes them, begins or ends a session of theirs: until the transaction ends.
 */
export async function lockUser (tx: Transaction, id: string): Promise<UserRow | undefined> {
  // Of all locks that keep others from changing the row the weakest: rows may refer to it meanwhile.
  const [row] = await tx.select().from(users).where(and(eq(users.id, id), alive)).for('no key update')
  return row
}

/** The same while nobody changes anybody's rights either. @throws AuthError user_not_found */
export async function getUserToChange (tx: Transaction, id: string): Promise<User> {
  await lockRights(tx)
  const row = await lockUser(tx, id)
  if (!row) throw new AuthError('user_not_found')
  return await withIdentities(tx, row)
}

/** A page of everybody, newest first; all of them without `limit`. */
export async function listUsers (
  db: Executor, { limit, offset, where }: { limit?: number, offset?: number, where?: SQL } = {}
): Promise<{ users: User[], total: number }> {
  const condition = and(alive, where)
  const page = db.select().from(users).where(condition).orderBy(desc(users.created_at), asc(users.id)).$dynamic()
  if (limit !== undefined) page.limit(limit).offset(offset ?? 0)
  const rows = await page
  const [counted] = await db.select({ total: count() }).from(users).where(condition)
  const ids = rows.map(({ id }) => id)
  const theirs = await db
    .select()
    .from(identities)
    .where(inArray(identities.user_id, ids))
    .orderBy(asc(identities.created_at))
  const byUser = Map.groupBy(theirs, ({ user_id }) => user_id)
  return { users: rows.map((row) => ({ ...row, identities: byUser.get(row.id) ?? [] })), total: counted!.total }
}

/** An account with an e-mail identity. @throws AuthError email_exists */
export async function createUser (tx: Transaction, account: NewUser): Promise<User> {
  const { email, password_hash = null, confirmed, invited = false, app_metadata = {}, user_metadata = {} } = account
  const now = new Date()
  const row = await insertUser(tx, {
    email: normalizeEmail(email),
    password_hash,
    email_confirmed_at: confirmed ? now : null,
    invited_at: invited ? now : null,
    app_metadata: { provider: 'email', providers: ['email'], ...app_metadata },
    user_metadata
  })
  const identity_data = { sub: row.id, email: row.email, email_verified: confirmed, phone_verified: false }
  await addIdentity(tx, row.id, { provider: 'email', provider_id: row.id, identity_data })
  return await withIdentities(tx, row)
}

/** @throws AuthError email_exists */
export async function insertUser (tx: Transaction, values: typeof users.$inferInsert): Promise<UserRow> {
  // A savepoint: a taken address is answered, not a broken transaction.
  return await refusingTaken(async () => {
    const [row] = await tx.transaction(async (inner) => await inner.insert(users).values(values).returning())
    return row!
  })
}

export async function addIdentity (
  tx: Executor,
  user_id: string,
  { provider, provider_id, identity_data }: Pick<IdentityRow, 'provider' | 'provider_id' | 'identity_data'>
): Promise<IdentityRow> {
  const [row] = await tx
    .insert(identities)
    .values({ user_id, provider, provider_id, identity_data, last_sign_in_at: new Date() })
    .returning()
  return row!
}

/** @throws AuthError user_not_found, email_exists, last_admin */
export async function updateUser (tx: Transaction, id: string, change: UserChange): Promise<User> {
  if (change.app_metadata !== undefined || change.banned_until !== undefined || change.email_confirmed_at === null) {
    await keepAnAdmin(tx, id, (row) => mayAdminister({ ...row, ...change }))
  }
  const [row] = await refusingTaken(async () => await tx.transaction(async (inner) => (
    await inner.update(users).set({ ...change, ...normalized(change.email), updated_at: new Date() })
      .where(and(eq(users.id, id), alive)).returning()
  )))
  if (!row) throw new AuthError('user_not_found')
  if (change.email !== undefined || change.email_confirmed_at !== undefined) await followEmail(tx, row)
  return await withIdentities(tx, row)
}

/**
 * Removes a person, or (`soft`) keeps the empty row so that its id is never another's. Their sessions and keys end with
 * them.
 * @throws AuthError user_not_found, last_admin
 */
export async function deleteUser (tx: Transaction, id: string, soft = false): Promise<void> {
  await forgetTokens(tx, id)
  await keepAnAdmin(tx, id, () => false)
  const [gone] = soft
    ? await tx
      .update(users)
      .set({
        deleted_at: new Date(),
        email: `deleted-${id}`,
        password_hash: null,
        user_metadata: {},
        app_metadata: {},
        new_email: null
      })
      .where(and(eq(users.id, id), alive))
      .returning({ id: users.id })
    : await tx
      .delete(users)
      .where(and(eq(users.id, id), alive))
      .returning({ id: users.id })
  if (!gone) throw new AuthError('user_not_found')
  await tx
    .update(api_keys)
    .set({ revoked_at: sql`now()` })
    .where(and(eq(api_keys.user_id, id), isNull(api_keys.revoked_at)))
  if (soft) {
    await tx.delete(sessions).where(eq(sessions.user_id, id))
    await tx.delete(identities).where(eq(identities.user_id, id))
  }
}

/** `app_metadata.provider(s)` as the identities have it. */
export async function recountProviders (tx: Transaction, id: string): Promise<void> {
  const theirs = await tx.select({ provider: identities.provider }).from(identities)
    .where(eq(identities.user_id, id)).orderBy(asc(identities.created_at))
  const providers = [...new Set(theirs.map(({ provider }) => provider))]
  const counted = JSON.stringify({ provider: providers[0] ?? 'email', providers })
  await tx
    .update(users)
    .set({ app_metadata: sql`${users.app_metadata} || ${counted}::jsonb`, updated_at: new Date() })
    .where(eq(users.id, id))
}

/** Keys of `patch` over those of `base`; null takes a key away. */
export function mergeMetadata (base: Metadata, patch: Metadata): Metadata {
  return Object.fromEntries(Object.entries({ ...base, ...patch }).filter(([, value]) => value !== null))
}

export async function withIdentities (db: Executor, row: UserRow): Promise<User> {
  return {
    ...row,
    identities: await db
      .select()
      .from(identities)
      .where(eq(identities.user_id, row.id))
      .orderBy(asc(identities.created_at))
  }
}

function normalized (email: string | undefined): { email?: string } {
  return email === undefined ? {} : { email: normalizeEmail(email) }
}

export function isBanned (until: Date | null): boolean {
  return until !== null && until.getTime() > Date.now()
}

/**
 * There is always an administrator who can come in. Changes queue, so that of two at once the second one sees what the
 * first did.
 */
async function keepAnAdmin (tx: Transaction, id: string, staysAdmin: (row: UserRow) => boolean): Promise<void> {
  await lockRights(tx)
  const [row] = await tx.select().from(users).where(and(eq(users.id, id), alive))
  if (!row || !mayAdminister(row) || staysAdmin(row)) return
  const [others] = await tx.select({ n: count() }).from(users)
    .where(and(alive, ne(users.id, id), adminRows, notBanned, isNotNull(users.email_confirmed_at)))
  if (others!.n === 0) throw new AuthError('last_admin')
}

/** Whether somebody is an administrator who can come in. */
function mayAdminister ({ app_metadata, banned_until, email_confirmed_at }: UserRow): boolean {
  return isAdmin(app_metadata) && !isBanned(banned_until) && email_confirmed_at !== null
}

async function lockRights (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.rights})`)
}

/** The administrators, as `isAdmin` knows them. */
const adminRows = sql`(${users.app_metadata} ->> 'role' = 'admin'
  or (jsonb_typeof(${users.app_metadata} -> 'roles') = 'array' and ${users.app_metadata} -> 'roles' ? 'admin'))`
const notBanned = or(isNull(users.banned_until), sql`${users.banned_until} <= now()`)

export async function countAdmins (db: Executor): Promise<number> {
  const [found] = await db.select({ n: count() }).from(users).where(and(alive, adminRows))
  return found!.n
}

/** A session that is not refreshed for so long has ended (OWASP ASVS 7.3). */
export const IDLE_DAYS = 14

/** Sessions that go on. */
export const liveSession = sql`(${sessions.not_after} > now()
  and coalesce(${sessions.refreshed_at}, ${sessions.created_at}) > now() - make_interval(days => ${IDLE_DAYS}))`

/** The e-mail identity says what the account says. */
async function followEmail (tx: Transaction, { id, email, email_confirmed_at }: UserRow): Promise<void> {
  const data = JSON.stringify({ email, email_verified: email_confirmed_at !== null })
  await tx
    .update(identities)
    .set({ identity_data: sql`${identities.identity_data} || ${data}::jsonb`, updated_at: new Date() })
    .where(and(eq(identities.user_id, id), eq(identities.provider, 'email')))
}

async function refusingTaken<T> (work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (postgresError(err)?.constraint_name === 'users_email') throw new AuthError('email_exists')
    throw err
  }
}
