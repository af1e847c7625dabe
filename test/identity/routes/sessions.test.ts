import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { AuthSession } from '#schemas/auth/session.ts'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { createUser } from '#src/identity/people/users.ts'
import { createFlow, issueAuthCode } from '#src/identity/sign-in/flow-states.ts'
import { sessionAnswer } from '#src/identity/sign-in/session-answer.ts'
import { beginSession, deleteEndedSessions } from '#src/identity/sign-in/sessions.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const ROUNDS = 5
const serverKey = { 'x-api-key': API_KEY }

/** A person who can sign in through each of these providers; the e-mail identity comes first. */
async function person (app: FastifyInstance, name: string, providers: string[] = []) {
  const email = `${name}@example.org`
  const password_hash = await app.identity.passwords.hash('una-frase-lunga-e-mia')
  const { id } = await app.db.transaction(async (tx) => {
    const user = await createUser(tx, { email, password_hash, confirmed: true, app_metadata: { role: 'operator' } })
    for (const provider of providers) {
      await addIdentity(tx, user.id, {
        provider, provider_id: `${provider}-${name}`, identity_data: { email, email_verified: true }
      })
    }
    await updateProviders(tx, user.id)
    return user
  })
  const { access_token: token } = await signIn(app, name, 'operator')
  const linked = async () =>
    (await app.sql`select provider from identities where user_id = ${id} order by provider`).map(({ provider }) =>
      String(provider)
    )
  return {
    id,
    email,
    token,
    linked,
    unlink: (provider: string, on = app) => as(on, token, 'POST', '/api/auth/unlink', { provider })
  }
}

t.test('the sessions of a person', async (t) => {
  const { app } = await build(t)
  const [here, there] = [await signIn(app, 'anna', 'operator'), await signIn(app, 'anna', 'operator')]
  await signIn(app, 'piero', 'operator')
  const list = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/api/sessions', headers })).json() as Record<string, unknown>[]

  t.test('a person sees only their own sessions, with their devices, and which one is current', async (t) => {
    const sessions = await list(bearer(here.access_token))
    t.equal(sessions.length, 2)
    for (const session of sessions) {
      t.match(session,
        { id: /^[0-9a-f-]{36}$/, created_at: /Z$/, updated_at: /Z$/, user_agent: 'prova', ip: '127.0.0.1' })
      t.same(Object.keys(session).sort(), ['created_at', 'current', 'id', 'ip', 'updated_at', 'user_agent'])
    }
    const current = (found: typeof sessions) => found.filter(({ current }) => current === true).map(({ id }) => id)
    t.same(current(sessions), [claimsOf(here.access_token).session_id])
    t.same(current(await list(bearer(there.access_token))), [claimsOf(there.access_token).session_id])
  })

  t.test('a session is listed with its last refresh, and not after its end', async (t) => {
    const { refresh_token } = await signIn(app, 'carla', 'operator')
    const headers = { 'user-agent': `Prova/${'x'.repeat(400)}` }
    const refreshed = (
      await app.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }, headers
      })
    ).json()
    const [session] = await list(bearer(refreshed.access_token))
    t.equal(session?.user_agent, headers['user-agent'].slice(0, 300))
    t.ok(String(session?.updated_at) > String(session?.created_at))
    const { access_token: other } = await signIn(app, 'carla', 'operator')
    t.equal((await list(bearer(other))).length, 2)
    await app.sql`update sessions set not_after = now() where id = ${String(session?.id)}`
    t.same((await list(bearer(other))).map(({ current }) => current), [true])
  })

  t.test('with an API key no session is the current one', async (t) => {
    const { apiKey } = (await as(app, here.access_token, 'GET', '/api/cli/auth/key')).json()
    t.same((await list({ 'x-api-key': apiKey })).map(({ current }) => current), [false, false])
  })

  t.test('a caller who is no person has no sessions', async (t) => {
    t.same(await list(serverKey), [])
    t.equal((await app.inject('/api/sessions')).statusCode, 401)
  })
})

t.test('revoking all sessions', async (t) => {
  const [{ app, token }, { app: other }] = await twoServers(t)
  const apps = [app, other]
  const both = (headers: Record<string, string>) => Promise.all(apps.map((each) => isLetIn(each, headers)))

  t.test('all sessions of the person, and no others, have ended on every server before the answer', async (t) => {
    const devices = [
      await signIn(app, 'anna', 'operator'), await signIn(app, 'anna', 'operator'),
      await signIn(other, 'anna', 'operator')
    ]
    const { access_token: pieros } = await signIn(app, 'piero', 'operator')
    const { apiKey } = (await as(app, devices[0]!.access_token, 'GET', '/api/cli/auth/key')).json()
    // Remembered by both.
    for (const { access_token } of devices) t.same(await both(bearer(access_token)), [200, 200])

    const answer = await as(app, devices[0]!.access_token, 'POST', '/api/sessions/revoke-all')
    t.equal(answer.statusCode, 200)
    t.same(answer.json(), { success: true, message: '3 sessioni chiuse', revoked: 3, status: 200 })
    for (const { access_token, refresh_token } of devices) {
      t.same(await both(bearer(access_token)), [401, 401])
      const refreshed = await other.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }
      })
      t.match([refreshed.statusCode, refreshed.json()], [400, { error_code: 'refresh_token_not_found' }])
    }
    t.same(await both(bearer(pieros)), [200, 200])
    t.same(await both({ 'x-api-key': apiKey }), [401, 401], 'and the keys that a session can have made')
    t.equal(await isLetIn(app, bearer((await signIn(app, 'anna', 'operator')).access_token)), 200,
      'she can sign in again')

    const [entry] = await app.sql`select actor, object, details from audit_log where action = 'sessioni_revocate'`
    const who = `user:${devices[0]!.user.id}`
    t.same({ ...entry }, { actor: who, object: who, details: { revoked: 3, keys: 1 } })
  })

  t.test('a code that no client has exchanged yet ends with all sessions', async (t) => {
    const service = await token({ service: true })
    const ends: Record<string, (person: AuthSession) => Promise<{ statusCode: number }>> = {
      'revoke-all': ({ access_token }) => as(app, access_token, 'POST', '/api/sessions/revoke-all'),
      'sign-out': ({ access_token }) => as(app, access_token, 'POST', '/auth/v1/logout?scope=global'),
      ban: ({ user: { id } }) => as(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { ban_duration: '1h' }),
      reset: ({ user: { id } }) =>
        as(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { password: 'una-frase-del-tutto-nuova' }),
      'sign-out here': ({ access_token }) => as(app, access_token, 'POST', '/auth/v1/logout?scope=local')
    }
    for (const [name, end] of Object.entries(ends)) {
      const person = await signIn(app, `dario-${name.replace(' ', '-')}`, 'operator')
      const code_verifier = 'v'.repeat(43)
      const flow = await createFlow(app.db, {
        provider: 'email',
        redirect_to: 'https://app.example',
        authentication_method: 'magiclink',
        code_challenge: code_verifier,
        code_challenge_method: 'plain'
      })
      const auth_code = await issueAuthCode(app.db, flow.id, person.user.id)
      t.ok((await end(person)).statusCode < 300, name)
      await as(app, service, 'PUT', `/auth/v1/admin/users/${person.user.id}`, { ban_duration: 'none' })
      const { statusCode } = await app.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=pkce', payload: { auth_code, code_verifier }
      })
      t.equal(statusCode, name === 'sign-out here' ? 200 : 404, name)
    }
  })

  t.test('an API key revokes, too, and may stay; a caller who is no person revokes nothing', async (t) => {
    const { access_token } = await signIn(app, 'carla', 'operator')
    const { apiKey } = (await as(app, access_token, 'GET', '/api/cli/auth/key')).json()
    const revoke = async (headers: Record<string, string>, payload?: object) =>
      await app.inject({ method: 'POST', url: '/api/sessions/revoke-all', headers, ...(payload ? { payload } : {}) })
    t.equal((await revoke(bearer(access_token), { tutte: true })).statusCode, 400)
    t.equal(await isLetIn(app, bearer(access_token)), 200)
    t.match((await revoke({ 'x-api-key': apiKey }, { revoca_chiavi: false })).json(), { revoked: 1 })
    t.equal(await isLetIn(app, bearer(access_token)), 401)
    t.same(await both({ 'x-api-key': apiKey }), [200, 200])
    t.match((await revoke({ 'x-api-key': apiKey }, {})).json(), { revoked: 0 })
    t.same(await both({ 'x-api-key': apiKey }), [401, 401])
    t.match((await revoke(serverKey)).json(), { success: true, message: '0 sessioni chiuse', revoked: 0 })
    t.match((await revoke(bearer(await token({ service: true })))).json(), { revoked: 0 })
    t.equal((await revoke({})).statusCode, 401)
  })
})

t.test('unlinking a provider', async (t) => {
  const [{ app }, { app: other }] = await twoServers(t)

  t.test('the identity is removed, and the account does not name the provider any more', async (t) => {
    const { id, token, linked, unlink } = await person(app, 'anna', ['google', 'github'])
    const answer = await unlink('google')
    t.equal(answer.statusCode, 200)
    t.same(answer.json(), { success: true, message: 'Provider google scollegato', status: 200 })
    t.same(await linked(), ['email', 'github'])
    t.match((await as(app, token, 'GET', '/auth/v1/user')).json(),
      { app_metadata: { role: 'operator', provider: 'email', providers: ['email', 'github'] } })
    const [entry] = await app.sql`select actor, object, details from audit_log where action = 'identita_scollegata'`
    t.same({ ...entry }, { actor: `user:${id}`, object: `user:${id}`, details: { provider: 'google', revoked: 0 } })
  })

  t.test('the sessions and codes that the provider began end with it, but the session that asks', async (t) => {
    const { id, token, unlink } = await person(app, 'gina', ['google', 'github'])
    const begin = async (provider: string) => {
      const device = { ip: '192.0.2.7', user_agent: 'di chi ha rubato l’account' }
      const { user, session } = await app.db.transaction((tx) => beginSession(tx, { id }, 'oauth', device, provider))
      return { id: session.id, ...(await sessionAnswer(app.identity.signer, user, session)) }
    }
    const [stolen, other1] = [await begin('google'), await begin('github')]
    const code_challenge = 'v'.repeat(43)
    const { id: flowId } = await createFlow(app.db, {
      provider: 'google',
      code_challenge,
      code_challenge_method: 'plain',
      redirect_to: 'https://app.example',
      authentication_method: 'oauth'
    })
    const auth_code = await issueAuthCode(app.db, flowId, id)
    for (const { access_token } of [stolen, other1]) {
      t.equal(await isLetIn(other, bearer(access_token)), 200)
    }
    t.equal((await unlink('google')).statusCode, 200)
    for (const on of [app, other]) {
      t.equal(await isLetIn(on, bearer(stolen.access_token)), 401)
      t.equal(await isLetIn(on, bearer(other1.access_token)), 200, 'of another provider')
      t.equal(await isLetIn(on, bearer(token)), 200, 'the session that asks')
    }
    const exchange = await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=pkce', payload: { auth_code, code_verifier: code_challenge }
    })
    t.match([exchange.statusCode, exchange.json()], [404, { error_code: 'flow_state_not_found' }])
    const refreshed = await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token: stolen.refresh_token }
    })
    t.equal(refreshed.statusCode, 400)
    t.match(
      [...await app.sql`
        select details from audit_log where action = 'identita_scollegata' and object = ${`user:${id}`}`],
      [{ details: { provider: 'google', revoked: 1 } }]
    )

    const { access_token: mine } = await begin('github')
    t.equal((await as(app, mine, 'POST', '/api/auth/unlink', { provider: 'github' })).statusCode, 200)
    t.equal(await isLetIn(app, bearer(mine)), 200, 'also when that provider began it')
    t.equal(await isLetIn(app, bearer(other1.access_token)), 401)
  })

  t.test('unlinking the e-mail identity removes the password', async (t) => {
    const { email, token, linked, unlink } = await person(app, 'bruno', ['google'])
    t.equal((await unlink('email')).statusCode, 200)
    t.same(await linked(), ['google'])
    const clientConfig = await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email, password: 'una-frase-lunga-e-mia' }
    })
    t.match([clientConfig.statusCode, clientConfig.json()], [400, { error_code: 'invalid_credentials' }])
    t.equal(await isLetIn(app, bearer(token)), 200, 'whoever is in stays in')
  })

  t.test('a provider that is not linked is a 404, and the last one a 409', async (t) => {
    const { linked, unlink } = await person(app, 'carla', ['google'])
    const unknown = await unlink('github')
    t.match([unknown.statusCode, unknown.json()],
      [404, { error: 'All’account non è collegato il provider «github»', codice: 'PROVIDER_NON_COLLEGATO' }])
    t.equal((await unlink('google')).statusCode, 200)
    t.equal((await unlink('google')).statusCode, 404, 'it is not linked any more')
    const last = await unlink('email')
    t.match([last.statusCode, last.json()], [409, { status: 409, codice: 'UNICA_IDENTITA' }])
    t.same(await linked(), ['email'])
  })

  t.test('an unlinking that would leave another account’s address is a 409', async (t) => {
    const { id, linked, unlink } = await person(app, 'dario', ['google'])
    await person(app, 'dora')
    await app.sql`
      update identities set identity_data = '{"email":"dora@example.org","email_verified":true}'
      where user_id = ${id} and provider = 'google'`
    t.match((await unlink('email')).json(), { status: 409, codice: 'EMAIL_GIA_REGISTRATA' })
    t.same(await linked(), ['email', 'google'])
  })

  t.test('one of two simultaneous unlinkings fails, so that an identity remains', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      const { linked, unlink } = await person(app, `gara-${round}`, ['google'])
      const answers = await Promise.all([unlink('google'), unlink('email', other)])
      t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 409])
      t.equal((await linked()).length, 1)
    }
  })

  t.test('only a person unlinks, and must name a provider', async (t) => {
    const { token, unlink } = await person(app, 'elsa', ['google'])
    const asked = await app.inject({
      method: 'POST', url: '/api/auth/unlink', headers: serverKey, payload: { provider: 'google' }
    })
    t.match([asked.statusCode, asked.json()], [403, { codice: 'SERVE_UNA_PERSONA' }])
    for (const body of [
      {}, { provider: '' }, { provider: null }, { provider: ['google'] }, { provider: 'x'.repeat(61) },
      { provider: 'a\u0000b' }, { provider: 'google', user_id: 'x' }
    ]) {
      t.equal((await as(app, token, 'POST', '/api/auth/unlink', body)).statusCode, 400, JSON.stringify(body))
    }
    t.equal((await unlink("google' or true --")).statusCode, 404)
  })
})

t.test('sessions that ended a month ago are deleted, and live or recently ended ones are kept', async (t) => {
  const { app } = await build(t)
  const names = ['viva', 'appena finita', 'finita da un mese', 'inattiva da un mese e mezzo'].map((name) =>
    name.replaceAll(' ', '-')
  )
  const ids = new Map<string, string>()
  for (const name of names) ids.set(name, (await signIn(app, name, 'operator')).user.id)
  const age = async (name: string, not_after: string, days: number) => {
    await app.sql` update sessions set not_after = now() + ${not_after}::interval,
        created_at = now() - make_interval(days => ${days}), updated_at = now() - make_interval(days => ${days}),
        refreshed_at = null
      where user_id = ${ids.get(name)!}`
  }
  await age('appena-finita', '-1 minute', 1)
  await age('finita-da-un-mese', '-30 days', 31)
  await age('inattiva-da-un-mese-e-mezzo', '10 days', 45)
  await deleteEndedSessions(app.db)
  const left = await app.sql<{ user_id: string }[]>`select user_id from sessions`
  t.same(left.map(({ user_id }) => names.find((name) => ids.get(name) === user_id)).sort(), ['appena-finita', 'viva'])
})
