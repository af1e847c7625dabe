import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { idempotency_keys } from '#drizzle/tables/idempotency.ts'
import { Closed } from '#schemas/common.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { exchange, listen, openSocket, target } from '#test/raw.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}
const headers = { 'x-api-key': API_KEY }
const json = { ...headers, 'content-type': 'application/json' }
const text = { ...headers, 'content-type': 'text/plain' }
const publicly = { config: { access: 'public' as const }, schema: { response: { 200: Closed({}) } } }

/** The answer is an error of this API, and nothing else: its fields, its request's id, not to be kept. */
function isError (
  t: Test,
  answer: LightMyRequestResponse,
  status: number,
  codice: string,
  more: readonly string[] = []
) {
  const body = answer.json()
  t.match(body, { error: /\S/, status, codice, requestId: UUID }, `${status} ${codice}`)
  t.same(Object.keys(body).sort(), ['codice', 'error', 'requestId', 'status', ...more].sort())
  t.equal(answer.statusCode, status)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(answer.headers['x-request-id'], body.requestId)
  t.equal(answer.headers['cache-control'], 'no-store')
}

const post = (payload: string, own: Record<string, string> = json, url = '/api/v1/prenotazioni'): InjectOptions =>
  ({ method: 'POST', url, headers: own, payload })

const REFUSALS: readonly (readonly [request: InjectOptions, status: number, codice: string, more?: string[]])[] = [
  [post('{"nome"', json, '/api/saveOspiti'), 400, 'JSON_NON_VALIDO', ['dettagli']],
  [post('', json, '/api/saveOspiti'), 400, 'RICHIESTA_NON_VALIDA', ['dettagli']],
  [post('{"__proto__":{"admin":true}}'), 400, 'JSON_NON_VALIDO', ['dettagli']],
  [post('{"a":{"constructor":{"prototype":{}}}}'), 400, 'JSON_NON_VALIDO', ['dettagli']],
  [post('{}'), 400, 'RICHIESTA_NON_VALIDA', ['dettagli']],
  [{ url: '/api/v1/prenotazioni/zero', headers }, 400, 'RICHIESTA_NON_VALIDA', ['dettagli']],
  [{ url: '/%zz' }, 400, 'URL_NON_VALIDO', ['dettagli']],
  [{ url: '/api/v1/prenotazioni' }, 401, 'NON_AUTENTICATO'],
  [{ url: '/nulla' }, 404, 'RISORSA_NON_TROVATA'],
  [{ url: '/api/v1/prenotazioni/1', headers }, 404, 'PRENOTAZIONE_NON_TROVATA'],
  [{ method: 'DELETE', url: '/api/v1/prenotazioni' }, 405, 'METODO_NON_AMMESSO'],
  [post(`{"nome_cognome":"${'a'.repeat(1024 * 1024)}"}`), 413, 'CORPO_TROPPO_GRANDE'],
  [{ url: `/api/v1/prenotazioni/${'1'.repeat(301)}`, headers }, 414, 'URL_NON_VALIDO'],
  [post(JSON.stringify(BOOKING), text), 415, 'TIPO_NON_SUPPORTATO'],
  [post('a=b', { ...headers, 'content-type': 'application/x-www-form-urlencoded' }), 415, 'TIPO_NON_SUPPORTATO'],
  [post('{}', { ...json, 'content-encoding': 'gzip' }), 415, 'TIPO_NON_SUPPORTATO'],
  [post('{}', { ...headers, 'content-type': 'application/json; charset=utf-16' }), 415, 'TIPO_NON_SUPPORTATO'],
  [{ url: '/prova/occupato' }, 503, 'SERVIZIO_OCCUPATO']
]

const { app, logs } = await build(t, {}, extraRoutes((app) => {
  app.get('/prova/occupato', publicly, async () => { throw new ServizioOccupato() })
  app.get('/prova/errore', publicly, async () => { throw new Error('CANARY-errore') })
  app.get('/prova/altrui', publicly, async () => {
    throw Object.assign(new Error('CANARY-altrui'), { code: 'UND_ERR', statusCode: 502 })
  })
  app.get('/prova/altrui-404', publicly, async () => {
    throw Object.assign(new Error('CANARY-altrui'), { statusCode: 404 })
  })
  app.get('/prova/testo', publicly, async () => { throw 'CANARY-testo' }) // eslint-disable-line no-throw-literal
  app.get('/prova/nulla', publicly, async () => { throw null }) // eslint-disable-line no-throw-literal
  app.get('/prova/unico', publicly, async () => {
    const row = { principal: 'server', key: 'CANARY-unico', fingerprint: 'CANARY-impronta' }
    await app.db.insert(idempotency_keys).values([row, row])
  })
  app.get('/prova/avvolto', publicly, async () => {
    const row = { principal: 'server', key: 'CANARY-unico', fingerprint: 'CANARY-impronta' }
    await app.db
      .insert(idempotency_keys)
      .values([row, row])
      .catch((cause: unknown) => {
        throw new Error('non salvata', { cause })
      })
  })
  app.get<{ Querystring: { code: string } }>('/prova/sqlstate', publicly, async ({ query }) => {
    await app.sql.unsafe(
      `do $$ begin raise exception using errcode = '${query.code}', message = 'CANARY-sqlstate'; end $$`
    )
  })
}))

t.test('every refusal has the one shape, with the id of its request', async (t) => {
  for (const [request, status, codice, more] of REFUSALS) isError(t, await app.inject(request), status, codice, more)
})

t.test('a 400 names every field at fault once, as the caller wrote it', async (t) => {
  const dettagli = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, headers, payload })).json().dettagli
  const { nome_cognome, ...rest } = BOOKING
  t.same(await dettagli('/api/v1/prenotazioni', rest), [{ campo: 'nome_cognome', messaggio: 'è obbligatorio' }])
  t.same(await dettagli('/api/v1/prenotazioni', { ...BOOKING, nome: nome_cognome }), [
    { campo: 'nome', messaggio: 'non è un campo previsto' }
  ])
  t.same(await dettagli('/api/v1/prenotazioni', { ...BOOKING, paese_id: '380' }), [
    { campo: 'paese_id', messaggio: 'deve essere di tipo numero intero' }
  ])
  t.same(
    await dettagli('/api/saveOspiti', {
      prenotazione_id: 1,
      dati: [
        { nome: 'A', cognome: 'B' },
        { nome: 'A', cognome: 'B', sesso: 'X' }
      ]
    }),
    [{ campo: 'dati[1].sesso', messaggio: 'deve essere uno fra M, F, (vuoto), null' }]
  )
  t.same(await dettagli('/api/v1/prenotazioni/delete-bulk', [1]), [
    { campo: '', messaggio: 'deve essere di tipo oggetto' }
  ])
  t.same((await app.inject({ url: '/api/v1/prenotazioni?limit=0&check_in_da=ieri', headers })).json().dettagli, [
    { campo: 'check_in_da', messaggio: 'deve essere un giorno del calendario, AAAA-MM-GG' },
    { campo: 'limit', messaggio: 'deve essere almeno 1' }
  ])
  t.same(
    await dettagli('/api/v1/prenotazioni', { ...rest, lingua: 7, paese_id: 0, email: 'nessuna', a: 1, b: 2 }),
    [
      { campo: 'nome_cognome', messaggio: 'è obbligatorio' },
      { campo: 'a', messaggio: 'non è un campo previsto' },
      { campo: 'b', messaggio: 'non è un campo previsto' },
      { campo: 'lingua', messaggio: 'deve essere di tipo stringa' },
      { campo: 'email', messaggio: 'deve essere un indirizzo e-mail' },
      { campo: 'paese_id', messaggio: 'deve essere almeno 1' }
    ]
  )
})

t.test('a 400 counts one element as one', async (t) => {
  const payload = { prenotazioni: [] }
  const { dettagli } = (await app.inject({ method: 'POST', url: '/api/v1/invii/giornata', headers, payload })).json()
  t.same(dettagli, [{ campo: 'prenotazioni', messaggio: 'deve avere almeno 1 elemento' }])
})

t.test('a 400 names fifty fields at most, by two hundred characters each', async (t) => {
  const dettagli = async (payload: object) =>
    (await app.inject({ method: 'POST', url: '/api/v1/prenotazioni/delete-bulk', headers, payload })).json().dettagli
  t.equal((await dettagli({ ids: Array.from({ length: 10_000 }, () => 'x') })).length, 50)
  t.same(await dettagli({ ids: [], ['x'.repeat(10_000)]: 1 }), [
    { campo: `${'x'.repeat(200)}…`, messaggio: 'non è un campo previsto' }
  ])
  t.same(
    await dettagli({ ids: Array.from({ length: 400_000 }, () => 0) }),
    [{ campo: 'ids', messaggio: 'deve avere al massimo 10000 elementi' }],
    'a list beyond its bounds is not looked through'
  )
})

t.test('a 400 without a field at fault says so of the body as a whole', async (t) => {
  const dettagli = async (request: InjectOptions) => (await app.inject(request)).json().dettagli
  t.match(await dettagli({ method: 'POST', url: '/api/saveOspiti', headers: json, payload: '{' }), [
    { campo: '', messaggio: /JSON/ }
  ])
  t.match(await dettagli({ url: '/%zz' }), [{ campo: '', messaggio: /\S/ }])
  t.match(await dettagli({ url: '/prova/sqlstate?code=22003' }), [{ campo: '', messaggio: /\S/ }])
})

t.test('a body that is nested too deep is refused by every route in its own words', async (t) => {
  for (const levels of [31, 32, 50_000]) {
    const text = JSON.stringify(`\\"${'['.repeat(99)}`)
    const payload = `{"y":${text},"x":${'['.repeat(levels)}${text}${']'.repeat(levels)}}`
    const answer = await app.inject({ method: 'PUT', url: '/api/v1/prenotazioni/1', headers: json, payload })
    const isDeep = answer.json().dettagli?.[0]?.messaggio === 'non può avere più di 32 livelli'
    t.equal(isDeep, levels > 31, String(levels))
  }
  const token = {
    method: 'POST' as const,
    url: '/auth/v1/token?grant_type=password',
    headers: { 'content-type': 'application/json' },
    payload: `{"email":${'['.repeat(5000)}`
  }
  t.match((await app.inject(token)).json(), { code: 400, error_code: 'validation_failed' })
})

t.test('a wrong method is told which ones are right', async (t) => {
  for (const [method, url, allow] of [
    ['DELETE', '/api/v1/prenotazioni', 'GET, HEAD, POST'],
    ['PATCH', '/api/v1/prenotazioni/7', 'GET, HEAD, PUT'],
    ['GET', '/api/saveOspiti', 'POST'],
    ['OPTIONS', '/api/v1/paesi', 'GET, HEAD'],
    ['POST', '/api/v1/paesi?x=1', 'GET, HEAD'],
    ['TRACE', '/api/v1/paesi', 'GET, HEAD']
  ] as const) {
    const answer = await app.inject({ method: method as 'GET', url, headers })
    isError(t, answer, 405, 'METODO_NON_AMMESSO')
    t.equal(answer.headers.allow, allow, `${method} ${url}`)
  }
  t.equal((await app.inject('/nulla')).headers.allow, undefined)
})

t.test('the answer to a failure of the server tells the caller nothing of its cause', async (t) => {
  for (const path of ['errore', 'altrui', 'testo', 'nulla', 'unico', 'avvolto']) {
    const answer = await app.inject(`/prova/${path}`)
    isError(t, answer, 500, 'ERRORE_INTERNO')
    t.equal(answer.json().error, 'Errore interno del server')
    t.notMatch(answer.payload + JSON.stringify(answer.headers), 'CANARY', path)
  }
  const foreign = await app.inject('/prova/altrui-404')
  isError(t, foreign, 404, 'RICHIESTA_NON_VALIDA')
  t.notMatch(foreign.payload, 'CANARY', 'a status that somebody else chose is kept, the words are not')
  t.ok(logs.some(({ err }) => /CANARY-errore/.test(JSON.stringify(err))), 'the log has the cause')
})

t.test('a database error is logged by its codes, never with a value that was bound', async (t) => {
  logs.length = 0
  await app.inject('/prova/unico')
  await app.inject('/prova/avvolto')
  const failures = logs.filter(({ msg }) => msg === 'request failed')
  t.equal(failures.length, 2)
  for (const { err } of failures) {
    t.match(err, {
      type: 'PostgresError',
      message: 'SQLSTATE 23505',
      constraint: /\S/,
      table: 'idempotency_keys',
      stack: /^at /
    })
  }
  t.notMatch(JSON.stringify(logs), 'CANARY')
})

t.test('an error of the database is a failure, unless it is one of the input or of its own state', async (t) => {
  const codes = {
    400: ['22003', '22007', '22008', '22021'],
    503: ['40001', '40P01', '57014', '57P01', '57P02', '57P03', '53300'],
    500: ['23505', '23503', '42P01', '22012', 'P0001']
  }
  for (const [status, sqlstates] of Object.entries(codes)) {
    for (const code of sqlstates) {
      const answer = await app.inject(`/prova/sqlstate?code=${code}`)
      t.equal(answer.statusCode, Number(status), code)
      t.notMatch(answer.payload, 'CANARY')
      t.equal(answer.headers['retry-after'], status === '503' ? '5' : undefined)
    }
  }
  t.notMatch(JSON.stringify(logs), 'CANARY-sqlstate')
})

t.test('a request\'s id is made by the server; an id that the client sends is not used', async (t) => {
  const first = await app.inject({ url: '/nulla', headers: { 'x-request-id': 'mio', 'request-id': 'mio' } })
  t.match(first.headers['x-request-id'], UUID)
  t.equal(first.json().requestId, first.headers['x-request-id'])
  t.ok(logs.some(({ reqId }) => reqId === first.headers['x-request-id']), 'the log has it')
  t.notMatch(JSON.stringify(logs), '"mio"')
})

t.test('an Idempotency-Key used for another request is a 422', async (t) => {
  const own = { ...json, 'idempotency-key': 'una-chiave' }
  t.equal((await app.inject(post(JSON.stringify(BOOKING), own))).statusCode, 201)
  const again = await app.inject(post(JSON.stringify({ ...BOOKING, numero_ospiti: 2 }), own))
  isError(t, again, 422, 'IDEMPOTENCY_KEY_RIUSATA')
})

t.test('bytes that never become a request are answered in the same shape and the connection is closed', async (t) => {
  const port = await listen(app)
  const cases = [
    [431, target('GET', '/health/live', { 'x-long': 'a'.repeat(20_000) })],
    [400, 'CIAO\r\n\r\n'],
    [400, 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [400, target('GET', '/health/live', { 'content-length': '1, 2' })],
    [400, target('POST', '/health/live', { 'content-length': '3', 'transfer-encoding': 'chunked' })],
    [400, 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: a\u0000b\r\n\r\n']
  ] as const
  for (const [status, bytes] of cases) check(await exchange(port, bytes), status)

  // The clock of the HTTP server itself would take half a minute to come to this.
  const [server] = await Promise.all([
    new Promise<object>((resolve) => app.server.once('connection', resolve)),
    openSocket(t, port)
  ])
  const late = new Promise<string>((resolve) => Object.assign(server, { end: resolve }))
  app.server.emit('clientError', Object.assign(new Error('timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), server)
  const [head = '', body = ''] = (await late).split('\r\n\r\n')
  check({ status: Number(head.split(' ')[1]), head: head.toLowerCase(), body }, 408)
  t.equal(app.server.headersTimeout, 10_000)
  t.equal(app.server.requestTimeout, 60_000)

  function check ({ status, head, body }: { status: number, head: string, body: string }, expected: number) {
    t.equal(status, expected, head.slice(0, 40))
    const answer = JSON.parse(body) as Record<string, unknown>
    t.match(answer, { error: /\S/, status, codice: 'RICHIESTA_NON_VALIDA', requestId: UUID })
    t.same(
      Object.keys(answer).sort(),
      ['codice', ...status === 400 ? ['dettagli'] : [], 'error', 'requestId', 'status']
    )
    for (const line of [
      'content-type: application/json; charset=utf-8', 'x-content-type-options: nosniff', 'cache-control: no-store',
      'connection: close'
    ]) { t.match(head, line) }
  }
})
