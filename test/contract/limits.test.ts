import t from 'tap'
import { API_KEY, build } from '#test/helper.ts'

/* The classes of the rate limit, and what every answer says of them. */

const KEY = { 'x-api-key': API_KEY }
const JSON_TYPE = { 'content-type': 'application/json' }
const PAIR = { email: 'nessuno@example.org', password: 'sbagliata-ma-lunga' }
const SIGN_IN = '/auth/v1/token?grant_type=password'

const first = await build(t)
/** For another one on the same database. */
const SAME = { DATABASE_URL: first.url, DATA_DIR: first.dataDir }

// Of health, which is not counted, and of what browsers ask before a request, there is nothing to say.
t.test('every answer says how much of the limit is left, whatever it is', async (t) => {
  const { app, call } = first
  const etag = String((await call('GET', '/api/alloggiati/codici?limit=1')).headers.etag)
  for (const [status, request] of Object.entries({
    200: { url: '/api/v1/paesi', headers: KEY },
    304: { url: '/api/alloggiati/codici?limit=1', headers: { ...KEY, 'if-none-match': etag } },
    400: { method: 'POST', url: SIGN_IN, payload: PAIR },
    '400 of a body': { method: 'POST', url: '/api/v1/prenotazioni', headers: { ...KEY, ...JSON_TYPE }, payload: '{' },
    401: { url: '/api/v1/paesi', headers: { 'x-api-key': 'sbagliata' } },
    '401 of a page': { url: '/ad/' },
    '400 of the storage': { url: '/storage/v1/object/public/nessuno/x' },
    403: { url: '/api/users', headers: KEY },
    404: { url: '/nulla' },
    '404 of an area': { url: '/api/v1/prenotazioni/1', headers: KEY },
    405: { method: 'DELETE', url: '/api/v1/paesi', headers: KEY },
    413: { method: 'POST', url: '/api/v1/prenotazioni', headers: KEY, payload: { a: 'x'.repeat(1024 * 1024) } },
    415: { method: 'POST', url: '/api/saveOspiti', headers: { ...KEY, 'content-type': 'text/plain' }, payload: 'x' },
    422: { method: 'POST', url: '/api/alloggiati/invio', headers: KEY, payload: { ospiti: [{}], prenotazione: {} } },
    '200 of the page of the description': { url: '/docs' }
  } as const)) {
    const answer = await app.inject({ ...request })
    t.equal(answer.statusCode, Number.parseInt(status), `${status}: ${answer.body.slice(0, 200)}`)
    t.match(answer.headers, {
      'ratelimit-limit': '100000', 'ratelimit-remaining': /^\d+$/, 'ratelimit-reset': /^\d+$/
    }, status)
  }
})

t.test('the usual limits are 300 requests, 60 of heavy work and 10 sign-ins a minute', async (t) => {
  // On a database of its own: the tries of a sign-in are counted there.
  const usual = { RATE_LIMIT_MAX: undefined, RATE_LIMIT_HEAVY_MAX: undefined }
  const { app, call } = await build(t, usual)
  t.match((await call('GET', '/api/v1/paesi')).headers, { 'ratelimit-limit': '300', 'ratelimit-reset': '60' })
  t.match((await call('POST', '/api/ocr', {})).headers, { 'ratelimit-limit': '60' })
  const tries: number[] = []
  for (let n = 0; n < 11; n++) {
    tries.push((await app.inject({ method: 'POST', url: SIGN_IN, payload: PAIR })).statusCode)
  }
  t.same(tries, [...Array.from({ length: 10 }, () => 400), 429])
  const refused = await app.inject({ method: 'POST', url: SIGN_IN, payload: PAIR })
  t.match(refused.headers, { 'retry-after': /^[1-9]\d?$/, 'ratelimit-limit': '300' })
  t.match(refused.json(), { code: 429, error_code: 'over_request_rate_limit' })
  const other = await app.inject({ method: 'POST', url: SIGN_IN, payload: { ...PAIR, email: 'altra@example.org' } })
  t.equal(other.statusCode, 400, 'another account')
})

t.test('reading pictures and making PDFs count together, and apart from all else', async (t) => {
  const { call } = await build(t, { ...SAME, RATE_LIMIT_HEAVY_MAX: '3' })
  const heavy = [
    '/api/ocr', '/api/generate-pdf', '/api/lettere-benvenuto/genera', '/api/generate-template',
    '/api/v1/templates/valida', '/api/v1/templates/d2577b23c4d40496/preview', '/api/v1/report/csv', '/api/ocr'
  ]
  const statuses: number[] = []
  for (const url of heavy) statuses.push((await call('POST', url, {})).statusCode)
  t.same(statuses, [400, 400, 400, 429, 429, 429, 429, 429])
  t.equal((await call('GET', '/api/v1/paesi')).statusCode, 200)
})
