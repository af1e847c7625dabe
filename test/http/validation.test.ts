import fc from 'fast-check'
import type { FastifySchema, RouteOptions } from 'fastify'
import t from 'tap'
import { InvioBody } from '#schemas/alloggiati.ts'
import type { FieldError } from '#schemas/common.ts'
import { anyCharacter } from '#test/any-character.ts'
import { API_KEY, build } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'

const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  email: 'anna@example.com',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 3
}

const json = { 'x-api-key': API_KEY, 'content-type': 'application/json' }

/** What a lenient reader would take for the right type. */
const LOOKALIKES: Readonly<Record<string, readonly unknown[]>> = {
  nome_cognome: [null, 12, true, ['Anna'], {}],
  lingua: [null, ['IT'], 1],
  email: ['', ['a@b.it'], false],
  paese_id: ['380', null, true, [380], 380.5, 0, 2_147_483_648],
  check_in: [null, 20261121, ['2026-11-21'], '2026-02-30', '2026-11-21T00:00:00Z', '21/11/2026'],
  numero_notti: ['2', true, [2], 1.5],
  numero_ospiti: ['3', null, '']
}

/** Any number, and the id of a template too. */
const PART = '0000000000000001'

const everyRoute: RouteOptions[] = []
const routes: RouteOptions[] = []
const { app, call, token } = await build(t, { QUERY_PASSWORD: 'una-console-di-prova' }, (app) => {
  // A form or a file is no JSON: their own tests look at them.
  app.addHook('onRoute', (route) => {
    everyRoute.push(route)
    // Those of the pages for people are hidden.
    const isForm = route.schema?.hide === true || route.schema?.consumes?.includes('multipart/form-data')
    if (!isForm && !Object.hasOwn(route.schema?.body ?? {}, 'content')) routes.push(route)
  })
})
const withBody = routes
  .filter(({ schema }) => schema?.body)
  .map(({ method, url, schema }) => ({
    method: String(method) as 'POST',
    url,
    example: exampleOf(schema)
  }))

t.test('a body is taken literally: nothing in it is turned into what it is not', async (t) => {
  for (const [field, values] of Object.entries(LOOKALIKES)) {
    for (const value of values) {
      const answer = await call('POST', '/api/v1/prenotazioni', { ...BOOKING, [field]: value })
      t.equal(answer.statusCode, 400, `${field}: ${JSON.stringify(value)}`)
      t.match(answer.json().dettagli, [{ campo: field }])
    }
  }
})

t.test('null stays null where it is allowed', async (t) => {
  const answer = await call('POST', '/api/v1/prenotazioni', {
    ...BOOKING,
    email: null,
    telefono: null,
    idf_gen: null
  })
  t.match(answer.json(), { status: 201, data: { email: null, telefono: null, idf_gen: null } })
})

t.test('a 400 names what is wrong in path, query and body, unknown fields too, on every API route', async (t) => {
  const authorization = `Bearer ${await token({ name: 'capo', role: 'admin' })}`
  const inApi = routes.filter(({ method, url, schema }) => url.startsWith('/api/') && schema && method !== 'HEAD')
  t.ok(inApi.length >= 40)
  for (const { method, url, schema } of inApi) {
    const example = exampleOf(schema)
    // The name of a file, and of its bucket, may be any text.
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

t.test('a field that is wrong in two parts of a request is named for each', async (t) => {
  const answer = await call('PUT', '/api/v1/prenotazioni/1?lingua=IT', { lingua: 7 })
  t.same(answer.json().dettagli, [
    { campo: 'lingua', messaggio: 'non è un campo previsto' },
    { campo: 'lingua', messaggio: 'deve essere di tipo stringa' }
  ])
})

t.test('a body that is wrong throughout does not hide what is wrong elsewhere', async (t) => {
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`ignoto_${at}`, at]))
  const { dettagli } = (await call('PUT', '/api/v1/prenotazioni/zero?ignoto=1', unknown)).json()
  t.equal(dettagli.length, 50)
  t.match(dettagli, [{ campo: 'id' }, { campo: 'ignoto' }, { campo: 'ignoto_0' }])
})

t.test('a caller who may not use a route learns nothing of what is wrong with the request', async (t) => {
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

t.test('text in path and query is read as the number it stands for', async (t) => {
  t.equal((await call('GET', '/api/v1/prenotazioni?limit=10&paese_id=380')).statusCode, 200)
  for (const url of [
    '/api/v1/prenotazioni?limit=dieci', '/api/v1/prenotazioni?limit=1.5', '/api/v1/prenotazioni?limit=',
    '/api/v1/prenotazioni?ignoto=1', '/api/v1/prenotazioni/1.5', '/api/v1/prenotazioni/-1', '/api/v1/prenotazioni/0',
    '/api/v1/prenotazioni/2147483648', '/api/v1/prenotazioni/99999999999999999999'
  ]) {
    t.equal((await call('GET', url)).statusCode, 400, url)
  }
})

t.test('a parameter given twice is not made a list', async (t) => {
  for (const query of ['limit=10&limit=10', 'q=a&q=b']) {
    t.equal((await call('GET', `/api/v1/prenotazioni?${query}`)).statusCode, 400, query)
  }
})

t.test('the last value of a key given twice counts, for the check as for the work', async (t) => {
  const post = (nights: string) =>
    app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni',
      headers: json,
      payload: JSON.stringify({ ...BOOKING, numero_notti: 0 }).replace('"numero_notti":0', nights)
    })
  t.match((await post('"numero_notti":-1,"numero_notti":4')).json(), { status: 201, data: { numero_notti: 4 } })
  t.match((await post('"numero_notti":4,"numero_notti":-1')).json(), {
    status: 400,
    dettagli: [{ campo: 'numero_notti' }]
  })
})

t.test('control characters, and NUL, are refused before the database would', async (t) => {
  for (const character of ['\u0000', '\u0007', '\n', '\u001f', '\u007f']) {
    for (const field of ['nome_cognome', 'telefono', 'idf_gen', 'email', 'lingua']) {
      t.equal(
        (await call('POST', '/api/v1/prenotazioni', { ...BOOKING, [field]: `IT${character}` })).statusCode,
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

t.test('prototypes are not to be polluted', async (t) => {
  for (const payload of [
    '{"__proto__":{"x":1}}',
    '{"ospiti":[{"__proto__":{"x":1}}],"prenotazione":{}}',
    '{"prenotazione":{"constructor":{"prototype":{"x":1}}},"ospiti":[{}]}'
  ]) {
    t.equal(
      (await app.inject({ method: 'POST', url: '/api/alloggiati/valida', headers: json, payload })).statusCode,
      400,
      payload
    )
  }
  t.notOk('x' in {})
  t.equal((await call('GET', '/api/v1/prenotazioni?__proto__=1')).statusCode, 400)
})

t.test('the server does not fail for any JSON that is sent to any route', async () => {
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.string({ unit: anyCharacter, maxLength: 300 }),
    fc.constantFrom(1e308, -0, 2 ** 31, '\ud800', '0000-40-00', '')
  )
  const person = await token({ role: 'admin' })
  const callers = [
    { 'x-api-key': API_KEY },
    { authorization: `Bearer ${await token({ service: true })}` },
    { authorization: `Bearer ${person}` }
  ]
  // In a maintenance nothing else would be asked.
  const asked = withBody.filter(({ url }) => url !== '/api/settings/maintenance')
  const request = fc.constantFrom(...asked).chain(({ method, url, example }) =>
    fc.record({
      method: fc.constant(method),
      url: fc.constant(url.replace(/:\w+/, '1')),
      caller: fc.constantFrom(...callers),
      payload: fc.oneof(
        { weight: 1, arbitrary: anything },
        {
          weight: 6,
          arbitrary: fc
            .tuple(fc.constantFrom([], ...places(example)), anything)
            .map(([place, value]) => replaced(example, place, value))
        }
      )
    })
  )
  await fc.assert(fc.asyncProperty(request, async ({ method, url, caller, payload }) => {
    const { statusCode, body } = await app.inject({
      method,
      url,
      headers: { 'content-type': 'application/json', ...caller },
      payload: JSON.stringify(payload)
    })
    // There is no mail server here.
    return statusCode < 500 || body.includes('"POSTA_NON_CONFIGURATA"')
  }), { numRuns: 200 })
})

/** The example of a route's body. */
function exampleOf (schema: FastifySchema | undefined): Record<string, unknown> | undefined {
  return (schema?.body as { examples: [Record<string, unknown>] } | undefined)?.examples[0]
}

type Place = readonly string[]

/** Every place inside a value, by the names that lead there. */
function places (value: unknown, path: Place = []): Place[] {
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, part]) => places(part, [...path, name]))
      : []
  return path.length === 0 ? inner : [path, ...inner]
}

function replaced (value: unknown, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by
  const copy = structuredClone(value) as Record<string, unknown>
  return Object.assign(copy, { [name]: replaced(copy[name], rest, by) })
}

const STAY = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  email: 'anna@example.com',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_ospiti: 3
}

const GUEST = { ...(InvioBody.examples[0] as InvioBody).ospiti[0], sesso: 7 }
const LONG_KEY = { 'idempotency-key': 'k'.repeat(300) }
const MOTIVO = 'Il secondo ospite è il fratello'

const key = { 'x-api-key': API_KEY }

t.test('one answer names what a schema refuses, what several fields say together, and the header', async (t) => {
  const admin = bearer(await token({ service: true }))
  const cases: [string, string, Record<string, unknown>, string[]][] = [
    ['POST', '/api/v1/prenotazioni', { ...STAY, lingua: 'italiano' }, ['lingua', 'check_out', 'numero_notti']],
    ['POST', '/api/v1/prenotazioni', { ...STAY, email: '', check_out: '2026-11-20' }, ['email', 'check_out']],
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

t.test('a request that only its fields together make wrong is refused, and takes no Idempotency-Key', async (t) => {
  const headers = { ...key, 'idempotency-key': 'una-chiave' }
  const wrong = await app.inject({ method: 'POST', url: '/api/v1/prenotazioni', headers, payload: STAY })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.json().dettagli, [{ campo: 'check_out' }, { campo: 'numero_notti' }])
  const right = await app.inject({
    method: 'POST', url: '/api/v1/prenotazioni', headers, payload: { ...STAY, numero_notti: 2 }
  })
  t.equal(right.statusCode, 201)
})

t.test('no content of a request makes a check throw', async (t) => {
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
  const checks = everyRoute.flatMap(({ config }) => config?.findFaults ?? [])
  t.ok(checks.length > 10)
  fc.assert(fc.property(fields, fields, fields, (body, query, headers) => {
    for (const check of checks) check({ params: {}, body, query, headers })
  }))
})
