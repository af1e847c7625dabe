import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { and, eq, isNotNull, lt, or, sql } from 'drizzle-orm'
import { flow_states } from '#drizzle/tables/identity.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { lockSignIns, lockUser } from '../people/people-locks.ts'
import { isUuid } from '../uuid.ts'

export type FlowState = typeof flow_states.$inferSelect

/** The time limit of a sign-in through a provider, and afterwards of its code. */
const FLOW_MS = 300_000
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/
const METHODS = ['s256', 'plain']

export interface ChallengeParameters { code_challenge?: string | null, code_challenge_method?: string | null }

/** A client's PKCE challenge (RFC 7636): both fields or neither. */
export type Challenge = Pick<FlowState, 'code_challenge' | 'code_challenge_method'>

/** @throws AuthError validation_failed, for an incomplete or malformed challenge */
export function readChallenge ({
  code_challenge: challenge, code_challenge_method: method
}: ChallengeParameters): Challenge {
  if (!challenge && !method) return { code_challenge: null, code_challenge_method: null }
  const kind = (method ?? '').toLowerCase()
  if (!challenge || !METHODS.includes(kind)) {
    throw validationFailed('PKCE flow requires code_challenge_method and code_challenge')
  }
  if (!VERIFIER.test(challenge)) throw validationFailed('code challenge has to be between 43 and 128 characters long')
  return { code_challenge: challenge, code_challenge_method: kind }
}

export async function createFlow (db: Executor, start: typeof flow_states.$inferInsert): Promise<FlowState> {
  const [state] = await db.insert(flow_states).values(start).returning()
  return state!
}

/** Takes the flow of a provider's callback. A flow can be taken once, even if the callback is invalid. */
export async function takeFlow (db: Executor, state: string): Promise<FlowState | undefined> {
  if (!isUuid(state)) return undefined
  const [flow] = await db.delete(flow_states)
    .where(and(eq(flow_states.id, state), isNotNull(flow_states.provider_secrets))).returning()
  return flow
}

export function isFlowExpired (since: Date): boolean {
  return since.getTime() + FLOW_MS <= Date.now()
}

/** Creates a code after the person has proven their identity. The client exchanges the code for a session. */
export async function issueAuthCode (
  tx: Executor, id: string, user_id: string, provider_tokens: Buffer | null = null
): Promise<string> {
  const code = randomBytes(32).toString('base64url')
  await tx.update(flow_states)
    .set({ auth_code: digest(code), user_id, provider_tokens, authenticated_at: new Date() })
    .where(eq(flow_states.id, id))
  return code
}

/**
 * Takes a code, locks its person, and checks that the exchanging client started the flow. A wrong verifier does not use
 * up the code, because neither can be guessed. Errors (flow_state_not_found, flow_state_expired, bad_code_verifier) are
 * returned.
 */
export async function exchangeCode (
  tx: Transaction, code: string, verifier: string
): Promise<(FlowState & { user_id: string }) | AuthError> {
  const { auth_code, user_id, linking_user_id } = flow_states
  const isCode = eq(auth_code, digest(code))
  const [found] = await tx.select({ user_id, linking_user_id }).from(flow_states).where(isCode)
  if (found?.linking_user_id) await lockSignIns(tx)
  if (found?.user_id) await lockUser(tx, found.user_id)
  const [state] = await tx.select().from(flow_states).where(isCode).for('update')
  if (!state || state.user_id === null || state.authenticated_at === null) return new AuthError('flow_state_not_found')
  if (isFlowExpired(state.authenticated_at)) return new AuthError('flow_state_expired')
  if (!matchesChallenge(state, verifier)) return new AuthError('bad_code_verifier')
  await tx.delete(flow_states).where(eq(flow_states.id, state.id))
  return { ...state, user_id: state.user_id }
}

export async function deleteCodes (tx: Transaction, user_id: string, provider?: string): Promise<void> {
  const ofProvider = provider === undefined ? undefined : eq(flow_states.provider, provider)
  await tx.delete(flow_states).where(and(eq(flow_states.user_id, user_id), ofProvider))
}

/** Deletes flows that can no longer be completed. Keeps flows of mails while the mail's link is valid. */
export async function deleteOldFlows (db: Database): Promise<void> {
  const { created_at, provider_secrets, authenticated_at } = flow_states
  const short = sql`now() - interval '10 minutes'`
  const isAbandoned = and(isNotNull(provider_secrets), lt(created_at, short))
  const isOld = lt(created_at, sql`now() - interval '2 days'`)
  await deleteInBatches(db, flow_states, or(isAbandoned, lt(authenticated_at, short), isOld))
}

function matchesChallenge (
  { code_challenge: challenge, code_challenge_method: method }: Challenge, verifier: string
): boolean {
  if (challenge === null || !VERIFIER.test(verifier)) return false
  const computed = method === 's256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
  return computed.length === challenge.length && timingSafeEqual(Buffer.from(computed), Buffer.from(challenge))
}

function digest (code: string): Buffer {
  return hash('sha256', code, 'buffer')
}
