import { randomBytes } from 'node:crypto'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { AuthSession } from '#schemas/auth/session.ts'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { createUser } from '#src/identity/people/users.ts'
import { createFlow, issueAuthCode } from '#src/identity/sign-in/flow-states.ts'
import { sessionResponse } from '#src/identity/sign-in/session-response.ts'
import { beginSession, deleteEndedSessions } from '#src/identity/sign-in/person-sessions.ts'
import { SigningKeys } from '#src/identity/tokens/signing-keys.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { listenForNotifications } from '#src/database/notifications.ts'
import { connect, type Connection } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { API_KEY, signIn } from '#test/helper.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const CHANNEL = 'locanda_identity'
/** Longer than any test, so that a slow process still has time to respond. */
const LISTENERS_MS = 60_000
/** Number of concurrent streams of requests on each server. */
const STREAMS = 2
/** Number of requests that each stream starts after the response. */
const AFTERWARDS = 4

type Sql = Connection['sql']

interface ApiResponse { statusCode: number }
interface Asked { isAfter: boolean, status: number }

/**
 * Sends requests to all servers while `change` runs, and some after its response. Requests that started before the
 * response may have any result. Later ones must not succeed.
 */
async function during (
  apps: readonly FastifyInstance[],
  request: { url: string; headers: Record<string, string> },
  change: () => Promise<ApiResponse>
) {
  const asked: Asked[] = []
  let isAnswered = false
  const { promise: underWay, resolve: begin } = Promise.withResolvers<void>()
  const streams = apps.flatMap((app) =>
    Array.from({ length: STREAMS }, async () => {
      for (let left = AFTERWARDS; left > 0;) {
        // Requests answered from a cache leave no time for other work. Without a short sleep they would delay the
        // change.
        await (isAnswered ? turn() : sleep(1))
        const isAfter = isAnswered
        const { statusCode: status } = await app.inject(request)
        asked.push({ isAfter, status })
        if (isAfter) left--
        if (asked.length >= apps.length * STREAMS * 2) begin()
      }
    })
  )
  await underWay
  const { statusCode } = await change()
  isAnswered = true
  await Promise.all(streams)
  const statuses = (wanted: boolean) =>
    [...new Set(asked.filter(({ isAfter }) => isAfter === wanted).map(({ status }) => status))].sort()
  return {
    change: statusCode,
    before: statuses(false),
    after: statuses(true),
    count: asked.filter(({ isAfter }) => isAfter).length
  }
}

/** Each test has its own users. */
const servers = await twoServers(t)
const OWN = '/api/v1/paesi'

/** A change that removes rights, the request that must fail then, and the status of the refusal. */
type Case = [
  name: string,
  url: string,
  status: number,
  change: (apps: Pair, service: string, whom: AuthSession) => Promise<ApiResponse>
]
type Pair = readonly [FastifyInstance, FastifyInstance]
const put = (app: FastifyInstance, service: string, { user }: AuthSession, body: object) =>
  callAs(app, service, 'PUT', `/auth/v1/admin/users/${user.id}`, body)
const CASES: readonly Case[] = [
  [
    'demotion',
    '/api/users',
    403,
    ([app], service, whom) => put(app, service, whom, { app_metadata: { role: 'operator' } })
  ],
  [
    'loss of the role',
    OWN,
    403,
    ([app], service, whom) => put(app, service, whom, { app_metadata: { role: 'pending' } })
  ],
  ['a ban', OWN, 401, ([app], service, whom) => put(app, service, whom, { ban_duration: '1h' })],
  ['deletion', OWN, 401,
    ([app], service, { user }) => callAs(app, service, 'DELETE', `/auth/v1/admin/users/${user.id}`)],
  [
    'soft deletion',
    OWN,
    401,
    ([app], service, { user }) =>
      callAs(app, service, 'DELETE', `/auth/v1/admin/users/${user.id}`, { should_soft_delete: true })
  ],
  [
    'a new password',
    OWN,
    401,
    ([app], service, whom) => put(app, service, whom, { password: 'una-frase-lunga-e-nuova' })
  ],
  [
    'signing out',
    OWN,
    401,
    ([app], _service, { access_token }) => callAs(app, access_token, 'POST', '/auth/v1/logout?scope=local')
  ],
  [
    'signing out everywhere',
    OWN,
    401,
    ([, other], _service, { access_token }) => callAs(other, access_token, 'POST', '/auth/v1/logout')
  ],
  [
    'revoking all sessions',
    OWN,
    401,
    ([app], _service, { access_token }) => callAs(app, access_token, 'POST', '/api/sessions/revoke-all')
  ]
]

t.test('after the response to a change that removes rights, no new request has them, on any server', async (t) => {
  const [{ app, token }, { app: other }] = servers
  const apps = [app, other] as const
  const service = await token({ service: true })
  await signIn(app, 'ada', 'admin')

  for (const [n, [name, url, status, change]] of CASES.entries()) {
    const whom = await signIn(app, `persona-${n}`, 'admin')
    const seen = await during(apps, { url, headers: bearer(whom.access_token) }, () => change(apps, service, whom))
    t.ok(seen.change === 200 || seen.change === 204, `${name}: ${seen.change}`)
    t.ok(seen.before.includes(200), `${name}: before the change the requests were accepted`)
    t.same(seen.after, [status], name)
    t.equal(seen.count, apps.length * STREAMS * AFTERWARDS)
  }

  const { access_token: second } = await signIn(app, 'bettino', 'operator')
  const { access_token: first } = await signIn(app, 'bettino', 'operator')
  const others = await during(apps, { url: OWN, headers: bearer(first) }, () =>
    callAs(app, second, 'POST', '/auth/v1/logout?scope=others')
  )
  t.same(others.after, [401], 'after signing out the others')
  t.same([await isLetIn(app, bearer(second)), await isLetIn(other, bearer(second))], [200, 200],
    'the session that asked stays')

  const { apiKey, id } = (await callAs(app, second, 'GET', '/api/cli/auth/key')).json() as {
    apiKey: string,
    id: string
  }
  t.same(
    (
      await during(apps, { url: OWN, headers: { 'x-api-key': apiKey } }, () =>
        callAs(other, second, 'DELETE', `/api/v1/keys/${id}`)
      )
    ).after,
    [401],
    'a revoked key'
  )
  const rotated = await during(apps, { url: OWN, headers: bearer(second) }, () =>
    callAs(app, service, 'POST', '/api/v1/signing-keys/rotate', { immediate: true })
  )
  t.same(rotated.after, [401], 'after an immediate rotation')
})

t.test('every process is notified of a change', async (t) => {
  const { url } = await testDatabase(t)
  const connections = Array.from({ length: 4 }, () => connect(url, 2))
  t.teardown(() => Promise.all(connections.map(({ close }) => close())))
  const [asking, other, slow, mute] = connections.map(({ sql }) => sql) as [Sql, Sql, Sql, Sql]
  const complaints: unknown[] = []
  const log = {
    warn: (...words: unknown[]) => {
      complaints.push(words)
    },
    error: (...words: unknown[]) => {
      complaints.push(words)
    }
  }
  const echo = Promise.withResolvers<void>()
  const heard: string[] = []
  const changes = listenForNotifications(asking, log, LISTENERS_MS).subscribe(
    { user: (id) => { if (id === 'echo') echo.resolve() } },
    () => {}
  )
  const others = listenForNotifications(other, log, LISTENERS_MS).subscribe({ user: (id) => { heard.push(id) } },
    () => {})
  const notify = (sql: Sql, payload: string) => sql`select pg_notify(${CHANNEL}, ${payload})`

  await t.test('a process without others waits only for itself', async () => {
    await changes.waitForListeners()
    await changes.waitForListeners()
  })

  await t.test('a process waits until the others have processed every earlier change', async (t) => {
    await others.ready()
    for (let n = 0; n < 20; n++) {
      await notify(asking, `user:${n}`)
      await changes.waitForListeners()
      t.equal(heard.at(-1), String(n))
    }
  })

  await t.test('a process waits for a slow process', async (t) => {
    const asked = Promise.withResolvers<string>()
    const answered = Promise.withResolvers<void>()
    await slow.listen(CHANNEL, (payload) => {
      const [what, id = ''] = payload.split(':')
      if (what === 'sync') asked.resolve(id)
      if (what === 'ack') answered.resolve()
    })
    let isSettled = false
    const settled = changes.waitForListeners().then(() => { isSettled = true })
    const id = await asked.promise
    await answered.promise
    // When the process receives this notification, it has also received the other's response.
    await notify(slow, 'user:echo')
    await echo.promise
    t.equal(isSettled, false)
    await notify(slow, `ack:${id}`)
    await settled
  })

  await t.test('a process does not wait long for a process that does not respond', async () => {
    await mute.listen(CHANNEL, () => {})
    await listenForNotifications(slow, log).subscribe({}, () => {}).waitForListeners(100)
  })

  t.same(complaints, [])
})

t.test('a server that was disconnected drops its caches as soon as it listens again', async (t) => {
  const [{ app }, { app: other }] = servers
  const listeners = async () =>
    (
      await app.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}`
    ).map(({ pid }) => pid)
  const { user, access_token } = await signIn(app, 'vittoria', 'operator')
  for (const each of [app, other]) t.equal(await isLetIn(each, bearer(access_token)), 200)
  const before = await listeners()
  t.equal(before.length, 2)
  // A change without a notification.
  await app.sql.begin(async (tx) => {
    await tx`alter table users disable trigger users_changed`
    await tx`update users set banned_until = now() + interval '1 hour' where id = ${user.id}`
    await tx`alter table users enable trigger users_changed`
  })
  t.same([await isLetIn(app, bearer(access_token)), await isLetIn(other, bearer(access_token))], [200, 200],
    'it is cached')
  for (const pid of before) await app.sql`select pg_terminate_backend(${pid})`
  while ((await listeners()).filter((pid) => !before.includes(pid)).length < 2);
  // Both have responded, so both are listening.
  await app.identity.waitForListeners()
  for (const each of [app, other]) t.equal(await isLetIn(each, bearer(access_token)), 401)
  const { access_token: second } = await signIn(app, 'valerio', 'operator')
  t.equal(await isLetIn(other, bearer(second)), 200)
  t.equal((await callAs(app, second, 'POST', '/auth/v1/logout')).statusCode, 204)
  t.equal(await isLetIn(other, bearer(second)), 401, 'the process receives notifications again')
})

t.test('a signing key is accepted for at most a minute without a new read', async (t) => {
  const { db, sql } = await testDatabase(t)
  const secrets = createKeys(randomBytes(32))
  const clock = { now: Date.now() }
  const keys = new SigningKeys(db, secrets, () => clock.now)
  const { kid } = await keys.current()
  await sql`update signing_keys set retires_at = now() - interval '1 second'`
  t.ok(keys.isLive(kid), 'without any notification')
  clock.now += 60_001
  t.notOk(keys.isLive(kid))
  t.equal(await keys.find(kid), undefined)
})

const ROUNDS = 5
const serverKey = { 'x-api-key': API_KEY }

/** A person who can sign in through each of these providers. The e-mail identity is the first one. */
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
    unlink: (provider: string, on = app) => callAs(on, token, 'POST', '/api/auth/unlink', { provider })
  }
}

t.test('the sessions of a person', async (t) => {
  const [{ app }] = servers
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

  t.test('a session is listed with its last refresh, and is not listed after its end', async (t) => {
    const { refresh_token } = await signIn(app, 'clelia', 'operator')
    const headers = { 'user-agent': `Prova/${'x'.repeat(400)}` }
    const refreshed = (
      await app.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }, headers
      })
    ).json()
    const [session] = await list(bearer(refreshed.access_token))
    t.equal(session?.user_agent, headers['user-agent'].slice(0, 300))
    t.ok(String(session?.updated_at) > String(session?.created_at))
    const { access_token: other } = await signIn(app, 'clelia', 'operator')
    t.equal((await list(bearer(other))).length, 2)
    await app.sql`update sessions set not_after = now() where id = ${String(session?.id)}`
    t.same((await list(bearer(other))).map(({ current }) => current), [true])
  })
})

t.test('revoking all sessions', async (t) => {
  const [{ app, token }, { app: other }] = servers
  const apps = [app, other]
  const both = (headers: Record<string, string>) => Promise.all(apps.map((each) => isLetIn(each, headers)))

  t.test('all sessions of the person, and no others, have ended on every server before the response', async (t) => {
    const devices = [
      await signIn(app, 'berta', 'operator'), await signIn(app, 'berta', 'operator'),
      await signIn(other, 'berta', 'operator')
    ]
    const { access_token: pieros } = await signIn(app, 'pina', 'operator')
    const { apiKey } = (await callAs(app, devices[0]!.access_token, 'GET', '/api/cli/auth/key')).json()
    // Both servers now have the session in their cache.
    for (const { access_token } of devices) t.same(await both(bearer(access_token)), [200, 200])

    const response = await callAs(app, devices[0]!.access_token, 'POST', '/api/sessions/revoke-all')
    t.equal(response.statusCode, 200)
    t.same(response.json(), { success: true, message: '3 sessioni chiuse', revoked: 3, status: 200 })
    for (const { access_token, refresh_token } of devices) {
      t.same(await both(bearer(access_token)), [401, 401])
      const refreshed = await other.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token }
      })
      t.match([refreshed.statusCode, refreshed.json()], [400, { error_code: 'refresh_token_not_found' }])
    }
    t.same(await both(bearer(pieros)), [200, 200])
    t.same(await both({ 'x-api-key': apiKey }), [401, 401], 'the API keys are revoked too')
    t.equal(await isLetIn(app, bearer((await signIn(app, 'berta', 'operator')).access_token)), 200,
      'she can sign in again')

    const who = `user:${devices[0]!.user.id}`
    const [entry] = await app.sql`
      select actor, object, details from audit_log where action = 'sessioni_revocate' and object = ${who}`
    t.same({ ...entry }, { actor: who, object: who, details: { revoked: 3, keys: 1 } })
  })

  t.test('a code that no client has exchanged yet is revoked together with all sessions', async (t) => {
    const service = await token({ service: true })
    const ends: Record<string, (person: AuthSession) => Promise<{ statusCode: number }>> = {
      'revoke-all': ({ access_token }) => callAs(app, access_token, 'POST', '/api/sessions/revoke-all'),
      'sign-out': ({ access_token }) => callAs(app, access_token, 'POST', '/auth/v1/logout?scope=global'),
      ban: ({ user: { id } }) => callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { ban_duration: '1h' }),
      reset: ({ user: { id } }) =>
        callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { password: 'una-frase-del-tutto-nuova' }),
      'sign-out here': ({ access_token }) => callAs(app, access_token, 'POST', '/auth/v1/logout?scope=local')
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
      await callAs(app, service, 'PUT', `/auth/v1/admin/users/${person.user.id}`, { ban_duration: 'none' })
      const { statusCode } = await app.inject({
        method: 'POST', url: '/auth/v1/token?grant_type=pkce', payload: { auth_code, code_verifier }
      })
      t.equal(statusCode, name === 'sign-out here' ? 200 : 404, name)
    }
  })

  t.test('an API key may revoke all sessions and be kept, but a machine cannot revoke sessions', async (t) => {
    const { access_token } = await signIn(app, 'cinzia', 'operator')
    const { apiKey } = (await callAs(app, access_token, 'GET', '/api/cli/auth/key')).json()
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
  const [{ app }, { app: other }] = servers

  t.test('the sessions and codes that began with the provider end, except the session of the request', async (t) => {
    const { id, token, unlink } = await person(app, 'gina', ['google', 'github'])
    const begin = async (provider: string) => {
      const device = { ip: '192.0.2.7', user_agent: 'di chi ha rubato l’account' }
      const { user, session } = await app.db.transaction((tx) => beginSession(tx, { id }, 'oauth', device, provider))
      return { id: session.id, ...(await sessionResponse(app.identity.signer, user, session)) }
    }
    const [stolen, ofGitHub] = [await begin('google'), await begin('github')]
    const code_challenge = 'v'.repeat(43)
    const { id: flowId } = await createFlow(app.db, {
      provider: 'google',
      code_challenge,
      code_challenge_method: 'plain',
      redirect_to: 'https://app.example',
      authentication_method: 'oauth'
    })
    const auth_code = await issueAuthCode(app.db, flowId, id)
    for (const { access_token } of [stolen, ofGitHub]) {
      t.equal(await isLetIn(other, bearer(access_token)), 200)
    }
    t.equal((await unlink('google')).statusCode, 200)
    for (const on of [app, other]) {
      t.equal(await isLetIn(on, bearer(stolen.access_token)), 401)
      t.equal(await isLetIn(on, bearer(ofGitHub.access_token)), 200, 'sessions of another provider')
      t.equal(await isLetIn(on, bearer(token)), 200, 'the calling session')
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
    t.equal((await callAs(app, mine, 'POST', '/api/auth/unlink', { provider: 'github' })).statusCode, 200)
    t.equal(await isLetIn(app, bearer(mine)), 200, 'the calling session stays valid')
    t.equal(await isLetIn(app, bearer(ofGitHub.access_token)), 401)
  })

  t.test('unlinking the e-mail identity removes the password', async (t) => {
    const { email, token, linked, unlink } = await person(app, 'bruno', ['google'])
    t.equal((await unlink('email')).statusCode, 200)
    t.same(await linked(), ['google'])
    const signedIn = await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email, password: 'una-frase-lunga-e-mia' }
    })
    t.match([signedIn.statusCode, signedIn.json()], [400, { error_code: 'invalid_credentials' }])
    t.equal(await isLetIn(app, bearer(token)), 200, 'existing sessions continue')
  })

  t.test('unlinking a provider that is not linked returns 404, and unlinking the last one returns 409', async (t) => {
    const { linked, unlink } = await person(app, 'carla', ['google'])
    const unknown = await unlink('github')
    t.match([unknown.statusCode, unknown.json()],
      [404, { error: 'All’account non è collegato il provider «github»', codice: 'PROVIDER_NON_COLLEGATO' }])
    t.equal((await unlink('google')).statusCode, 200)
    t.equal((await unlink('google')).statusCode, 404, 'it is no longer linked')
    const last = await unlink('email')
    t.match([last.statusCode, last.json()], [409, { status: 409, codice: 'UNICA_IDENTITA' }])
    t.same(await linked(), ['email'])
  })

  t.test('unlinking is answered with a 409 when the remaining address belongs to another account', async (t) => {
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
      const responses = await Promise.all([unlink('google'), unlink('email', other)])
      t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 409])
      t.equal((await linked()).length, 1)
    }
  })
})

t.test('sessions that ended a month ago are deleted, and active or recently ended ones are kept', async (t) => {
  const [{ app }] = servers
  await app.sql`delete from sessions`
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
