import { randomBytes, randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Type } from '@sinclair/typebox'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { seen_sessions } from '#drizzle/tables/identity.ts'
import { Closed } from '#schemas/common.ts'
import { readConfig } from '#src/config/config.ts'
import { idpClient } from '#src/identity/external/idp-client.ts'
import { SeenSessions } from '#src/identity/external/seen-sessions.ts'
import { externalSettings } from '#src/identity/external/external-settings.ts'
import { userLookup } from '#src/identity/external/user-lookup.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build, extraRoutes, type TestApp } from '#test/helper.ts'
import { enrolApp } from '#test/identity/factors/authenticator.ts'
import { openClient, PASSWORD, tokensOf } from '#test/identity/protocol/client.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { unwritable } from '#test/services/audit/samples.ts'
import { fakeProvider, json } from './fake-provider.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const SOMEWHERE = '/api/v1/paesi'
const ADMINS = '/prova/admin'
const idp = await startProvider(t)
const Is = Closed({ is: Type.Boolean() })

t.test('administrators of an external provider', async (t) => {
  const server = async (environ: Record<string, string | undefined> = {}) =>
    await build(
      t,
      { ...idp.environ, ...environ },
      extraRoutes((app) => {
        app.get(ADMINS, { config: { access: 'admin' }, schema: { response: { 200: Closed({}) } } }, async () => ({}))
        app.get<{ Params: { userId: string; sessionId: string } }>(
          '/prova/pagine/:userId/:sessionId',
          { config: { access: 'auth' }, schema: { response: { 200: Is } } },
          async (request) => {
            const { userId, sessionId } = request.params
            return {
              is: await app.identity.authenticator.isAdmin(
                { id: `user:${userId}`, kind: 'user', admin: false, userId, sessionId },
                request
              )
            }
          }
        )
      }),
      PATIENT
    )
  const first = await server()
  const status = async (headers: Record<string, string>, url = ADMINS, { app }: TestApp = first) =>
    (await app.inject({ url, headers })).statusCode
  t.test('/ is a page with the links of the service, because the desk needs the sign-in pages', async (t) => {
    const page = await first.app.inject({ url: '/', headers: { accept: 'text/html' } })
    t.match(page, { statusCode: 200, body: /href="\/docs".*href="\/health\/ready"/s })
    t.equal((await first.app.inject({ url: '/oggi' })).statusCode, 404)
  })

  const change = async (token: string, body: object) =>
    await idp.admin('PUT', `/admin/users/${claimsOf(token).sub}`, body)
  const keyOf = async (token: string, query = '') => {
    const { apiKey } = (await first.app.inject({ url: `/api/cli/auth/key${query}`, headers: bearer(token) })).json()
    return { 'x-api-key': String(apiKey) }
  }
  /** Whether the person is an administrator on the administrators' pages, without a token. */
  const byPage = async (token: string, { app }: TestApp = first) => {
    const { sub: userId, session_id: sessionId } = claimsOf(token)
    return (await app.inject({ url: `/prova/pagine/${userId}/${sessionId}`, headers: { 'x-api-key': API_KEY } })).json()
      .is
  }

  t.test('the provider’s current role is used at every request', async (t) => {
    const token = await idp.twin.token({ name: 'anna', role: 'operator' })
    t.equal(await status(bearer(token)), 403)
    await change(token, { app_metadata: { role: 'admin' } })
    t.equal(await status(bearer(token)), 200, 'promoted')
    await change(token, { app_metadata: { role: 'operator' } })
    t.equal(await status(bearer(token)), 403, 'demoted')
    await change(token, { app_metadata: { roles: ['cassa', 'admin'] } })
    t.equal(await status(bearer(token)), 200, 'one of several roles')
    await change(token, { app_metadata: { roles: null } })
    t.equal(await status(bearer(token)), 403)
    const was = await idp.twin.token({ name: 'ada', role: 'admin' })
    t.equal(await status(bearer(was)), 200)
    await change(was, { app_metadata: { role: 'operator' } })
    t.equal(await status(bearer(was)), 403, 'whatever its token says')
  })

  t.test('user_metadata give no rights', async (t) => {
    const token = await idp.twin.token({ name: 'bruno', role: 'operator' })
    const data = { role: 'admin', roles: ['admin'], is_admin: true, app_metadata: { role: 'admin' } }
    const headers = { ...bearer(token), apikey: idp.anonKey, 'content-type': 'application/json' }
    t.equal(
      (await fetch(`${idp.url}/auth/v1/user`, { method: 'PUT', headers, body: JSON.stringify({ data }) })).status,
      200
    )
    t.equal(await status(bearer(token)), 403)
    t.equal(await status(await keyOf(token)), 403)
    t.equal(await byPage(token), false)
  })

  t.test('a person without a role at the provider waits for a role here, because sign-up may be open', async (t) => {
    const { id } = await idp.admin('POST', '/admin/users', {
      email: 'sola@example.org', password: 'una-frase-lunga-e-mia', email_confirm: true
    }) as { id: string }
    await idp.admin('PUT', `/admin/users/${id}`, { app_metadata: { role: null } })
    const { access_token: token } = await idp.signIn('sola@example.org', 'una-frase-lunga-e-mia')
    t.match((await first.app.inject({ url: SOMEWHERE, headers: bearer(token) })).json(),
      { codice: 'ACCOUNT_IN_ATTESA', status: 403 })
  })

  t.test('a person who signed out, was banned or was deleted at the provider cannot administer', async (t) => {
    const [out, banned, gone] = [
      await idp.twin.token({ name: 'uscita', role: 'admin' }),
      await idp.twin.token({ name: 'bandita', role: 'admin' }),
      await idp.twin.token({ name: 'andata', role: 'admin' })
    ]
    for (const token of [out, banned, gone]) t.equal(await status(bearer(token)), 200)
    await fetch(`${idp.url}/auth/v1/logout?scope=local`, { method: 'POST', headers: bearer(out) })
    await change(banned, { ban_duration: '24h' })
    await idp.admin('DELETE', `/admin/users/${claimsOf(gone).sub}`, {})
    const second = await server({ DATABASE_URL: first.url })
    for (const token of [out, gone]) {
      t.equal(await status(bearer(token), SOMEWHERE, second), 200, 'until the provider is asked')
      t.equal(await status(bearer(token)), 403)
      t.equal(await status(bearer(token), SOMEWHERE), 401)
      await second.app.identity.waitForListeners()
      t.equal(await status(bearer(token), SOMEWHERE, second), 401)
    }
    t.equal(await status(bearer(banned)), 403)
    await change(banned, { ban_duration: 'none' })
    t.equal(await status(bearer(banned)), 200, 'after the ban is lifted')
  })

  t.test('an API key has the current rights of its person', async (t) => {
    const token = await idp.twin.token({ name: 'carla', role: 'operator' })
    const [key, reading] = [await keyOf(token), await keyOf(token, '?scopes=lettura')]
    t.equal(await status(key, SOMEWHERE), 200)
    t.equal(await status(key), 403)
    await change(token, { app_metadata: { role: 'admin' } })
    t.equal(await status(key), 200, 'immediately')
    t.equal(await status(reading), 403, 'with the rights of its scopes')
    t.equal(await status(reading, '/api/v1/keys?tutte=true'), 403, 'everywhere')
    t.equal(await status(key, '/api/v1/keys?tutte=true'), 200)
    await change(token, { app_metadata: { role: 'operator' } })
    t.equal(await status(key), 403)
  })

  t.test('a revoked key is refused at once, and in a second process as soon as it is notified', async (t) => {
    const token = await idp.twin.token({ name: 'delia', role: 'operator' })
    const key = await keyOf(token)
    const second = await server({ DATABASE_URL: first.url, DATA_DIR: first.dataDir })
    for (const at of [first, second]) t.equal(await status(key, SOMEWHERE, at), 200)
    const { id } = (await first.app.inject({ url: '/api/v1/keys', headers: bearer(token) })).json().data[0]
    t.equal(
      (await first.app.inject({ method: 'DELETE', url: `/api/v1/keys/${id}`, headers: bearer(token) })).statusCode,
      200
    )
    t.equal(await status(key, SOMEWHERE), 401)
    let answer = 200
    await until(async () => (answer = await status(key, SOMEWHERE, second)) !== 200)
    t.equal(answer, 401)
  })

  t.test('when its person is banned or deleted, a key loses administrator rights at once, access later', async (t) => {
    const [banned, gone] = [
      await idp.twin.token({ name: 'dario', role: 'admin' }),
      await idp.twin.token({ name: 'elio', role: 'admin' })
    ]
    const keys = [await keyOf(banned), await keyOf(gone)]
    for (const key of keys) t.equal(await status(key), 200)
    await change(banned, { ban_duration: '24h' })
    await idp.admin('DELETE', `/admin/users/${claimsOf(gone).sub}`, {})
    const second = await server({ DATABASE_URL: first.url, DATA_DIR: first.dataDir })
    for (const key of keys) {
      t.equal(await status(key, SOMEWHERE, second), 401)
      t.equal(await status(key), 403)
      t.equal(await status(key, SOMEWHERE), 401, 'recent lookups are cached')
    }
  })

  t.test('without the service key there are no API keys, but tokens still give administrator rights', async (t) => {
    const token = await idp.twin.token({ name: 'fulvia', role: 'admin' })
    const key = await keyOf(token)
    const bare = await server({ IDP_SERVICE_KEY: undefined, DATABASE_URL: first.url, DATA_DIR: first.dataDir })
    t.equal(await status(key, SOMEWHERE, bare), 401)
    t.equal(await status(bearer(token), ADMINS, bare), 200)
    t.equal(await byPage(token, bare), false)
    const made = await bare.app.inject({ url: '/api/cli/auth/key', headers: bearer(token) })
    t.match(made.json(), { status: 503, codice: 'AMMINISTRAZIONE_NON_DISPONIBILE' })
    t.equal((await bare.app.inject({ url: '/api/v1/keys', headers: bearer(token) })).json().data.length, 1)
  })

  t.test('a session of the administration pages ends with the session to which it was granted', async (t) => {
    const token = await idp.twin.token({ name: 'gaia', role: 'admin' })
    t.equal(await status(bearer(token)), 200)
    t.equal(await byPage(token), true)
    // The list waits until all records are written.
    t.equal(await status(bearer(token), '/api/sessions'), 200)
    await first.app.db.update(seen_sessions).set({ revoked_at: new Date() })
      .where(eq(seen_sessions.id, claimsOf(token).session_id))
    await first.app.identity.waitForListeners()
    t.equal(await byPage(token), false)
  })
})

interface Listed {
  id: string
  created_at: string
  updated_at: string
  user_agent: string
  ip: string
  current: boolean
}

t.test('sessions of an external provider', async (t) => {
  const first = await build(t, idp.environ, undefined, PATIENT)
  const second = await build(t, { ...idp.environ, DATABASE_URL: first.url }, undefined, PATIENT)
  const { sql } = first.app
  const token = async (name: string) => await idp.twin.token({ name })
  const statusOf = async ({ app }: TestApp, token: string, agent = 'prova') => (
    (await app.inject({ url: SOMEWHERE, headers: { ...bearer(token), 'user-agent': agent } })).statusCode)
  const status = async (token: string, at = first) => await statusOf(at, token)
  /** Waits until a process refuses the token, because a notification may arrive late. */
  const refused = (token: string, at = first) => until(async () => await status(token, at) === 401)
  const listed = async (token: string, { app } = first) =>
    (await app.inject({ url: '/api/sessions', headers: bearer(token) })).json<Listed[]>()
  const revokeAll = async (token: string, { app } = first) =>
    await app.inject({ method: 'POST', url: '/api/sessions/revoke-all', headers: bearer(token) })
  const isOver = async (token: string) =>
    (await fetch(`${idp.url}/auth/v1/user`, { headers: bearer(token) })).status === 403
  const row = async (token: string) =>
    (await first.app.db.select().from(seen_sessions).where(eq(seen_sessions.id, claimsOf(token).session_id)))[0]!

  t.test('a person\'s list shows each session that was used, with its last device', async (t) => {
    const [one, other, stranger] = [await token('amelia'), await token('amelia'), await token('bruno')]
    t.equal(await statusOf(first, one, 'telefono'), 200)
    t.equal(await status(stranger), 200)
    t.same((await listed(one)).map(({ id, user_agent, ip, current }) => ({ id, user_agent, ip, current })),
      [{ id: claimsOf(one).session_id, user_agent: 'telefono', ip: '127.0.0.1', current: true }])
    t.equal(await status(other, second), 200)
    t.same((await listed(other, second)).map(({ id, current }) => ({ id, current })),
      [{ id: claimsOf(other).session_id, current: true }, { id: claimsOf(one).session_id, current: false }])
    t.same((await row(one)).expires_at, new Date(Number(claimsOf(one).exp) * 1000))
    t.same((await first.call('GET', '/api/sessions')).json(), [], 'the server key has none')
  })

  t.test('a session whose tokens have all expired is not listed', async (t) => {
    const [one, other] = [await token('dora'), await token('dora')]
    for (const each of [one, other]) await listed(each)
    await sql`update seen_sessions set expires_at = now() where id = ${claimsOf(other).session_id}`
    t.same((await listed(one)).map(({ id }) => id), [claimsOf(one).session_id])
  })

  t.test('revoke-all rejects every token of the person at once in every process', async (t) => {
    const [one, other, unseen, stranger] = [
      await token('elena'), await token('elena'), await token('elena'), await token('fabio')
    ]
    for (const app of [first, second]) {
      for (const each of [one, other, stranger]) t.equal(await status(each, app), 200)
    }
    const answer = await revokeAll(one)
    t.equal(await status(one), 401, 'before the response is sent')
    t.same(answer.json(), { success: true, message: '2 sessioni chiuse', revoked: 2, status: 200 })
    for (const app of [first, second]) {
      for (const each of [one, other, unseen]) await refused(each, app)
      t.equal(await status(stranger, app), 200)
    }
    for (const each of [one, other, unseen]) t.ok(await isOver(each))
    const again = await token('elena')
    t.equal(await status(again), 200, 'a new sign-in')
    t.equal((await listed(again, second)).length, 1)
    t.equal(await status(one), 401)
    t.match((await revokeAll(again)).json(), { revoked: 1 })
    await refused(again, second)
  })

  t.test('a session that is first seen during a revocation is refused', async (t) => {
    const [one, other] = [await token('ivo'), await token('ivo')]
    t.equal(await status(one), 200)
    await Promise.all([
      revokeAll(one),
      ...Array.from({ length: 10 }, (_, n) => status(other, n % 2 === 0 ? first : second))
    ])
    for (const app of [first, second]) await refused(other, app)
  })

  t.test('when the audit log cannot be written, the sessions continue, at the provider and here', async (t) => {
    const one = await token('lia')
    t.equal(await status(one), 200)
    const writable = await unwritable(sql)
    const answer = await revokeAll(one)
    await writable()
    t.match(answer.json(), { status: 503, codice: 'REGISTRO_NON_DISPONIBILE' })
    t.equal(await status(one), 200)
    t.notOk(await isOver(one))
  })

  t.test('the audit log records a revocation before and after it happens', async (t) => {
    const one = await token('mara')
    await revokeAll(one)
    const object = `user:${claimsOf(one).sub}`
    const rows = await sql`select actor, action, details from audit_log where object = ${object} order by id`
    t.same(rows.map(({ actor, action, details }) => ({ actor, action, details })), [
      { actor: object, action: 'sessioni_revocate', details: { phase: 'asked' } },
      { actor: object, action: 'sessioni_revocate', details: { phase: 'done', revoked: 1, keys: 0 } }
    ])
  })

  t.test('sessions that ended a month ago are deleted', async (t) => {
    const user = randomUUID()
    await sql`
      insert into seen_sessions (id, user_id, expires_at) values
        (${randomUUID()}, ${user}, now() - interval '31 days'),
        (${randomUUID()}, ${user}, now() - interval '29 days')`
    const seen = new SeenSessions(first.app.db, first.app.log, () => ({
      ready: async () => false,
      waitForListeners: async () => {}
    }))
    await seen.deleteOld()
    t.equal((await sql`select 1 from seen_sessions where user_id = ${user}`).length, 1)
  })
})

t.test('an external provider’s session has the level of its token, and keys are checked at the provider', async (t) => {
  const REQUIRED = { REQUIRE_MFA: 'all', REQUIRE_RECENT_MFA: 'true' }
  const { app } = await build(t, { ...idp.environ, ...REQUIRED }, undefined, PATIENT)
  const email = 'amalia@example.org'
  await idp.admin('POST', '/admin/users', {
    email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'admin' }
  })
  const client = openClient(t, { backendUrl: idp.url, backendKey: idp.anonKey })
  await client.auth.signInWithPassword({ email, password: PASSWORD })
  const asked = async (headers: Record<string, string>, url = '/api/v1/paesi') => {
    const answer = await app.inject({ url, headers })
    return [answer.statusCode, answer.statusCode === 200 ? undefined : answer.json<{ codice: string }>().codice]
  }
  const half = bearer((await tokensOf(client)).access)
  t.same(await asked(half), [403, 'SECONDO_FATTORE_RICHIESTO'])

  await enrolApp(client)
  const whole = bearer((await tokensOf(client)).access)
  t.same(await asked(whole), [200, undefined])
  t.same(await asked(half), [403, 'SECONDO_FATTORE_RICHIESTO'], 'the earlier token keeps its level')
  const answer = await app.inject({ url: '/api/cli/auth/key', headers: whole })
  t.equal(answer.statusCode, 200, 'the later token has the time of the proof')
  t.same(await asked({ 'x-api-key': answer.json<{ apiKey: string }>().apiKey }), [200, undefined])
})

t.test('a key made with the password alone has administrator rights until a second factor is reported', async (t) => {
  const { app } = await build(t, { ...idp.environ }, undefined, PATIENT)
  const email = 'brunella@example.org'
  await idp.admin('POST', '/admin/users', {
    email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'admin' }
  })
  const client = openClient(t, { backendUrl: idp.url, backendKey: idp.anonKey })
  await client.auth.signInWithPassword({ email, password: PASSWORD })
  const mintWhole = async () => (await app.inject({
    url: '/api/cli/auth/key', headers: bearer((await tokensOf(client)).access)
  })).json<{ apiKey: string, id: string }>()
  const mint = async () => (await mintWhole()).apiKey
  const status = async (apiKey: string, url = '/api/v1/keys?tutte=true') =>
    (await app.inject({ url, headers: { 'x-api-key': apiKey } })).statusCode
  const key = await mint()
  t.equal(await status(key), 200)
  await enrolApp(client)
  t.equal(await status(key), 403)
  t.equal(await status(key, '/api/v1/paesi'), 200, 'other requests still work')
  const later = await mintWhole()
  t.equal(await status(later.apiKey), 200)
  const url = `/api/v1/keys/${later.id}`
  t.match((await app.inject({ method: 'DELETE', url, headers: { 'x-api-key': key } })).json(),
    { status: 403, codice: 'SECONDO_FATTORE_RICHIESTO' })
  t.equal(await status(later.apiKey), 200, 'it revokes no other key')
})

const UNREACHABLE = { code: 'PROVIDER_NON_RAGGIUNGIBILE', statusCode: 503 }
const ID = '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11'
const MAX_BYTES = 5 * 1024 * 1024
const padded = (bytes: number) => '{}'.padEnd(bytes)

t.test('the client of an external provider', async (t) => {
  const fake = await fakeProvider(t, json(200, {}))
  const warnings: object[] = []
  const log = { warn: (fields: object) => warnings.push(fields) }
  const settings = { base: `${fake.url}/auth/v1`, anonKey: 'CANARY-anon' }
  const client = idpClient({ settings, log })
  const get = async (path = `/admin/users/${ID}`) => await client.asService('CANARY-service', 'GET', path)

  t.test('an unusable response causes one error and one log line, without personal data or secrets', async (t) => {
    const redirecting: RequestListener = (request, response) => {
      if (request.url === '/altrove') json(200, {})(request, response)
      else response.writeHead(307, { location: '/altrove' }).end()
    }
    const faults: [string, RequestListener][] = [
      ['status 500', json(500, { msg: 'CANARY-body' })],
      ['status 503', json(503, {})],
      ['status 429', json(429, {})],
      ['status 401', json(401, {})],
      ['status 403', json(403, {})],
      ['TypeError', redirecting],
      ['not JSON', (_request, response) => response.end('<html>CANARY-body')],
      ['not JSON', (_request, response) => response.writeHead(404).end('not found')],
      ['too large', (_request, response) => response.end(padded(MAX_BYTES + 1))],
      [
        'too large',
        (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(padded(MAX_BYTES + 1)))
      ],
      ['UND_ERR_SOCKET', (_request, response) => response.destroy()],
      [
        'UND_ERR_SOCKET',
        (_request, response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy())
      ]
    ]
    for (const [reason, behaviour] of faults) {
      fake.answer(behaviour)
      warnings.length = 0
      const err: unknown = await get(`/admin/users/${ID}?x=CANARY`).catch((err: unknown) => err)
      t.match(err, UNREACHABLE, reason)
      t.same(warnings, [{ reason, operation: 'GET /admin/users/:id' }])
      t.notMatch(JSON.stringify([warnings, err instanceof Error ? [err.message, err.stack, String(err.cause)] : err]),
        /CANARY|6f0f4c5e/)
    }
    t.notOk(fake.requests.some(({ url }) => url === '/altrove'))
    fake.answer(json(403, { code: 403, error_code: 'session_not_found' }))
    t.match(await client.asPerson('CANARY-token', 'GET', '/user'), { status: 403, code: 'session_not_found' },
      'a person can be refused')
  })

  t.test('a response that is late or incomplete times out', async (t) => {
    const hasty = idpClient({ settings, log, timeoutMs: 50 })
    for (const behaviour of [
      () => {},
      (_request, response) => response.writeHead(200).write('{')
    ] satisfies RequestListener[]) {
      fake.answer(behaviour)
      warnings.length = 0
      await t.rejects(hasty.asPerson('CANARY-token', 'GET', '/user'), UNREACHABLE)
      t.same(warnings, [{ reason: 'TimeoutError', operation: 'GET /user' }])
    }
  })

  t.test('a token with a line break cannot add a header', async (t) => {
    fake.requests.length = 0
    await t.rejects(client.asPerson('x\r\nx-admin: 1', 'GET', '/user'), UNREACHABLE)
    t.same(fake.requests, [])
  })
})

const OTHER = '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11'
const user = (more = {}) => json(200, { id: ID, created_at: '2026-11-21T09:30:00Z', ...more })

t.test('the lookup of users at an external provider', async (t) => {
  const { requests, ...fake } = await fakeProvider(t, user())
  const clock = { ms: 0 }
  const client = idpClient({ settings: { base: fake.url, anonKey: 'anonima' }, log: { warn () {} } })
  const create = () => userLookup({ client, serviceKey: 'di-servizio', clock: () => clock.ms })
  t.beforeEach(() => { requests.length = 0 })

  t.test('a lookup is cached for a minute, but administration always asks again', async (t) => {
    const people = create()
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    fake.answer(user())
    clock.ms += 59_999
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    clock.ms++
    t.same((await people.recent(ID))?.app_metadata, {})
    t.equal(requests.length, 2)
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.now(ID), { app_metadata: { role: 'admin' } })
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } }, 'the result is cached')
    t.equal(requests.length, 3)
  })

  t.test('an unusable response, or one about another user, is an error and is not cached', async (t) => {
    const people = create()
    for (const behaviour of [json(500, {}), json(200, {}), json(200, null), json(200, { id: OTHER }), json(401, {})]) {
      fake.answer(behaviour)
      await t.rejects(people.recent(ID), UNREACHABLE)
    }
    fake.answer(user())
    t.match(await people.recent(ID), { id: ID })
    clock.ms += 60_000
    fake.answer(json(500, {}))
    await t.rejects(people.recent(ID), UNREACHABLE, 'after a minute the provider is asked again')
  })
})

const MASTER_KEY = randomBytes(32).toString('base64')
const read = (environ: Record<string, string>) =>
  externalSettings(readConfig({ MASTER_KEY, IDP_ANON_KEY: 'anonima', ...environ }))

t.test('the provider’s URL must be https or loopback', async (t) => {
  for (const url of [
    'https://idp.example', 'http://127.0.0.1:9999', 'http://localhost', 'http://[::1]:8000',
    'https://idp.example/sotto'
  ]) {
    t.match(read({ IDP_URL: url }), { url, base: `${url}/auth/v1` })
    t.match(read({ IDP_URL: `${url}//` }), { url, base: `${url}/auth/v1` })
  }
  for (const url of [
    'http://idp.example', 'http://10.0.0.1', 'http://127.0.0.1.example', 'https://utente:CANARY@idp.example',
    'https://idp.example?x=CANARY', 'https://idp.example/#CANARY', 'http://[::2]'
  ]) {
    t.throws(() => read({ IDP_URL: url }), { name: 'ConfigError', message: /^IDP_URL: [^C]+$/ }, url)
  }
})

t.test('a public or private key is refused as the shared secret', async (t) => {
  t.match(read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: 'segreto' }), { jwtSecret: Buffer.from('segreto') })
  t.throws(() => read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: '-----BEGIN PUBLIC KEY-----\nCANARY' }),
    { name: 'ConfigError', message: /^IDP_JWT_SECRET: [^C]+$/ })
})
