import { and, eq } from 'drizzle-orm'
import type { FastifyRequest } from 'fastify'
import { identities, type Metadata } from '#drizzle/tables/identity.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { getSessionOwner, type SessionRow } from '../sign-in/person-sessions.ts'
import { isStorable } from '../people/metadata.ts'
import { findUser, isBanned, type IdentityRow, type UserRow } from '../people/find-users.ts'
import { lockSignIns, lockUser } from '../people/people-locks.ts'
import { addIdentity, updateProviders } from '../people/identity-rows.ts'
import { ADDRESS_PROVEN, revokeUnprovenAccess } from '../people/revoke-access.ts'
import { insertUser, updateUser } from '../people/users.ts'
import { recordOf } from '../audit-record.ts'
import { missingEmail, unverifiedEmail } from './errors.ts'
import type { Profile } from './profile.ts'

interface AccountMatch {
  user: UserRow
  how: 'known' | 'linked' | 'created'
  /** Whether earlier access was revoked. If so, the caller awaits `waitForListeners` after the commit. */
  accessRevoked: boolean
}

export interface ProviderIdentity { provider: string, profile: Profile }

/** Fields that this service writes itself. A provider's `name` is a full name, and must not replace the first name. */
const OWN_NAMES = ['name', 'surname']

/**
 * Finds the account of a person who signs in through a provider: by the identity if it is known, otherwise by the
 * verified address. Without an account it creates one. The account's row is locked or written by this transaction.
 * @throws AuthError user_banned, user_not_found, signup_disabled, identity_not_found, OAuthError when the address is
 * missing or not verified
 */
export async function findOrCreateAccount (
  tx: Transaction, incoming: ProviderIdentity, signupEnabled: boolean
): Promise<AccountMatch> {
  await lockSignIns(tx)
  const { provider, profile } = incoming
  const identity = await findIdentity(tx, incoming)
  if (identity) return await signInKnown(tx, incoming, identity)

  const { email, emailVerified } = profile
  if (email === undefined) throw missingEmail()
  if (!emailVerified) throw unverifiedEmail(provider)
  const owner = await findUser(tx, { email })
  if (!owner) {
    if (!signupEnabled) throw new AuthError('signup_disabled')
    return await createAccount(tx, incoming, email)
  }
  const person = await lockUnbanned(tx, owner.id)
  const accessRevoked = person.email_confirmed_at === null
  if (accessRevoked) await revokeUnprovenAccess(tx, person.id)
  await addIdentity(tx, person.id, rowOf(incoming))
  return { user: await applyProfile(tx, person, profile), how: 'linked', accessRevoked }
}

/** The account for a sign-in through a provider. With `linking`, the account to which the identity is added. */
export async function findAccount (
  tx: Transaction,
  incoming: ProviderIdentity,
  linking: { userId: string, sessionId: string | undefined } | undefined,
  signupEnabled: boolean
): Promise<AccountMatch> {
  if (linking === undefined) return await findOrCreateAccount(tx, incoming, signupEnabled)
  const user = await linkIdentity(tx, incoming, linking.userId, linking.sessionId)
  return { user, how: 'linked', accessRevoked: false }
}

/**
 * Adds an identity to the account of a signed-in person.
 * @throws AuthError identity_already_exists, session_not_found, user_banned
 */
export async function linkIdentity (
  tx: Transaction, incoming: ProviderIdentity, userId: string, sessionId: string | undefined
): Promise<UserRow> {
  await requireLinkable(tx, incoming, userId, sessionId)
  await addIdentity(tx, userId, rowOf(incoming))
  return await updateProviders(tx, userId)
}

/** Locks the person whose account gets the identity. @throws AuthError like `linkIdentity` */
export async function requireLinkable (
  tx: Transaction, incoming: ProviderIdentity, userId: string, sessionId: string | undefined
): Promise<UserRow> {
  await lockSignIns(tx)
  // The session may have ended since the flow started. A thief whose session was ended must not link an identity.
  if (sessionId === undefined) throw new AuthError('session_not_found')
  const person = await getSessionOwner(tx, { userId, sessionId })
  const identity = await findIdentity(tx, incoming)
  if (identity?.user_id === userId) {
    throw new AuthError('identity_already_exists', { message: 'Identity is already linked' })
  }
  if (identity) throw new AuthError('identity_already_exists')
  return person
}

async function signInKnown (
  tx: Transaction, incoming: ProviderIdentity, { id, user_id }: IdentityRow
): Promise<AccountMatch> {
  const { provider, profile } = incoming
  const person = await lockUnbanned(tx, user_id)
  const accessRevoked = person.email_confirmed_at === null
  if (accessRevoked) {
    if (!profile.emailVerified || profile.email !== person.email) throw unverifiedEmail(provider)
    await revokeUnprovenAccess(tx, person.id, id)
  }
  const [present] = await tx.update(identities).set({ identity_data: profile.metadata, updated_at: new Date() })
    .where(eq(identities.id, id)).returning({ id: identities.id })
  // The person may have unlinked the identity before this lock.
  if (!present) throw new AuthError('identity_not_found')
  return { user: await applyProfile(tx, person, profile), how: 'known', accessRevoked }
}

async function createAccount (tx: Transaction, incoming: ProviderIdentity, email: string): Promise<AccountMatch> {
  const { provider, profile: { metadata } } = incoming
  const row = await insertUser(tx, {
    email,
    email_confirmed_at: new Date(),
    app_metadata: { provider, providers: [provider], role: 'pending' },
    user_metadata: metadata
  })
  await addIdentity(tx, row.id, rowOf(incoming))
  return { user: row, how: 'created', accessRevoked: false }
}

/** Copies the provider's profile to the account, and confirms the account's address. */
async function applyProfile (
  tx: Transaction, { id, email_confirmed_at, invited_at, user_metadata }: UserRow, { metadata }: Profile
): Promise<UserRow> {
  // A stranger may have written the metadata of an unconfirmed account. Keep only metadata from an administrator.
  const known = email_confirmed_at === null && invited_at === null ? {} : user_metadata
  const merged = { ...known, ...metadata, ...ownNames(known) }
  await updateUser(tx, id, {
    // Drop a profile that makes the metadata too long, because the person's access tokens would be rejected.
    user_metadata: isStorable(merged) ? merged : known,
    ...(email_confirmed_at === null ? { email_confirmed_at: new Date() } : {})
  })
  return await updateProviders(tx, id)
}

function ownNames (known: Metadata): Metadata {
  return Object.fromEntries(Object.entries(known).filter(([key]) => OWN_NAMES.includes(key)))
}

async function findIdentity (
  tx: Transaction, { provider, profile }: ProviderIdentity
): Promise<IdentityRow | undefined> {
  const [found] = await tx.select().from(identities)
    .where(and(eq(identities.provider, provider), eq(identities.provider_id, profile.subject)))
  return found
}

function rowOf ({
  provider, profile: { subject, metadata }
}: ProviderIdentity): Pick<IdentityRow, 'provider' | 'provider_id' | 'identity_data'> {
  return { provider, provider_id: subject, identity_data: metadata }
}

async function lockUnbanned (tx: Transaction, id: string): Promise<UserRow> {
  const person = await lockUser(tx, id)
  if (!person) throw new AuthError('user_not_found')
  if (isBanned(person.banned_until)) throw new AuthError('user_banned')
  return person
}

interface ProviderSignIn extends Pick<AccountMatch, 'how' | 'accessRevoked'> {
  user: Pick<UserRow, 'id'>
  provider: string
  /** Whether the identity was linked because the verified address matches, and not at the person's request. */
  automatic: boolean
  /** Undefined when the client gets a code, whose exchange begins the session and records it in the audit log. */
  session: SessionRow | undefined
}

/** Records a sign-in through a provider in the audit log. Call it as the last statement of the transaction. */
export async function recordSignIn (
  tx: Transaction,
  request: FastifyRequest,
  { user: { id }, provider, how, automatic, accessRevoked, session }: ProviderSignIn
): Promise<void> {
  const person = `user:${id}`
  if (how === 'created') await recordOf(tx, request, id, 'utente_creato', person, { role: 'pending', provider })
  if (how === 'linked') await recordOf(tx, request, id, 'identita_collegata', person, { provider, automatic })
  if (accessRevoked) await recordOf(tx, request, id, 'sessioni_revocate', person, { ...ADDRESS_PROVEN, provider })
  if (session) await recordOf(tx, request, id, 'accesso', `session:${session.id}`, { method: 'oauth', provider })
}
