import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { booking } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { accessRows } from './access.ts'
import { administrationRows } from './administration.ts'
import { bookingRows } from './bookings.ts'
import { startSharedServer, prover } from './shared-server.ts'
import { paperRows } from './papers.ts'
import { policeRows } from './police.ts'
import { HONOURED, WITHOUT_KEY } from './replays.ts'
import { PROMISES } from './rows.ts'
import { scanningRows } from './scanning.ts'
import { systemRows } from './system.ts'

/* Tests every row of the contract as a machine client. `npm run test:contract` prints the matrix. */

interface Described { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }

/** The identity and storage protocols are contracts of others, and their clients send no Idempotency-Key. */
const isProtocol = (path: string) => /^\/(auth|storage)\/v1\//.test(path)
/** A header that makes a request fail after its work, before its response is stored. */
const FAILS_LATE = 'x-prova-guasto'
const failed = new WeakSet<FastifyRequest>()
const response = { isDue: Promise.withResolvers<void>(), goesOut: Promise.withResolvers<void>() }
async function failLate (request: FastifyRequest, _reply: FastifyReply, payload: unknown) {
  if (request.headers[FAILS_LATE] === undefined || failed.has(request)) return payload
  failed.add(request)
  if (request.headers[FAILS_LATE] === 'aspetta') {
    response.isDue.resolve()
    await response.goesOut.promise
    return payload
  }
  throw new Error('guasto dopo il lavoro')
}
const addressOf = (url: string) => url.replace(/:(\w+)/g, '{$1}')

/** Routes that respond to a repeated request with the work of the first request. */
const WORK_IS_STORED = new Set([
  '/api/alloggiati/invio', '/api/v1/prenotazioni/{id}/invio', '/api/v1/invii/giornata', '/api/lettere-benvenuto/genera',
  '/api/generate-pdf', '/api/generate-template', '/api/v1/report/csv'
])

t.test('the contract', async (t) => {
  const honouring: string[] = []
  const server = await startSharedServer(t, (route) => {
    const { method, url, config, onSend = [] } = route
    if (method !== 'POST' || !config?.idempotent) return
    honouring.push(addressOf(url))
    route.onSend = [failLate, ...[onSend].flat()]
  })
  const { prove, proven } = prover(t)
  for (const rows of [
    bookingRows, policeRows, paperRows, scanningRows, administrationRows, systemRows, accessRows
  ]) await rows(server, prove)

  t.test('every row has exactly one test', async (t) => {
    t.same(proven.toSorted(), Object.keys(PROMISES).toSorted())
  })

  const { app } = server
  const { paths } = (await app.inject('/openapi.json')).json<Described>()
  const posts = Object.keys(paths).filter((path) => paths[path]!.post !== undefined)

  t.test('every POST of the description accepts Idempotency-Key, or is listed with a reason', async (t) => {
    const without = Object.values(WITHOUT_KEY).flat()
    t.same(
      [...Object.keys(HONOURED), ...without].sort(),
      posts.filter((path) => !isProtocol(path)).sort()
    )
    t.same(honouring.sort(), Object.keys(HONOURED).sort())
    const said = posts.filter((path) =>
      paths[path]!.post!.parameters?.some(({ name }) => /^idempotency-key$/i.test(name)))
    t.same(said.filter((path) => !(path in HONOURED)), [], 'routes without the key do not declare it')
  })

  const authorization = `Bearer ${await server.token({ name: 'capo', role: 'admin' })}`
  t.afterEach(async () => {
    // With a second establishment a Send must name the account.
    await app.sql`delete from struttura where id <> 1`
  })
  for (const [path, prepare] of Object.entries(HONOURED)) {
    await t.test(`POST ${path} with the same key runs once, and rejects the key with another body`, async (t) => {
      const { url, payload, other, refused, headers } = await prepare(server)
      const send = async (body: object) => await app.inject({
        method: 'POST', url, payload: body, headers: { authorization, 'idempotency-key': `di ${path}`, ...headers }
      })
      const first = await send(payload)
      t.equal(first.statusCode >= 300, refused ?? false, first.body)
      t.equal(first.headers['idempotency-replayed'], undefined)
      const second = await send(payload)
      t.equal(second.statusCode, first.statusCode)
      t.equal(second.body, first.body)
      t.equal(second.headers['idempotency-replayed'], 'true')
      if (other) t.match((await send(other)).json(), { status: 422, codice: 'IDEMPOTENCY_KEY_RIUSATA' })
    })
  }

  for (const [path, prepare] of Object.entries(HONOURED)) {
    await t.test(`POST ${path} that failed with a 500 after its work is not executed again with its key`, async (t) => {
      const { url, payload, refused, headers } = await prepare(server)
      // A refused request executes no work.
      if (refused) return
      const send = async (more: Record<string, string> = {}) => await app.inject({
        method: 'POST',
        url,
        payload,
        headers: { authorization, 'idempotency-key': `guasto di ${path}`, ...headers, ...more }
      })
      t.equal((await send({ [FAILS_LATE]: 'sì' })).statusCode, 500)
      const again = await send()
      if (WORK_IS_STORED.has(path)) t.ok(again.statusCode < 300, again.body)
      else t.match(again.json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
    })
  }

  t.test('a repeated request gets a 409 (in progress) while the response of done work is not stored', async (t) => {
    const send = (more: Record<string, string> = {}) => app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking({ nome_cognome: 'Dora Attesa' }),
      headers: { authorization, 'idempotency-key': 'in arrivo', ...more }
    })
    const first = send({ [FAILS_LATE]: 'aspetta' })
    await response.isDue.promise
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    response.goesOut.resolve()
    t.equal((await first).statusCode, 201)
    t.equal((await send()).headers['idempotency-replayed'], 'true')
  })

  t.test('a request whose idempotency key cannot be released gets a 500 without internal details', async (t) => {
    await app.sql.unsafe(`
      create function stays() returns trigger language plpgsql as $$ begin raise 'stays'; end $$;
      create trigger stays before insert on prenotazioni execute function stays();
      create trigger stays before delete on idempotency_keys execute function stays()`)
    t.teardown(() => app.sql.unsafe('drop function stays cascade'))
    const reply = await app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking(),
      headers: { authorization, 'idempotency-key': 'resta' }
    })
    t.equal(reply.statusCode, 500)
    t.same(Object.keys(reply.json()).sort(), ['codice', 'error', 'requestId', 'status'])
    t.notMatch(reply.body, /delete|idempotency_keys|stays/)
  })

  t.test('a response that could not be stored while the database was unavailable is stored later', async (t) => {
    await app.sql.unsafe(`
      create function away() returns trigger language plpgsql as $$
        begin if new.status = 201 then raise 'away' using errcode = '57P01'; end if; return new; end $$;
      create trigger away before update on idempotency_keys for each row execute function away()`)
    t.teardown(() => app.sql.unsafe('drop function if exists away cascade'))
    const send = () => app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      payload: booking({ nome_cognome: 'Elia Tardi' }),
      headers: { authorization, 'idempotency-key': 'tardi' }
    })
    const first = await send()
    t.equal(first.statusCode, 201)
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    await app.sql.unsafe('drop function away cascade')
    let again = await send()
    await until(async () => (again = await send()).statusCode === 201)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.equal(again.body, first.body)
  })

  t.test('deleting a user erases the stored response that created it', async (t) => {
    const email = 'dimenticata@example.org'
    const send = async () => await app.inject({
      method: 'POST',
      url: '/api/operators',
      payload: { email, password: 'una-frase-lunga-e-mia', name: 'Dina', surname: 'Verdi' },
      headers: { authorization, 'idempotency-key': 'dimenticata' }
    })
    const { id } = (await send()).json<{ id: string }>()
    const kept = async () => (await app.sql`select from idempotency_keys where body like ${`%${email}%`}`).length
    t.equal(await kept(), 1)
    await app.inject({ method: 'DELETE', url: `/auth/v1/admin/users/${id}`, headers: { authorization }, payload: {} })
    t.equal(await kept(), 0)
    t.match((await send()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  })
})

const KEY = { 'x-api-key': API_KEY }
const JSON_TYPE = { 'content-type': 'application/json' }
const PAIR = { email: 'nessuno@example.org', password: 'sbagliata-ma-lunga' }
const SIGN_IN = '/auth/v1/token?grant_type=password'

const first = await build(t)
/** The environment of a second server on the same database. */
const SAME = { DATABASE_URL: first.url, DATA_DIR: first.dataDir }

// Health checks are not counted, and CORS preflights are exempt.
t.test('every response has the RateLimit headers, with any status', async (t) => {
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
    const response = await app.inject({ ...request })
    t.equal(response.statusCode, Number.parseInt(status), `${status}: ${response.body.slice(0, 200)}`)
    t.match(response.headers, {
      'ratelimit-limit': '100000', 'ratelimit-remaining': /^\d+$/, 'ratelimit-reset': /^\d+$/
    }, status)
  }
})

t.test('the default limits per minute are 300 requests and 60 heavy ones', async (t) => {
  const { call } = await build(t, { ...SAME, RATE_LIMIT_MAX: undefined, RATE_LIMIT_HEAVY_MAX: undefined })
  t.match((await call('GET', '/api/v1/paesi')).headers, { 'ratelimit-limit': '300', 'ratelimit-reset': '60' })
  t.match((await call('POST', '/api/ocr', {})).headers, { 'ratelimit-limit': '60' })
})

t.test('OCR and PDF generation share one counter, separate from other requests', async (t) => {
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
