import { randomBytes } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { createKeys } from '#src/keys.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { forger } from './forged.ts'

const master = randomBytes(32)
const PUBLIC_URL = 'https://locanda.example'
const environ = { MASTER_KEY: master.toString('base64'), PUBLIC_URL }
const secret = createKeys(master).derive('access-token')
const forge = forger(secret, `${PUBLIC_URL}/auth/v1`)
const now = Math.floor(Date.now() / 1000)
const SOMEWHERE = '/api/v1/paesi'

const unsigned = (alg: string) => forge({ header: { alg } }).replace(/[^.]*$/, '')

/** None of these is let in. */
const BAD_TOKENS: Readonly<Record<string, string>> = {
  'alg none': unsigned('none'),
  'alg None': unsigned('None'),
  'alg none with a signature': forge({ header: { alg: 'none' } }),
  'alg HS256 without a signature': unsigned('HS256'),
  'alg HS512': forge({ header: { alg: 'HS512' }, hash: 'sha512' }),
  'alg RS256 signed with the secret': forge({ header: { alg: 'RS256' } }),
  'no alg': forge({ header: { alg: undefined } }),
  'alg a list': forge({ header: { alg: ['HS256'] } }),
  'another secret': forge({}, randomBytes(32)),
  'an empty secret': forge({}, Buffer.alloc(0)),
  'the API key as secret': forge({}, Buffer.from(API_KEY)),
  'the master key as secret': forge({}, master),
  'the sealing key as secret': forge({}, createKeys(master).derive('seal')),
  'another secret, found by kid': forge({ header: { kid: '../../../../dev/null' } }, Buffer.alloc(0)),
  'its own key in the header': forge({ header: { jwk: { kty: 'oct', k: Buffer.alloc(32).toString('base64url') } } }, Buffer.alloc(32)),
  'its own key set': forge({ header: { jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/cert' } }, Buffer.alloc(32)),
  'a critical extension': forge({ header: { crit: ['b64'], b64: false } }),
  expired: forge({ claims: { iat: now - 7200, exp: now - 1 } }),
  'without expiry': forge({ claims: { exp: undefined } }),
  'expiry in words': forge({ claims: { exp: 'domani' } }),
  'issued too long ago': forge({ claims: { iat: now - 25 * 3600, exp: now + 3600 } }),
  'without time of issue': forge({ claims: { iat: undefined } }),
  'not valid yet': forge({ claims: { nbf: now + 3600 } }),
  'for somebody else': forge({ claims: { aud: 'anon' } }),
  'without audience': forge({ claims: { aud: undefined } }),
  'of another issuer': forge({ claims: { iss: 'https://altrove.example/auth/v1' } }),
  'of no issuer': forge({ claims: { iss: undefined } }),
  'without role': forge({ claims: { role: undefined } }),
  'the public role': forge({ claims: { role: 'anon' } }),
  'a list of roles': forge({ claims: { role: ['service_role'] } }),
  'without subject': forge({ claims: { sub: undefined } }),
  'an empty subject': forge({ claims: { sub: '' } }),
  'a subject that is not text': forge({ claims: { sub: { toString: 'admin' } } }),
  'a payload changed after signing': forge().split('.').with(1, forge({ claims: { role: 'service_role' } }).split('.')[1] ?? '').join('.'),
  'two parts': forge().split('.').slice(0, 2).join('.'),
  'four parts': `${forge()}.x`,
  garbage: 'ciao',
  'garbage in three parts': 'a.b.c',
  'one megabyte': `${'A'.repeat(1_000_000)}.${'B'.repeat(10)}.C`
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('who is let in', async (t) => {
  const routes: RouteOptions[] = []
  const reached: string[] = []
  const { app } = await build(t, environ, (app) => {
    app.addHook('onRoute', (route) => { routes.push(route) })
    app.addHook('preHandler', async ({ method, url }) => { reached.push(`${method} ${url}`) })
    extraRoutes((app) => {
      app.get('/prova/admin', { config: { access: 'admin' }, schema: { response: { 200: Closed({}) } } }, async () => ({}))
    })(app)
  })
  const guarded = routes.filter(({ config, method }) => config?.access !== undefined && config.access !== 'public' && method !== 'OPTIONS')
  const status = async (headers: Record<string, string>, url = SOMEWHERE) => (await app.inject({ url, headers })).statusCode

  t.test('nobody without credentials, or with wrong ones, gets to the handler of any guarded route', async (t) => {
    t.ok(guarded.length > 20)
    for (const { method, url } of guarded) {
      const path = url.replace(/:\w+/, '1')
      for (const [kind, headers, query] of [['none', {}, ''], ['wrong key', { 'x-api-key': 'sbagliata' }, ''], ['wrong query key', {}, '?api_key=sbagliata'], ['wrong token', bearer('a.b.c'), '']] as const) {
        const answer = await app.inject({ method: method as 'GET', url: path + query, headers, ...(method === 'POST' || method === 'PUT' ? { payload: {} } : {}) })
        t.equal(answer.statusCode, 401, `${String(method)} ${url}, ${kind}`)
        t.equal(answer.headers['cache-control'], 'no-store')
        if (method !== 'HEAD') t.match(answer.json(), { codice: 'NON_AUTENTICATO', status: 401 })
      }
    }
    t.same(reached, [])
  })

  t.test('the server key and a token are let in, however they are brought', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY }), 200)
    t.equal(await status({}, `${SOMEWHERE}?api_key=${API_KEY}`), 200)
    t.equal(await status(bearer(forge())), 200)
    t.equal(await status({ authorization: `bearer ${forge()}` }), 200, 'the scheme\'s case does not count')
    t.equal(await status({ ...bearer(forge()), 'x-api-key': API_KEY }), 200)
    t.equal(await status({ ...bearer(forge()), 'x-api-key': forge({ claims: { sub: 'altro' } }) }), 401, 'another token as key')
    const token = forge()
    t.equal(await status({ ...bearer(token), 'x-api-key': token }), 200, 'the same token twice')
  })

  t.test('a wrong credential is not made good by a right one', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY, ...bearer('a.b.c') }), 401)
    t.equal(await status({ 'x-api-key': API_KEY, authorization: 'Basic YTpi' }), 401)
    t.equal(await status({ ...bearer(forge()), 'x-api-key': 'sbagliata' }), 401)
    t.equal(await status(bearer(forge()), `${SOMEWHERE}?api_key=sbagliata`), 401)
    t.equal(await status({ 'x-api-key': 'sbagliata' }, `${SOMEWHERE}?api_key=${API_KEY}`), 401)
  })

  t.test('of a key in the header and one in the query the header counts', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY }, `${SOMEWHERE}?api_key=sbagliata`), 200)
  })

  t.test('a key that is nearly right, repeated, empty or elsewhere is wrong', async (t) => {
    for (const key of [API_KEY.slice(0, -1), `${API_KEY}x`, API_KEY.toUpperCase(), ` ${API_KEY} x`, '', `${API_KEY}, ${API_KEY}`, 'x'.repeat(1_000_000)]) {
      t.equal(await status({ 'x-api-key': key }), 401, key.slice(0, 60))
    }
    for (const query of [`api_key=${API_KEY}&api_key=${API_KEY}`, `api_key=x&api_key=${API_KEY}`, 'api_key=', 'api_key', `api_key[]=${API_KEY}`, `API_KEY=${API_KEY}`, `apikey=${API_KEY}`]) {
      t.equal(await status({}, `${SOMEWHERE}?${query}`), 401, query)
    }
    for (const authorization of [`Bearer ${API_KEY}`, 'Bearer', `Bearer  ${forge()}`, forge()]) t.equal(await status({ authorization }), 401, authorization.slice(0, 30))
    t.equal(await status({ cookie: `api_key=${API_KEY}` }), 401, 'a cookie')
    t.equal(await status({ apikey: API_KEY }), 401, 'another header')
  })

  t.test('forged, foreign, expired and incomplete tokens are wrong', async (t) => {
    for (const [name, token] of Object.entries(BAD_TOKENS)) t.equal(await status(bearer(token)), 401, name)
  })

  t.test('an administrator is a token with an administrator\'s role, and nobody else', async (t) => {
    t.equal(await status({}, '/prova/admin'), 401)
    t.equal(await status({ 'x-api-key': API_KEY }, '/prova/admin'), 403, 'the server key')
    const operator = await app.inject({ url: '/prova/admin', headers: bearer(forge({ claims: { user_metadata: { role: 'service_role' }, app_role: 'admin' } })) })
    t.match(operator.json(), { error: 'Permessi insufficienti', status: 403, codice: 'NON_AUTORIZZATO', requestId: operator.headers['x-request-id'] })
    for (const role of ['service_role', 'supabase_admin']) t.equal(await status(bearer(forge({ claims: { role } })), '/prova/admin'), 200, role)
    for (const role of ['Service_Role', 'admin', 'operator', 'service_role ']) t.equal(await status(bearer(forge({ claims: { role } })), '/prova/admin'), 401, role)
  })
})

t.test('without an API_KEY no key is right', async (t) => {
  const { app } = await build(t, { API_KEY: undefined })
  for (const key of ['', 'undefined', 'null', API_KEY]) t.equal((await app.inject({ url: SOMEWHERE, headers: { 'x-api-key': key } })).statusCode, 401, key)
  t.equal((await app.inject(`${SOMEWHERE}?api_key=`)).statusCode, 401)
})

t.test('a route that does not say who may call it stops the start', async (t) => {
  const start = build(t, {}, extraRoutes((app) => { app.get('/prova', async () => ({})) }))
  await t.rejects(start, { message: 'Route GET /prova does not say who may call it (config.access)' })
})
