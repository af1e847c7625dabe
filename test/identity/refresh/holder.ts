import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { signIn } from '#test/helper.ts'

/** The outcome of a refresh: the tokens, or the error's status and code. */
export type Outcome = { access: string, refresh: string } | { status: number, code: string }

/** A person's session, with the tokens of the sign-in. */
export interface Holder {
  userId: string
  sessionId: string
  access: string
  /** The refresh token of the sign-in. */
  first: string
}

let people = 0

/** A person who has just signed in. The same name gives another session of the same person. */
export async function holder (app: FastifyInstance, name = `titolare${++people}`): Promise<Holder> {
  const { access_token: access, refresh_token: first, user } = await signIn(app, name, 'operator')
  return { userId: user.id, sessionId: claimsOf(access).session_id, access, first }
}

/** A refresh, as clients request it. */
export async function refresh (app: FastifyInstance, token: string): Promise<Outcome> {
  return outcomeOf(
    await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token: token }
    })
  )
}

/** The tokens of a refresh that must succeed. */
export async function refreshed (app: FastifyInstance, token: string): Promise<{ access: string, refresh: string }> {
  const outcome = await refresh(app, token)
  if ('code' in outcome) throw new Error(`${outcome.status} ${outcome.code}`)
  return outcome
}

export function outcomeOf (response: LightMyRequestResponse): Outcome {
  const body = response.json<AuthSession & { error_code: string }>()
  if (response.statusCode !== 200) return { status: response.statusCode, code: body.error_code }
  return { access: body.access_token, refresh: body.refresh_token }
}

/** Refreshes several times. Returns `n` tokens, with the given one first. */
export async function chain (app: FastifyInstance, first: string, n: number): Promise<string[]> {
  const tokens = [first]
  while (tokens.length < n) tokens.push((await refreshed(app, tokens.at(-1)!)).refresh)
  return tokens
}

/** Lets time pass for a session: all timestamps in its row become earlier. */
export async function age ({ sql, identity }: FastifyInstance, { sessionId }: Holder, seconds: number): Promise<void> {
  await sql` update sessions set created_at = created_at - ${seconds} * interval '1 second',
      updated_at = updated_at - ${seconds} * interval '1 second',
      refreshed_at = refreshed_at - ${seconds} * interval '1 second',
      not_after = not_after - ${seconds} * interval '1 second' where id = ${sessionId}`
  await identity.waitForListeners()
}

/** The number of refreshes of a session. Undefined when it has ended. */
export async function counter ({ sql }: FastifyInstance, { sessionId }: Holder): Promise<number | undefined> {
  const [row] = await sql<{ refresh_counter: number }[]>`select refresh_counter from sessions where id = ${sessionId}`
  return row?.refresh_counter
}

/** The status of a request with an access token, at the API and at the provider. */
export async function sessionStatus (app: FastifyInstance, access: string): Promise<[api: number, provider: number]> {
  const headers = { authorization: `Bearer ${access}` }
  return [await isLetIn(app, headers), (await app.inject({ url: '/auth/v1/user', headers })).statusCode]
}
