import fc from 'fast-check'
import type { FastifySchema, InjectOptions, LightMyRequestResponse, RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import { idempotency_keys } from '#drizzle/tables/idempotency.ts'
import { InvioBody } from '#schemas/alloggiati.ts'
import { Closed, type FieldError } from '#schemas/common.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
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

/** Asserts an error in the API's format: exactly its fields, its request id, and no caching. */
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

const everyRoute: RouteOptions[] = []
const routes: RouteOptions[] = []
const throwing = extraRoutes((app) => {
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
})
const { app, call, logs, token } = await build(t, { QUERY_PASSWORD: 'una-console-di-prova' }, (app) => {
  throwing(app)
  // Forms and files are not JSON, and other tests cover them.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/prova/')) return
    everyRoute.push(route)
    // The routes of HTML pages are hidden.
    const isForm = route.schema?.hide === true || route.schema?.consumes?.includes('multipart/form-data')
    if (!isForm && !Object.hasOwn(route.schema?.body ?? {}, 'content')) routes.push(route)
  })
})

t.test('each kind of error has the common format, with its request id', async (t) => {
  for (const [request, status, codice, more] of REFUSALS) isError(t, await app.inject(request), status, codice, more)
})

t.test('a 400 lists every invalid field once, with the name that the caller used', async (t) => {
  const dettagli = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, headers, payload })).json().dettagli
  const { nome_cognome, ...rest } = BOOKING
  t.same(await dettagli('/api/v1/prenotazioni', rest), [
    { campo: 'nome_cognome', messaggio: 'è un campo obbligatorio' }
  ])
  t.same(await dettagli('/api/v1/prenotazioni', { ...BOOKING, nome: nome_cognome }), [
    { campo: 'nome', messaggio: 'non è un campo previsto' }
  ])
  t.same(await dettagli('/api/v1/prenotazioni', { ...BOOKING, paese_id: '380' }), [
    { campo: 'paese_id', messaggio: 'deve essere un numero intero (ricevuto il testo «380»)' }
  ])
  t.same(
    await dettagli('/api/saveOspiti', {
      prenotazione_id: 1,
      dati: [
        { nome: 'A', cognome: 'B' },
        { nome: 'A', cognome: 'B', sesso: 'Q' }
      ]
    }),
    [{ campo: 'dati[1].sesso', messaggio: 'deve essere uno fra M, F, X, < (ricevuto «Q»)' }]
  )
  t.same(await dettagli('/api/v1/prenotazioni/delete-bulk', [1]), [
    { campo: '', messaggio: 'deve essere un oggetto (ricevuto un elenco)' }
  ])
  t.same(await dettagli('/api/v1/prenotazioni', [BOOKING]), [
    { campo: '', messaggio: 'deve essere un oggetto (ricevuto un elenco)' }
  ])
  const none = await app.inject({
    method: 'POST',
    url: '/api/v1/prenotazioni',
    headers: { ...headers, 'content-type': 'application/json' },
    body: 'null'
  })
  t.same(none.json().dettagli, [{ campo: '', messaggio: 'deve avere un valore' }])
  t.same((await app.inject({ url: '/api/v1/prenotazioni?limit=0&check_in_da=ieri', headers })).json().dettagli, [
    {
      campo: 'check_in_da',
      messaggio: 'deve essere un giorno del calendario: scrivere la data come AAAA-MM-GG, ' +
        'per esempio 2026-11-30 (ricevuto «ieri»)'
    },
    { campo: 'limit', messaggio: 'deve essere almeno 1 (ricevuto 0)' }
  ])
  t.same(
    await dettagli('/api/v1/prenotazioni', { ...rest, lingua: 7, paese_id: 0, email: 'nessuna', a: 1, b: 2 }),
    [
      { campo: 'nome_cognome', messaggio: 'è un campo obbligatorio' },
      { campo: 'a', messaggio: 'non è un campo previsto' },
      { campo: 'b', messaggio: 'non è un campo previsto' },
      { campo: 'lingua', messaggio: 'deve essere un testo (ricevuto 7)' },
      { campo: 'email', messaggio: 'deve essere un indirizzo e-mail, per esempio anna@example.com' },
      { campo: 'paese_id', messaggio: 'deve essere almeno 1 (ricevuto 0)' }
    ]
  )
})

t.test('a 400 lists at most 50 fields, with names of at most 200 characters', async (t) => {
  const dettagli = async (payload: object) =>
    (await app.inject({ method: 'POST', url: '/api/v1/prenotazioni/delete-bulk', headers, payload })).json().dettagli
  t.equal((await dettagli({ ids: Array.from({ length: 10_000 }, () => 'x') })).length, 50)
  t.same(await dettagli({ ids: [], ['x'.repeat(10_000)]: 1 }), [
    { campo: `${'x'.repeat(200)}…`, messaggio: 'non è un campo previsto' }
  ])
  t.same(
    await dettagli({ ids: Array.from({ length: 400_000 }, () => 0) }),
    [{ campo: 'ids', messaggio: 'deve avere al massimo 10000 elementi' }],
    'the elements of a list that is too long are not checked'
  )
})

t.test('a body that is nested too deeply is rejected, in the error format of the API or of /auth', async (t) => {
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

t.test('a 405 lists the allowed methods', async (t) => {
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

t.test('a 500 does not reveal its cause to the caller', async (t) => {
  for (const path of ['errore', 'altrui', 'testo', 'nulla', 'unico', 'avvolto']) {
    const answer = await app.inject(`/prova/${path}`)
    isError(t, answer, 500, 'ERRORE_INTERNO')
    t.equal(answer.json().error, 'Errore interno del server')
    t.notMatch(answer.payload + JSON.stringify(answer.headers), 'CANARY', path)
  }
  const foreign = await app.inject('/prova/altrui-404')
  isError(t, foreign, 404, 'RICHIESTA_NON_VALIDA')
  t.notMatch(foreign.payload, 'CANARY', 'a library error’s status is kept, its message is not')
  t.ok(logs.some(({ err }) => /CANARY-errore/.test(JSON.stringify(err))), 'the log has the cause')
})

t.test('a database error is logged with its codes, and without values', async (t) => {
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

t.test('a database error returns 400 for invalid input, 503 for a temporary state, and otherwise 500', async (t) => {
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

t.test('bytes rejected by the HTTP parser get the common error format, and the connection is closed', async (t) => {
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

  // The HTTP server's own timeout would take about 12 seconds.
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

const WITH_MAIL = { ...BOOKING, email: 'anna@example.com', numero_ospiti: 3 }

/** Values that a tolerant parser would accept as the right type. */
const LOOKALIKES: Readonly<Record<string, readonly unknown[]>> = {
  nome_cognome: [null, 12, true, ['Anna'], {}],
  lingua: [null, ['IT'], 1],
  email: [['a@b.it'], false],
  paese_id: ['380', null, true, [380], 380.5, 0, 2_147_483_648],
  check_in: [null, 20261121, ['2026-11-21'], '2026-02-30', '2026-11-21T00:00:00Z', '21/11/2026'],
  numero_notti: ['2', true, [2], 1.5],
  numero_ospiti: ['3', null, '']
}

/** A number that is also a valid template id. */
const PART = '0000000000000001'

t.test('a body is validated without type coercion', async (t) => {
  for (const [field, values] of Object.entries(LOOKALIKES)) {
    for (const value of values) {
      const answer = await call('POST', '/api/v1/prenotazioni', { ...WITH_MAIL, [field]: value })
      t.equal(answer.statusCode, 400, `${field}: ${JSON.stringify(value)}`)
      t.match(answer.json().dettagli, [{ campo: field }])
    }
  }
})

t.test('a 400 lists invalid and unknown fields of path, query and body on every API route', async (t) => {
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  const inApi = routes.filter(({ method, url, schema }) => url.startsWith('/api/') && schema && method !== 'HEAD')
  t.ok(inApi.length >= 40)
  for (const { method, url, schema } of inApi) {
    const example = exampleOf(schema)
    // The names of files and buckets may be any text.
    const parameter = url.endsWith('/*') ? undefined : /:(\w+)/.exec(url)?.[1]
    const parts = [...parameter ? [parameter] : [], 'dalla_query', ...example ? ['dal_corpo'] : []]
    const target = url.replace(/:\w+/, parameter ? '!' : PART).replace(/:\w+/g, PART)
    const payload = example && { ...example, dal_corpo: 1 }
    const answer = await call(method as 'POST', `${target}?dalla_query=1`, payload, { authorization })
    t.equal(answer.statusCode, 400, `${String(method)} ${target}`)
    const named = answer.json<{ dettagli: FieldError[] }>().dettagli.filter(({ campo }) => parts.includes(campo))
    t.same(named.map(({ campo }) => campo), parts, `${String(method)} ${target}`)
    for (const { campo, messaggio } of named) {
      if (campo !== parameter) t.equal(messaggio, 'non è un campo previsto')
    }
  }
})

t.test('a body with many errors does not hide the errors of path and query', async (t) => {
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`ignoto_${at}`, at]))
  const { dettagli } = (await call('PUT', '/api/v1/prenotazioni/zero?ignoto=1', unknown)).json()
  t.equal(dettagli.length, 50)
  t.match(dettagli, [{ campo: 'id' }, { campo: 'ignoto' }, { campo: 'ignoto_0' }])
})

t.test('an unauthorized caller gets no validation errors', async (t) => {
  const wrong = (headers: Record<string, string>) => call('POST', '/api/v1/jobs/!/avvia?ignoto=1', {}, headers)
  for (const [status, headers] of [
    [401, { 'x-api-key': 'sbagliata' }],
    [403, { authorization: `Bearer ${await token()}` }]
  ] as const) {
    t.strictSame((({ status, dettagli }) => ({ status, dettagli }))((await wrong(headers)).json()), {
      status,
      dettagli: undefined
    })
  }
})

t.test('numbers in path and query are coerced', async (t) => {
  t.equal((await call('GET', '/api/v1/prenotazioni?limit=10&paese_id=380')).statusCode, 200)
  for (const url of [
    '/api/v1/prenotazioni?limit=dieci', '/api/v1/prenotazioni?limit=1.5',
    '/api/v1/prenotazioni?ignoto=1', '/api/v1/prenotazioni/1.5', '/api/v1/prenotazioni/-1', '/api/v1/prenotazioni/0',
    '/api/v1/prenotazioni/2147483648', '/api/v1/prenotazioni/99999999999999999999'
  ]) {
    t.equal((await call('GET', url)).statusCode, 400, url)
  }
})

t.test('the last value of a repeated JSON key is used, for validation and by the handler', async (t) => {
  const post = (nights: string) =>
    app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      headers: json,
      payload: JSON.stringify({ ...WITH_MAIL, numero_notti: 0 }).replace('"numero_notti":0', nights)
    })
  t.match((await post('"numero_notti":-1,"numero_notti":4')).json(), { status: 201, data: { numero_notti: 4 } })
  t.match((await post('"numero_notti":4,"numero_notti":-1')).json(), {
    status: 400,
    dettagli: [{ campo: 'numero_notti' }]
  })
})

t.test('control characters and NUL are rejected before they reach the database', async (t) => {
  for (const character of ['\u0000', '\u0007', '\n', '\u001f', '\u007f']) {
    for (const field of ['nome_cognome', 'telefono', 'idf_gen', 'email', 'lingua']) {
      t.equal(
        (await call('POST', '/api/v1/prenotazioni', { ...WITH_MAIL, [field]: `IT${character}` })).statusCode,
        400,
        `${field} ${JSON.stringify(character)}`
      )
    }
    for (const field of ['nome', 'cognome', 'luogo_nascita', 'numero_documento']) {
      const answer = await call('POST', '/api/saveOspiti', {
        prenotazione_id: 1,
        dati: [{ nome: 'Anna', cognome: 'Prova', [field]: `a${character}b` }]
      })
      t.equal(answer.statusCode, 400, `${field} ${JSON.stringify(character)}`)
    }
    t.equal((await call('GET', `/api/v1/prenotazioni?q=${encodeURIComponent(character)}`)).statusCode, 400)
  }
})

/** The example of a route's request body. */
function exampleOf (schema: FastifySchema | undefined): Record<string, unknown> | undefined {
  return (schema?.body as { examples: [Record<string, unknown>] } | undefined)?.examples[0]
}

const { numero_notti: _, ...STAY } = WITH_MAIL

const GUEST = { ...(InvioBody.examples[0] as InvioBody).ospiti[0], sesso: 7 }
const LONG_KEY = { 'idempotency-key': 'k'.repeat(300) }
const MOTIVO = 'Il secondo ospite è il fratello'

t.test('one response lists schema errors, cross-field errors and header errors together', async (t) => {
  const admin = bearer(await token({ service: true }))
  const cases: [string, string, Record<string, unknown>, string[]][] = [
    ['POST', '/api/v1/prenotazioni', { ...STAY, lingua: 'italiano' }, ['lingua', 'check_out', 'numero_notti']],
    ['POST', '/api/v1/prenotazioni', { ...STAY, email: '@', check_out: '2026-11-20' }, ['email', 'check_out']],
    ['PUT', '/api/v1/prenotazioni/1', { lingua: 'x', check_in: '2026-11-21', check_out: '2026-11-21' },
      ['lingua', 'check_out']],
    ['POST', '/api/alloggiati/invio', { ospiti: [GUEST], motivo: MOTIVO },
      ['ospiti[0].sesso', 'prenotazione', 'confermo_diverso']],
    ['POST', '/api/alloggiati/file', { ospiti: [GUEST] },
      ['ospiti[0].sesso', 'prenotazione']],
    ['POST', '/api/v1/invii/giornata', { data: '1999-01-01', prova: 'sì' }, ['prova', 'data']],
    ['POST', '/api/v1/invii/1/decisione',
      { decisione: 'depositato', motivo: 'Deposito via PEC', versione: -1, conferma: '' },
      ['versione', 'protocollo']],
    ['POST', '/api/settings/maintenance', { enabled: false, message: 'Torniamo', nuovo: 1 }, ['nuovo', 'message']],
    ['POST', '/api/operators', { email: 'niente', password: 'corta', name: 7, surname: 'Prova' },
      ['name', 'email', 'password']],
    ['GET', '/api/prenotazioni?start=x&end=y&altro=1', {}, ['altro', 'start', 'end']],
    ['GET', '/api/v1/invii?da=2026-11-02&a=2026-11-01&limit=0', {}, ['limit', 'a']],
    ['GET', '/api/v1/audit?da=2026-11-02T10:00:00Z&a=2026-11-02T09:00:00Z&limit=0', {}, ['limit', 'a']]
  ]
  for (const [method, url, payload, fields] of cases) {
    const answer = await app.inject({
      method: method as 'GET', url, headers: { ...admin, ...LONG_KEY }, ...method === 'GET' ? {} : { payload }
    })
    t.equal(answer.statusCode, 400, url)
    const path = url.replace(/\?.*/, '').replace(/\/1(?=\/|$)/, '/:id')
    const route = everyRoute.find((each) => each.url === path && each.method === method)
    const expected = route?.config?.idempotent ? [...fields, 'Idempotency-Key'] : fields
    t.strictSame(answer.json().dettagli.map(({ campo }: FieldError) => campo).sort(), expected.sort(), url)
  }
})

t.test('a request rejected by a cross-field check does not consume its Idempotency-Key', async (t) => {
  const own = { ...headers, 'idempotency-key': 'una-chiave' }
  const wrong = await app.inject({ method: 'POST', url: '/api/v1/prenotazioni', headers: own, payload: STAY })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.json().dettagli, [{ campo: 'check_out' }, { campo: 'numero_notti' }])
  const right = await app.inject({
    method: 'POST', url: '/api/v1/prenotazioni', headers: own, payload: { ...STAY, numero_notti: 2 }
  })
  t.equal(right.statusCode, 201)
})

t.test('cross-field checks never throw, for any request', async (t) => {
  const value = fc.oneof(
    fc.jsonValue(),
    fc.date().map(String),
    fc.constantFrom('2026-11-21', '9999-12-31', '2026-11-21T25:61:61Z', 'depositato')
  )
  const names = [
    'check_in', 'check_out', 'numero_notti', 'prenotazione', 'soggiorno', 'confermo_diverso', 'motivo', 'data',
    'enabled', 'decisione', 'protocollo', 'recipients', 'subject', 'start', 'end', 'da', 'a', 'email', 'password',
    'idempotency-key'
  ]
  const fields = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value)
  const checks = everyRoute.flatMap(({ config }) => config?.findValidationErrors ?? [])
  t.ok(checks.length > 10)
  fc.assert(fc.property(fields, fields, fields, (body, query, headers) => {
    for (const check of checks) check({ params: {}, body, query, headers })
  }))
})
