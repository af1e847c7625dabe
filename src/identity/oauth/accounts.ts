import { and, eq, ne, or, sql } from 'drizzle-orm'
import {
  api_keys,
  flow_states,
  identities,
  one_time_tokens,
  sessions,
  users,
  type Metadata
} from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { AuthError } from '../errors.ts'
import { endSessions } from '../sign-in/sessions.ts'
import { isStorable } from '../people/metadata.ts'
import {
  addIdentity,
  findUser,
  getUser,
  insertUser,
  isBanned,
  liveSession,
  recountProviders,
  updateUser,
  type IdentityRow,
  type User
} from '../people/users.ts'
import { noEmail, unverifiedEmail } from './problems.ts'
import type { Profile } from './profile.ts'

/** What has become of somebody who came through a provider. */
export interface Arrival {
  user: User
  how: 'known' | 'linked' | 'created'
  /** Somebody else's ways into the account were closed: to be awaited with `settled` after the commit. */
  tookAway: boolean
}

export interface Newcomer { provider: string, profile: Profile }

/**
 * What the house itself writes of a person, in its own sense: a provider's full name is not to stand in front of the
 * surname.
 */
const OWN_NAMES = ['name', 'surname']

/**
 * Whose account it is. A known identity is its owner's; a proven address is that of the account which has it, or of a
 * new one.
 * @throws AuthError user_banned, signup_disabled; OAuthProblem when the address is missing or not proven
 */
export async function arrive (tx: Transaction, newcomer: Newcomer, signupEnabled: boolean): Promise<Arrival> {
  await queue(tx)
  const { provider, profile } = newcomer
  const identity = await findIdentity(tx, newcomer)
  if (identity) return await comeBack(tx, newcomer, identity)

  const { email, emailVerified } = profile
  if (email === undefined) throw noEmail()
  if (!emailVerified) throw unverifiedEmail(provider)
  const owner = await findUser(tx, { email })
  if (!owner) {
    if (!signupEnabled) throw new AuthError('signup_disabled')
    return await open(tx, newcomer, email)
  }
  refuseBanned(owner)
  const tookAway = owner.email_confirmed_at === null
  if (tookAway) await takeOver(tx, owner)
  await addIdentity(tx, owner.id, rowOf(newcomer))
  return { user: await settle(tx, owner, profile), how: 'linked', tookAway }
}

/**
 * A further identity for somebody who is signed in.
 * @throws AuthError identity_already_exists, session_not_found, user_banned
 */
export async function link (
  tx: Transaction,
  newcomer: Newcomer,
  userId: string,
  sessionId: string | undefined
): Promise<User> {
  await queue(tx)
  const [session] =
    sessionId === undefined
      ? []
      : await tx
        .select({ id: sessions.id })
        .from(sessions)
        .where(and(eq(sessions.id, sessionId), eq(sessions.user_id, userId), liveSession))
  // Whoever was signed out meanwhile, or has signed a thief out, links nothing.
  if (!session) throw new AuthError('session_not_found')
  refuseBanned(await getUser(tx, userId))
  const identity = await findIdentity(tx, newcomer)
  if (identity?.user_id === userId) {
    throw new AuthError('identity_already_exists', { message: 'Identity is already linked' })
  }
  if (identity) throw new AuthError('identity_already_exists')
  await addIdentity(tx, userId, rowOf(newcomer))
  await recountProviders(tx, userId)
  return await getUser(tx, userId)
}

async function comeBack (tx: Transaction, newcomer: Newcomer, { id, user_id }: IdentityRow): Promise<Arrival> {
  const { provider, profile } = newcomer
  const user = await getUser(tx, user_id)
  refuseBanned(user)
  const tookAway = user.email_confirmed_at === null
  if (tookAway) {
    if (!profile.emailVerified || profile.email !== user.email) throw unverifiedEmail(provider)
    await takeOver(tx, user, id)
  }
  await tx
    .update(identities)
    .set({ identity_data: profile.metadata, updated_at: new Date() })
    .where(eq(identities.id, id))
  return { user: await settle(tx, user, profile), how: 'known', tookAway }
}

/** A new account waits until an administrator gives it a role. */
async function open (tx: Transaction, newcomer: Newcomer, email: string): Promise<Arrival> {
  const { provider, profile: { metadata } } = newcomer
  const row = await insertUser(tx, {
    email,
    email_confirmed_at: new Date(),
    app_metadata: { provider, providers: [provider], role: 'pending' },
    user_metadata: metadata
  })
  await addIdentity(tx, row.id, rowOf(newcomer))
  return { user: await getUser(tx, row.id), how: 'created', tookAway: false }
}

/**
 * An address that was never confirmed may have been claimed by somebody else, to be in the account before its owner
 * comes. The owner has come: nothing that was there before leads in any more.
 * @param identityId the one that has been proven just now
 */
async function takeOver (tx: Transaction, { id }: User, identityId?: string): Promise<void> {
  const others = identityId === undefined ? undefined : ne(identities.id, identityId)
  await tx.delete(identities).where(and(eq(identities.user_id, id), others))
  await endSessions(tx, id, 'global')
  await tx
    .update(api_keys)
    .set({ revoked_at: sql`coalesce(${api_keys.revoked_at}, now())` })
    .where(eq(api_keys.user_id, id))
  await tx.delete(one_time_tokens).where(eq(one_time_tokens.user_id, id))
  // Their codes, and identities on the way to being linked.
  await tx.delete(flow_states).where(or(eq(flow_states.user_id, id), eq(flow_states.linking_user_id, id)))
  await tx.update(users).set({ password_hash: null, new_email: null }).where(eq(users.id, id))
}

/** The account with what the provider says of the person; its address counts as confirmed. */
async function settle (
  tx: Transaction,
  { id, email_confirmed_at, invited_at, user_metadata }: User,
  { metadata }: Profile
): Promise<User> {
  // Of an account that nobody had confirmed, whatever was said of its owner is forgotten, unless an administrator had
  // said it.
  const known = email_confirmed_at === null && invited_at === null ? {} : user_metadata
  const merged = { ...known, ...metadata, ...ownNames(known) }
  await updateUser(tx, id, {
    // What does not fit beside their own words is left out: their tokens would be too long to be taken.
    user_metadata: isStorable(merged) ? merged : known,
    ...(email_confirmed_at === null ? { email_confirmed_at: new Date() } : {})
  })
  await recountProviders(tx, id)
  return await getUser(tx, id)
}

function ownNames (known: Metadata): Metadata {
  return Object.fromEntries(Object.entries(known).filter(([key]) => OWN_NAMES.includes(key)))
}

/** One at a time: of two that come for the first time together the second one finds what the first has made. */
async function queue (tx: Transaction): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.accounts})`)
}

async function findIdentity (tx: Transaction, { provider, profile }: Newcomer): Promise<IdentityRow | undefined> {
  const [found] = await tx
    .select()
    .from(identities)
    .where(and(eq(identities.provider, provider), eq(identities.provider_id, profile.subject)))
  return found
}

function rowOf ({
  provider,
  profile: { subject, metadata }
}: Newcomer): Pick<IdentityRow, 'provider' | 'provider_id' | 'identity_data'> {
  return { provider, provider_id: subject, identity_data: metadata }
}

function refuseBanned ({ banned_until }: User): void {
  if (isBanned(banned_until)) throw new AuthError('user_banned')
}
