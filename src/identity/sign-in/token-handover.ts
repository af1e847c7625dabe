import { and, eq } from 'drizzle-orm'
import { sessions } from '#drizzle/tables/identity.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { sealForClient } from '../oauth/flow-secrets.ts'
import { getUser } from '../people/find-users.ts'
import { createFlow, issueAuthCode, type Challenge } from './flow-states.ts'
import { getSessionOwner, liveSession, type Client, type SignedIn } from './person-sessions.ts'

/* Gives a front end its own session, when a person who is signed in on the pages of this server returns to it. */

/** The sign-in method of such a session in the audit log. */
const METHOD = 'pages'

/**
 * Creates the code that the front end exchanges (PKCE). The session on the pages continues.
 * @param target an allowed URL, and the front end's challenge
 * @throws AuthError session_not_found, user_banned, insufficient_aal
 */
export async function issueTokenHandover (
  tx: Transaction,
  keys: Keys,
  { user: { id: userId }, session: { id: session_id, provider } }: SignedIn,
  { redirectTo, challenge }: { redirectTo: string, challenge: Challenge }
): Promise<string> {
  await getSessionOwner(tx, { userId, sessionId: session_id })
  const flow = await createFlow(tx, {
    provider: provider ?? 'email', ...challenge, redirect_to: redirectTo, authentication_method: METHOD
  })
  const kept = sealForClient(keys, flow.id, { tokens: {}, handover: { session_id } })
  return await issueAuthCode(tx, flow.id, userId, kept)
}

/**
 * Begins the front end's session with the age and proofs of the session on the pages, if that session is active.
 * Requires the person's lock. Errors are returned, so that the commit uses up the code.
 */
export async function acceptTokenHandover (
  tx: Transaction, userId: string, { session_id }: { session_id: string }, client: Client
): Promise<SignedIn | AuthError> {
  const ofPerson = and(eq(sessions.id, session_id), eq(sessions.user_id, userId), liveSession)
  const [origin] = await tx.select().from(sessions).where(ofPerson)
  if (!origin) return new AuthError('flow_state_not_found')
  const { user_id, amr, provider, factor_id, not_after, created_at } = origin
  const [session] = await tx.insert(sessions)
    .values({ user_id, amr, provider, factor_id, not_after, created_at, refreshed_at: new Date(), ...client })
    .returning()
  return { user: await getUser(tx, userId), session: session! }
}
