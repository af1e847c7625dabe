import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { and, eq, isNotNull, lt, or, sql } from 'drizzle-orm'
import { flow_states } from '#drizzle/tables/identity.ts'
import type { Config } from '#src/config/config.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'

export type FlowState = typeof flow_states.$inferSelect

/** How long a way through a provider may take, and how long its code lives then. */
const FLOW_MS = 300_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/
const METHODS = ['s256', 'plain']

/** What a client says of its PKCE. */
export interface Challenge { code_challenge?: string | null, code_challenge_method?: string | null }

/** PKCE of the client (RFC 7636), as it sends it; both or none. @throws AuthError validation_failed */
export function challengeOf ({ code_challenge: challenge, code_challenge_method: method }: Challenge) {
  if (!challenge && !method) return { code_challenge: null, code_challenge_method: null }
  const kind = (method ?? '').toLowerCase()
  if (!challenge || !METHODS.includes(kind)) {
    throw new AuthError('validation_failed', { message: 'PKCE flow requires code_challenge_method and code_challenge' })
  }
  if (!VERIFIER.test(challenge)) {
    throw new AuthError('validation_failed', { message: 'code challenge has to be between 43 and 128 characters long' })
  }
  return { code_challenge: challenge, code_challenge_method: kind }
}

/**
 * Where a browser may be led: to this service, or to one of the front ends that it knows. Anything else leads home.
 * What is answered is the address as it was understood, not as it was spelled: browsers may read a spelling otherwise.
 */
export function safeRedirect (
  { PUBLIC_URL, CORS_ORIGINS }: Pick<Config, 'PUBLIC_URL' | 'CORS_ORIGINS'>,
  asked: string | undefined
): string {
  const home = CORS_ORIGINS[0] ?? PUBLIC_URL
  if (!asked || !URL.canParse(asked)) return home
  const { protocol, origin, pathname, username, password, href } = new URL(asked)
  // `blob:` has the origin of a page inside it; a name before the host is there to deceive a reader.
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return home
  if (CORS_ORIGINS.includes(origin)) return href
  const own = new URL(PUBLIC_URL)
  // The provider itself leads on to others, and a browser takes the fragment along.
  return origin === own.origin && !/\/auth\/v1(\/|$)/i.test(pathname) ? href : home
}

export async function beginFlow (db: Executor, start: typeof flow_states.$inferInsert): Promise<FlowState> {
  const [state] = await db.insert(flow_states).values(start).returning()
  return state!
}

/** The way through a provider that comes back with this state: once, whatever comes of it. */
export async function takeFlow (db: Executor, state: string): Promise<FlowState | undefined> {
  if (!UUID.test(state)) return undefined
  const [flow] = await db
    .delete(flow_states)
    .where(and(eq(flow_states.id, state), isNotNull(flow_states.provider_secrets)))
    .returning()
  return flow
}

/** Whether what lasts a while from then on has ended. */
export function isOver (since: Date): boolean {
  return since.getTime() + FLOW_MS <= Date.now()
}

/** The person has proven who they are: the code that their client exchanges for a session, once and soon. */
export async function grantCode (
  tx: Executor,
  id: string,
  user_id: string,
  provider_tokens: Buffer | null = null
): Promise<string> {
  const code = randomBytes(32).toString('base64url')
  await tx
    .update(flow_states)
    .set({ auth_code: digest(code), user_id, provider_tokens, authenticated_at: new Date() })
    .where(eq(flow_states.id, id))
  return code
}

/**
 * Takes a code, which is good once whatever comes of it, and checks that whoever exchanges it is who began. An error is
 * returned, not thrown, so that the transaction commits: flow_state_not_found, flow_state_expired, bad_code_verifier.
 */
export async function exchangeCode (
  tx: Transaction,
  code: string,
  verifier: string
): Promise<(FlowState & { user_id: string }) | AuthError> {
  const [state] = await tx
    .delete(flow_states)
    .where(eq(flow_states.auth_code, digest(code)))
    .returning()
  if (!state || state.user_id === null || state.authenticated_at === null) return new AuthError('flow_state_not_found')
  if (isOver(state.authenticated_at)) return new AuthError('flow_state_expired')
  return fits(state, verifier) ? { ...state, user_id: state.user_id } : new AuthError('bad_code_verifier')
}

/** Begun, or granted a code, and never ended. Those of mails live as long as the mail's link. */
export async function forgetOldFlows (db: Executor): Promise<void> {
  const { created_at, provider_secrets, authenticated_at } = flow_states
  const short = sql`now() - interval '10 minutes'`
  const neverCameBack = and(isNotNull(provider_secrets), lt(created_at, short))
  await db
    .delete(flow_states)
    .where(or(neverCameBack, lt(authenticated_at, short), lt(created_at, sql`now() - interval '2 days'`)))
}

function fits ({ code_challenge: challenge, code_challenge_method: method }: FlowState, verifier: string): boolean {
  if (challenge === null || !VERIFIER.test(verifier)) return false
  const computed = method === 's256' ? createHash('sha256').update(verifier).digest('base64url') : verifier
  return computed.length === challenge.length && timingSafeEqual(Buffer.from(computed), Buffer.from(challenge))
}

function digest (code: string): Buffer {
  return hash('sha256', code, 'buffer')
}
