import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { provider, tokensOf, type Provider } from '#test/identity/protocol/client.ts'
import { age, outcomeOf, refresh, refreshed, standing, turns, type Outcome } from '#test/identity/refresh/holder.ts'
import { as } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { codeOf, forgetCodes, personWithApp, type App } from './authenticator.ts'

const VOID = { status: 400, code: 'refresh_token_not_found' }

/** A session at `aal2`, as clients hold one that loses answers. */
async function setting (server: Provider) {
  const { client, app: phone } = await personWithApp(server)
  const { access, refresh: first } = await tokensOf(client)
  return { phone, holder: { userId: claimsOf(access).sub, sessionId: claimsOf(access).session_id, access, first } }
}

/** Proves a factor anew, whatever becomes of the answer. */
async function proveAnew (app: FastifyInstance, access: string, { id, secret }: App): Promise<Outcome> {
  const url = `/auth/v1/factors/${id}`
  const challenge = await as(app, access, 'POST', `${url}/challenge`, {})
  await forgetCodes(app)
  const payload = { challenge_id: challenge.json<{ id: string }>().id, code: codeOf(secret) }
  return outcomeOf(await as(app, access, 'POST', `${url}/verify`, payload))
}

function tokenOf (outcome: Outcome): string {
  if ('code' in outcome) throw new Error(`${outcome.status} ${outcome.code}`)
  return outcome.refresh
}

const ended = ({ sql }: FastifyInstance, sessionId: string) => sql`
  select details from audit_log where object = ${`session:${sessionId}`} and action = 'sessioni_revocate'`

const server = await provider(t)

t.test('a client that lost the answer to a further proof loses no session, and is taken for no thief', async (t) => {
  const { app } = server
  const { phone, holder } = await setting(server)
  const before = await refreshed(app, holder.first)
  await age(app, holder, 1200)
  await proveAnew(app, before.access, phone)
  for (let time = 0; time < 5; time++) t.same(await refresh(app, before.refresh), VOID)
  await age(app, holder, 1200)
  t.same(await refresh(app, before.refresh), VOID, 'later, too')
  t.same(await ended(app, holder.sessionId), [])
  t.same(await standing(app, before.access), [200, 200], 'the session goes on')
  const token = tokenOf(await proveAnew(app, before.access, phone))
  const next = await refreshed(app, token)
  t.equal((await refreshed(app, token)).refresh, next.refresh, 'and a lost answer is repeated as before')
})

t.test('a refresh token from before a further proof never gives the tokens of the proven session', async (t) => {
  const { app } = server
  const { phone, holder } = await setting(server)
  const before = await refreshed(app, holder.first)
  await age(app, holder, 4)
  const token = tokenOf(await proveAnew(app, before.access, phone))
  await age(app, holder, 4)
  for (const each of [before.refresh, holder.first]) t.same(await refresh(app, each), VOID, 'before the next refresh')
  await refreshed(app, token)
  for (const each of [before.refresh, holder.first]) t.same(await refresh(app, each), VOID, 'and after it')
})

t.test('a refresh and a further proof at once leave the session to the proof', async (t) => {
  const { app } = server
  const { phone, holder } = await setting(server)
  let { access, refresh: current } = await refreshed(app, holder.first)
  for (let round = 0; round < 6; round++) {
    await age(app, holder, 1200)
    const [proof, ...others] = await Promise.all([
      proveAnew(app, access, phone),
      ...Array.from({ length: 3 }, () => refresh(app, current))
    ])
    for (const each of others) if ('code' in each) t.same(each, VOID)
    const next = await refreshed(app, tokenOf(proof!));
    ({ access, refresh: current } = next)
  }
  t.ok(await turns(app, holder))
  t.same(await ended(app, holder.sessionId), [])
})
