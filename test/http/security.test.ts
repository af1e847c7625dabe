import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Type } from '@sinclair/typebox'
import type { RouteOptions } from 'fastify'
import t from 'tap'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'

const key = { 'x-api-key': API_KEY }

const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}

/** Headers of every response, with any status. */
const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-request-id': /^[0-9a-f-]{36}$/
}

const CLOSED = { ...ALWAYS, 'content-security-policy': "default-src 'none';frame-ancestors 'none'" }
const routes: RouteOptions[] = []

/** A server with the default settings. */
const usual = await build(t, {}, (app) => { app.addHook('onRoute', (route) => { routes.push(route) }) })

/** Environment of further servers on the same database. */
const SAME = { DATABASE_URL: usual.url, DATA_DIR: usual.dataDir }

const { app, token } = usual
const { data } = (
  await app.inject({ method: 'POST', url: '/api/v1/prenotazioni', headers: key, payload: BOOKING })
).json()
const { etag } = (await app.inject({ url: `/api/v1/prenotazioni/${data.id}`, headers: key })).headers

const long = 'àè'.repeat(10_000)
async function * pieces () {
  for (let at = 0; at < 1000; at++) yield `"${long.slice(0, 100)}",`
}
const { app: sending } = await build(t, SAME, extraRoutes((app) => {
  const schema = { response: { 200: Type.Any() } }
  const config = { access: 'public' as const }
  app.get('/prova/elenco', { config, schema }, async (_request, reply) =>
    reply.type('text/plain').send(Readable.from(pieces(), { objectMode: false })))
  app.get('/prova/rotto', { config, schema }, async (_request, reply) =>
    reply.type('text/plain').send(Readable.from((async function * () { throw new Error('rotto') })())))
  app.get('/prova/lungo', { config, schema }, async (_request, reply) => reply.type('text/plain').send(long))
  app.get('/prova/uno/:id', { config, schema }, async (_request, reply) =>
    reply.type('text/plain').header('etag', '"1"').send(long))
  app.get('/auth/v1/prova', { config, schema }, async (_request, reply) => reply.type('text/plain').send(long))
}))

const person = await token({ name: 'anna' })

t.test(
  'every kind of response forbids sniffing, scripts, frames and referrers',
  async (t) => {
    const kinds = [
      [200, { url: '/health/live' }],
      [200, { url: '/openapi.json' }],
      [200, { url: '/api/v1/prenotazioni', headers: key }],
      [200, { method: 'HEAD', url: '/health/live' }],
      [304, { url: `/api/v1/prenotazioni/${data.id}`, headers: { ...key, 'if-none-match': String(etag) } }],
      [400, { url: '/api/v1/prenotazioni/x', headers: key }],
      [400, { url: '/%zz' }],
      [401, { url: '/api/v1/paesi' }],
      [404, { url: '/nulla' }],
      [405, { method: 'PUT', url: '/health/live' }],
      [
        413,
        {
          method: 'POST',
          url: '/api/v1/prenotazioni',
          headers: { ...key, 'content-type': 'application/json' },
          payload: 'x'.repeat(2 ** 20 + 1)
        }
      ],
      [414, { url: `/api/v1/prenotazioni/${'1'.repeat(400)}`, headers: key }],
      [
        415,
        {
          method: 'POST',
          url: '/api/v1/prenotazioni',
          headers: { ...key, 'content-type': 'text/xml' },
          payload: '<a/>'
        }
      ]
    ] as const
    for (const [status, request] of kinds) {
      const { statusCode, headers } = await app.inject(request)
      t.equal(statusCode, status, request.url.slice(0, 60))
      t.match(headers, CLOSED)
      t.same(
        ['server', 'x-powered-by', 'access-control-allow-origin', 'strict-transport-security'].filter(
          (name) => name in headers
        ),
        []
      )
    }
  }
)

t.test('responses with personal data forbid caching', async (t) => {
  const privateRoutes = routes.filter(
    ({ config, method }) => config?.access !== 'public' && method === 'GET' && config?.access !== undefined
  )
  for (const { url } of privateRoutes) {
    const { headers } = await app.inject({ url: url.replace(':id', String(data.id)), headers: key })
    // Code tables are the same for all callers, and large. So a client may cache them, but must revalidate.
    t.equal(headers['cache-control'], url === '/api/alloggiati/codici' ? 'private, no-cache' : 'no-store', url)
  }
  t.ok(privateRoutes.length > 8)
})

t.test('without CORS_ORIGINS no other origin is allowed, not even in a preflight', async (t) => {
  for (const origin of ['https://app.example', 'null', 'http://localhost']) {
    const { headers } = await app.inject({ url: '/openapi.json', headers: { origin } })
    t.equal(headers['access-control-allow-origin'], undefined)
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/api/v1/prenotazioni',
      headers: { origin, 'access-control-request-method': 'POST' }
    })
    t.equal(preflight.statusCode, 405)
    t.equal(preflight.headers['access-control-allow-origin'], undefined)
  }
})

t.test('with CORS_ORIGINS exactly these origins may call, and read every header of the description', async (t) => {
  const { app } = await build(t, { ...SAME, CORS_ORIGINS: 'https://app.example, http://localhost:5173' })
  const description = JSON.parse(JSON.stringify(app.swagger())) as { components: { headers: object } }
  const described = Object.keys(description.components.headers)
  t.ok(described.length > 15)
  for (const origin of ['https://app.example', 'http://localhost:5173']) {
    const answer = await app.inject({ url: '/api/v1/paesi', headers: { ...key, origin } })
    t.equal(answer.headers['access-control-allow-origin'], origin)
    t.match(answer.headers.vary, 'Origin')
    const exposed = String(answer.headers['access-control-expose-headers']).split(', ')
    t.same(described.filter((name) => !exposed.includes(name)), ['Set-Cookie'], 'no script may read a cookie')
    t.equal(
      (await app.inject({ url: '/api/v1/paesi', headers: { origin } })).headers['access-control-allow-origin'],
      origin,
      'an error can be read too'
    )
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
      const requested = {
        'access-control-request-method': method,
        'access-control-request-headers': 'x-api-key, if-match, idempotency-key'
      }
      const preflight = await app.inject({
        method: 'OPTIONS',
        url: '/api/v1/prenotazioni/1',
        headers: { origin, ...requested }
      })
      t.equal(preflight.statusCode, 204)
      t.match(preflight.headers, {
        'access-control-allow-origin': origin,
        'access-control-max-age': '7200',
        'access-control-allow-headers': requested['access-control-request-headers']
      })
      t.ok(String(preflight.headers['access-control-allow-methods']).split(', ').includes(method), method)
    }
    const much = await app.inject({
      method: 'OPTIONS',
      url: '/api/v1/prenotazioni/1',
      headers: {
        origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'a'.repeat(5000)
      }
    })
    t.equal(much.headers['access-control-allow-headers'], undefined, 'the response header stays small')
  }
  for (const origin of [
    'https://app.example.org', 'http://app.example', 'https://app.example:8443', 'https://APP.example', 'null',
    'https://app.example, http://localhost:5173'
  ]) {
    t.equal(
      (await app.inject({ url: '/api/v1/paesi', headers: { ...key, origin } })).headers['access-control-allow-origin'],
      undefined,
      origin
    )
  }
})

t.test('HSTS is sent only when PUBLIC_URL is https', async (t) => {
  for (const [PUBLIC_URL, expected] of [
    ['https://locanda.example', 'max-age=31536000; includeSubDomains'],
    ['http://locanda.example', undefined],
    [undefined, undefined]
  ] as const) {
    const { app } = PUBLIC_URL === undefined ? usual : await build(t, { ...SAME, PUBLIC_URL })
    for (const url of ['/health/live', '/nulla', '/docs']) {
      t.equal((await app.inject(url)).headers['strict-transport-security'], expected, `${PUBLIC_URL} ${url}`)
    }
  }
})

t.test('a process whose event loop lags more than the limit responds with 503 and Retry-After', async (t) => {
  const { app } = await build(t, { ...SAME, OVERLOAD_AFTER_MS: '100' })
  let answer = await app.inject('/health/live')
  for (let round = 0; round < 20 && answer.statusCode === 200; round++) {
    standStill(400)
    await nextTurn()
    answer = await app.inject('/health/live')
  }
  t.match(answer.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.equal(answer.headers['retry-after'], '5')
})

/** Blocks the event loop, like a computation or a paused process. */
function standStill (ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

t.test('a 401 names the way to authenticate, and whether the token was invalid', async (t) => {
  const { app } = usual
  const challenge = async (url: string, headers = {}) => {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 401)
    return answer.headers['www-authenticate']
  }
  t.equal(await challenge('/api/v1/paesi'), 'Bearer realm="Locanda"')
  t.equal(await challenge('/api/v1/paesi', { 'x-api-key': 'sbagliata' }), 'Bearer realm="Locanda"')
  const wrong = { authorization: 'Bearer a.b.c' }
  t.equal(await challenge('/api/v1/paesi', wrong), 'Bearer realm="Locanda", error="invalid_token"')
  t.equal(await challenge('/auth/v1/user'), 'Bearer realm="Locanda"')
  t.equal((await app.inject('/health/live')).headers['www-authenticate'], undefined)
})

const gzip = { ...key, 'accept-encoding': 'br, gzip;q=0.8' }

t.test('large responses are compressed for clients that accept gzip, without changing the content', async (t) => {
  for (const url of [
    '/prova/elenco', '/prova/lungo', '/api/alloggiati/codici', '/openapi.json', '/docs/static/swagger-ui.css'
  ]) {
    const plain = await sending.inject({ url, headers: key })
    t.equal(plain.headers['content-encoding'], undefined, url)
    t.match(plain.headers.vary, 'Accept-Encoding')
    const zipped = await sending.inject({ url, headers: gzip })
    t.equal(zipped.headers['content-encoding'], 'gzip', url)
    t.ok(zipped.rawPayload.length < plain.rawPayload.length / 4)
    t.match(zipped.headers.etag ?? 'W/', /^W\//, 'the bytes differ, so the tag is weak')
    t.ok(gunzipSync(zipped.rawPayload).equals(plain.rawPayload), url)
  }
  for (const url of ['/prova/elenco', '/prova/lungo']) {
    for (const accepted of ['br', 'gzip;q=0', 'identity, gzip; q=0.0', 'x-gzip']) {
      const answer = await sending.inject({ url, headers: { ...key, 'accept-encoding': accepted } })
      t.equal(answer.headers['content-encoding'], undefined, `${url} ${accepted}`)
    }
  }
})

t.test('small responses, single resources and responses of the sign-in are not compressed', async (t) => {
  for (const url of ['/health/live', '/api/v1/prenotazioni?limit=1', '/auth/v1/prova', '/prova/uno/1']) {
    t.equal((await sending.inject({ url, headers: gzip })).headers['content-encoding'], undefined, url)
  }
})

t.test('a stream that fails before its first byte is answered with a 500 with the error body', async (t) => {
  const answer = await sending.inject({ url: '/prova/rotto', headers: gzip })
  t.match(answer.json(), { status: 500, codice: 'ERRORE_INTERNO' })
  t.equal(answer.headers['content-encoding'], undefined)
})

const SOMEWHERE = '/api/v1/paesi'

const status = async (headers: Record<string, string>, url = SOMEWHERE) =>
  (await app.inject({ url, headers })).statusCode

t.test('a request with an invalid credential is rejected, even if it also has a valid one', async (t) => {
  t.equal(await status({ 'x-api-key': API_KEY, ...bearer('a.b.c') }), 401)
  t.equal(await status({ 'x-api-key': API_KEY, authorization: 'Basic YTpi' }), 401)
  t.equal(await status({ ...bearer(person), 'x-api-key': 'sbagliata' }), 401)
  t.equal(await status(bearer(person), `${SOMEWHERE}?api_key=sbagliata`), 401)
  t.equal(await status({ 'x-api-key': 'sbagliata' }, `${SOMEWHERE}?api_key=${API_KEY}`), 401)
})

t.test('a key in the header takes precedence over one in the query', async (t) => {
  t.equal(await status({ 'x-api-key': API_KEY }, `${SOMEWHERE}?api_key=sbagliata`), 200)
})

t.test('a key that is truncated, repeated, empty or in another place is rejected', async (t) => {
  for (const key of [
    API_KEY.slice(0, -1),
    `${API_KEY}x`,
    API_KEY.toUpperCase(),
    ` ${API_KEY} x`,
    '',
    `${API_KEY}, ${API_KEY}`,
    'x'.repeat(1_000_000)
  ]) {
    t.equal(await status({ 'x-api-key': key }), 401, key.slice(0, 60))
  }
  for (const query of [
    `api_key=${API_KEY}&api_key=${API_KEY}`,
    `api_key=x&api_key=${API_KEY}`,
    'api_key=',
    'api_key',
    `api_key[]=${API_KEY}`,
    `API_KEY=${API_KEY}`,
    `apikey=${API_KEY}`
  ]) {
    t.equal(await status({}, `${SOMEWHERE}?${query}`), 401, query)
  }
  for (const authorization of [`Bearer ${API_KEY}`, 'Bearer', `Bearer  ${person}`, person]) {
    t.equal(await status({ authorization }), 401, authorization.slice(0, 30))
  }
  t.equal(await status({ cookie: `api_key=${API_KEY}` }), 401, 'a cookie')
  t.equal(await status({ apikey: API_KEY }), 401, 'another header')
})

t.test('without an API_KEY every key is rejected', async (t) => {
  const { app } = await build(t, { API_KEY: undefined })
  for (const key of ['', 'undefined', 'null', API_KEY]) {
    t.equal((await app.inject({ url: SOMEWHERE, headers: { 'x-api-key': key } })).statusCode, 401, key)
  }
  t.equal((await app.inject(`${SOMEWHERE}?api_key=`)).statusCode, 401)
})

t.test('a route without config.access prevents the start', async (t) => {
  const start = build(t, {}, extraRoutes((app) => { app.get('/prova', async () => ({})) }))
  await t.rejects(start, { message: 'Route GET /prova has no config.access' })
})
