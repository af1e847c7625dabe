import { Type } from '@sinclair/typebox'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { seen_sessions } from '#drizzle/tables/identity.ts'
import { Closed } from '#schemas/common.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build, extraRoutes, type TestApp } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const SOMEWHERE = '/api/v1/paesi'
const ADMINS = '/prova/admin'
const Is = Closed({ is: Type.Boolean() })

t.test('administrators of an external provider', async (t) => {
  const idp = await startProvider(t)
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
  const change = async (token: string, body: object) =>
    await idp.admin('PUT', `/admin/users/${claimsOf(token).sub}`, body)
  const keyOf = async (token: string, query = '') => {
    const { apiKey } = (await first.app.inject({ url: `/api/cli/auth/key${query}`, headers: bearer(token) })).json()
    return { 'x-api-key': String(apiKey) }
  }
  /** Whether somebody would be one who comes with a session of the administrators' pages, and no token. */
  const byPage = async (token: string, { app }: TestApp = first) => {
    const { sub: userId, session_id: sessionId } = claimsOf(token)
    return (await app.inject({ url: `/prova/pagine/${userId}/${sessionId}`, headers: { 'x-api-key': API_KEY } })).json()
      .is
  }

  t.test('the provider’s present role counts at every request', async (t) => {
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

  t.test('a person who is pending at the provider is pending here', async (t) => {
    const token = await idp.twin.token({ name: 'attesa', role: 'pending' })
    t.match((await first.app.inject({ url: SOMEWHERE, headers: bearer(token) })).json(), {
      codice: 'ACCOUNT_IN_ATTESA'
    })
    t.equal(await status(bearer(token)), 403)
  })

  t.test('a person without a role at the provider is pending here, because its sign-up may be open', async (t) => {
    await idp.admin('POST', '/admin/users', {
      email: 'sola@example.org',
      password: 'una-frase-lunga-e-mia',
      email_confirm: true
    })
    const { access_token: token } = await idp.signIn('sola@example.org', 'una-frase-lunga-e-mia')
    t.match((await first.app.inject({ url: SOMEWHERE, headers: bearer(token) })).json(), {
      codice: 'ACCOUNT_IN_ATTESA',
      status: 403
    })
  })

  t.test(
    'a person who has signed out, was banned or was deleted at the provider administers nothing any more',
    async (t) => {
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
        t.equal(await status(bearer(token), SOMEWHERE, second), 200, 'until somebody asks')
        t.equal(await status(bearer(token)), 403)
        t.equal(await status(bearer(token), SOMEWHERE), 401)
        await second.app.identity.waitForListeners()
        t.equal(await status(bearer(token), SOMEWHERE, second), 401)
      }
      t.equal(await status(bearer(banned)), 403)
      await change(banned, { ban_duration: 'none' })
      t.equal(await status(bearer(banned)), 200, 'a ban ends')
    }
  )

  t.test('an API key has the rights that its person has at present', async (t) => {
    const token = await idp.twin.token({ name: 'carla', role: 'operator' })
    const [key, reading] = [await keyOf(token), await keyOf(token, '?scopes=lettura')]
    t.equal(await status(key, SOMEWHERE), 200)
    t.equal(await status(key), 403)
    await change(token, { app_metadata: { role: 'admin' } })
    t.equal(await status(key), 200, 'at once')
    t.equal(await status(reading), 403, 'within its scopes')
    t.equal(await status(reading, '/api/v1/keys?tutte=true'), 403, 'everywhere')
    t.equal(await status(key, '/api/v1/keys?tutte=true'), 200)
    await change(token, { app_metadata: { role: 'operator' } })
    t.equal(await status(key), 403)
  })

  t.test('a revoked key is refused at once, and in a second process as soon as it has heard of it', async (t) => {
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

  t.test(
    'a key of a banned or deleted person is refused: for administration at once, otherwise within a minute',
    async (t) => {
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
        t.equal(await status(key, SOMEWHERE), 401, 'what was just asked is known')
      }
    }
  )

  t.test(
    'without the service key API keys are neither made nor accepted, and tokens still make administrators',
    async (t) => {
      const token = await idp.twin.token({ name: 'fulvia', role: 'admin' })
      const key = await keyOf(token)
      const bare = await server({ IDP_SERVICE_KEY: undefined, DATABASE_URL: first.url, DATA_DIR: first.dataDir })
      t.equal(await status(key, SOMEWHERE, bare), 401)
      t.equal(await status(bearer(token), ADMINS, bare), 200)
      t.equal(await byPage(token, bare), false)
      const made = await bare.app.inject({ url: '/api/cli/auth/key', headers: bearer(token) })
      t.match(made.json(), { status: 503, codice: 'AMMINISTRAZIONE_NON_DISPONIBILE' })
      t.equal((await bare.app.inject({ url: '/api/v1/keys', headers: bearer(token) })).json().data.length, 1)
    }
  )

  t.test('a session of the administration pages ends with the login that it was granted to', async (t) => {
    const token = await idp.twin.token({ name: 'gaia', role: 'admin' })
    t.equal(await status(bearer(token)), 200)
    t.equal(await byPage(token), true)
    // A list waits until what was seen is written down.
    t.equal(await status(bearer(token), '/api/sessions'), 200)
    await first.app.db
      .update(seen_sessions)
      .set({ revoked_at: new Date() })
      .where(eq(seen_sessions.id, claimsOf(token).session_id))
    await first.app.identity.waitForListeners()
    t.equal(await byPage(token), false)
  })
})
