import { DrizzleQueryError } from 'drizzle-orm/errors'
import { stripVTControlCharacters } from 'node:util'
import type { RouteOptions } from 'fastify'
import postgres from 'postgres'
import t from 'tap'
import { loggerOptions, serializeError } from '#src/http/logging.ts'
import { terminalLine } from '#src/http/terminal-log.ts'
import { Closed } from '#schemas/common.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { exchange, listen, openSocket, target } from '#test/raw.ts'

const KEY = 'CANARY-chiave-0123456789'
const GUEST = 'CANARY-ospite'

const begun = Promise.withResolvers<void>()
const left = Promise.withResolvers<void>()
const { app, call, logs, token } = await build(t, {}, extraRoutes((app) => {
  app.post('/prova/attesa', {
    config: { access: 'auth' }, schema: { body: Closed({}), response: { 200: Closed({}) } }
  }, async () => {
    begun.resolve()
    await left.promise
    return {}
  })
  app.get('/prova/rotta', { config: { access: 'public' }, schema: { response: { 200: Closed({}) } } }, async () => {
    throw new Error('rotta')
  })
}))

t.test(
  'logs contain no credentials and no client data, and responses never repeat a key from the query',
  async (t) => {
    const routes: RouteOptions[] = []
    const { app, logs, token } = await build(t, { API_KEY: KEY, LOG_LEVEL: 'trace' }, (app) => {
      app.addHook('onRoute', (route) => {
        routes.push(route)
      })
    })
    const somebody = await token({ name: GUEST })
    const port = await listen(app)
    const responses: string[] = []
    const send = async (method: string, url: string, payload?: object, headers: Record<string, string> = {}) => {
      const answer = await app.inject({
        method: method as 'GET',
        url,
        headers: { 'user-agent': GUEST, cookie: `sid=${GUEST}`, referer: `http://a/${GUEST}`, ...headers },
        payload
      })
      responses.push(JSON.stringify(answer.headers) + answer.payload)
      return answer
    }

    const booking = {
      nome_cognome: `Anna ${GUEST}`,
      lingua: 'IT',
      email: 'CANARY-ospite@example.com',
      paese_id: 380,
      check_in: '2026-11-21',
      numero_notti: 2,
      numero_ospiti: 3
    }
    t.equal((await send('POST', `/api/v1/prenotazioni?api_key=${KEY}`, booking)).statusCode, 201)
    t.equal((await send('POST', `/api/v1/prenotazioni?api_key=${KEY}`, { ...booking, [GUEST]: GUEST })).statusCode, 400)
    t.equal((await send('POST', `/api/v1/prenotazioni?api_key=${KEY}`, booking)).statusCode, 201)
    const dati = [{ nome: GUEST, cognome: GUEST, numero_documento: GUEST }]
    const saved = await send('POST', `/api/saveOspiti?api_key=${KEY}`, { prenotazione_id: 1, dati })
    t.equal(saved.statusCode, 200)
    const page = await send('GET', `/api/v1/prenotazioni?api_key=${KEY}&limit=1&q=CANARY`)
    t.match(page.headers.link, /cursor=/)
    const unknown = await send('GET', `/api/v1/prenotazioni?q=nulla&ignoto=${KEY}`, undefined, { 'x-api-key': KEY })
    t.equal(unknown.statusCode, 400)

    const person = {
      tipo_alloggiato: '16',
      cognome: GUEST,
      nome: GUEST,
      sesso: 'F',
      data_nascita: '1985-04-12',
      stato_nascita: '100000100',
      numero_documento: GUEST
    }
    const stay = { check_in: GUEST, numero_notti: 1 }
    const stayed = { ospiti: [person], prenotazione: stay }
    t.equal((await send('POST', `/api/alloggiati/valida?api_key=${KEY}`, stayed)).statusCode, 200)
    const tested = await send('POST', `/api/alloggiati/invio?api_key=${KEY}`, { ...stayed, testMode: true })
    t.equal(tested.statusCode, 422)

    const authorization = `Bearer ${somebody}x`
    for (const [at, { method, url }] of routes.entries()) {
      const path = url.replace(/:\w+/, '1')
      for (const verb of [method].flat()) {
        await send(verb, `${path}?api_key=${KEY}`)
        // These are rejected before the route, in the same way on each route.
        if (at % 2 === 0) await send(verb, `${path}?%61pi_key=${KEY}&x=1`)
        else await send(verb, `${path}?x=${GUEST}&api_key=${KEY}`, undefined, { authorization })
      }
    }
    for (const path of [
      `/${GUEST}`,
      `/api/v1/prenotazioni/${GUEST}`,
      '/%zz',
      `/%zz${GUEST}`,
      `/api/v1/prenotazioni/${'1'.repeat(400)}`
    ]) { await send('GET', `${path}?api_key=${KEY}`) }
    await send('DELETE', `/api/v1/prenotazioni?api_key=${KEY}`)
    const raw = [
      target('GET', `/%zz?api_key=${KEY}`),
      target('GET', `/api/v1/paesi?api_key=${KEY}&%`),
      target('GET', `http://${KEY}@localhost/api/v1/paesi?api_key=${KEY}`),
      target('GET', `/api/v1/paesi?api_key=${KEY}`, { 'content-length': 'x' }),
      `GET /?api_key=${KEY}\r\n\r\n`,
      target('GET', `/?api_key=${KEY}`, { x: 'a'.repeat(20_000) })
    ]
    for (const bytes of raw) responses.push(JSON.stringify(await exchange(port, bytes)))

    t.ok(logs.length > 50, 'the log is not empty')
    t.same(logs.filter((line) => JSON.stringify(line).includes('CANARY')), [])
    t.same(responses.filter((answer) => answer.includes(KEY)), [])
    t.ok(responses.some((answer) => answer.includes(GUEST)), 'the search finds a known value')
  }
)

t.test('a request logs one line with its route pattern, even with an unknown or malformed path', async (t) => {
  logs.length = 0
  for (const url of ['/api/v1/prenotazioni/471147110', '/segreto/471147110', '/%zz471147110']) await call('GET', url)
  t.match(logs.filter(({ msg }) => msg === 'request'), [
    { method: 'GET', route: '/api/v1/prenotazioni/:id', status: 404, ip: '127.0.0.1' },
    { method: 'GET', route: 'unknown', status: 404, ip: '127.0.0.1' },
    { method: 'GET', route: 'unknown', status: 400, ip: '127.0.0.1' }
  ])
  t.equal(logs.length, 3)
  t.notMatch(JSON.stringify(logs), '471147110')
})

t.test('a request whose client disconnects before the response is logged and counted exactly once', async (t) => {
  app.onClientDisconnect(() => left.resolve())
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': '2' }
  const socket = await openSocket(t, await listen(app), `${target('POST', '/prova/attesa', headers)}{}`)
  await begun.promise
  socket.destroy()
  await left.promise
  const { body } = await call('GET', '/metrics')
  const lines = logs.filter(({ route }) => route === '/prova/attesa')
  t.match(lines, [{ msg: 'request', level: 30, method: 'POST', status: 499, ip: '127.0.0.1', caller: 'server' }])
  t.equal(lines.length, 1)
  t.match(body, /_count\{method="POST",route="\/prova\/attesa",status="499"\} 1\n/)
})

t.test('the log line of a refused request has caller and error code, and a 500 has level error', async (t) => {
  const authorization = `Bearer ${await token()}`
  logs.length = 0
  await call('GET', '/api/v1/prenotazioni/4711')
  await app.inject({ url: '/api/v1/audit', headers: { authorization } })
  await app.inject('/api/v1/prenotazioni')
  await app.inject('/prova/rotta')
  await app.inject('/%zz')
  await app.inject('/auth/v1/%zz')
  await app.inject(`/api/v1/prenotazioni/${'1'.repeat(400)}`)
  await call('GET', '/api/v1/paesi')
  t.match(logs.filter(({ msg }) => msg === 'request'), [
    { level: 30, status: 404, caller: 'server', code: 'PRENOTAZIONE_NON_TROVATA' },
    { level: 30, status: 403, caller: /^[0-9a-f-]{36}$|^user:/, code: 'NON_AUTORIZZATO' },
    { level: 30, status: 401, caller: undefined, code: 'NON_AUTENTICATO' },
    { level: 50, status: 500, code: 'ERRORE_INTERNO' },
    { level: 30, status: 400, ms: Number, code: 'URL_NON_VALIDO' },
    { level: 30, status: 400, ms: Number, code: /\S/ },
    { level: 30, status: 414, ms: Number, code: 'URL_NON_VALIDO' },
    { level: 30, status: 200, code: undefined, caller: undefined }
  ])
})

t.test('only a trusted proxy\'s request id is used, in response and log', async (t) => {
  const { app, logs } = await build(t, { TRUST_PROXY: '10.0.0.0/8, 2001:db8::1' })
  const idOf = async (remoteAddress: string, id: string) => {
    const answer = await app.inject({ url: '/nulla', remoteAddress, headers: { 'x-request-id': id } })
    t.equal(logs.at(-1)?.reqId, answer.headers['x-request-id'])
    t.equal(answer.json().requestId, answer.headers['x-request-id'])
    return answer.headers['x-request-id']
  }
  for (const peer of ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8::1']) t.equal(await idOf(peer, 'abc-1.2:3'), 'abc-1.2:3')
  for (const peer of ['127.0.0.1', '2001:db8::2']) t.match(await idOf(peer, 'abc-1.2:3'), /^[0-9a-f-]{36}$/)
  for (const id of ['', 'con spazio', 'x'.repeat(101), 'à', '"']) t.match(await idOf('10.1.2.3', id), /^[0-9a-f-]{36}$/)
})

t.test('LOG_LEVEL sets the log level', async (t) => {
  const { call, logs } = await build(t, { LOG_LEVEL: 'warn' })
  await call('GET', '/api/v1/paesi')
  t.same(logs, [])
  t.match(loggerOptions('fatal'), { level: 'fatal' })
})

t.test('serializeError accepts any thrown value', async (t) => {
  for (const thrown of [null, undefined, 0, 'testo', {}, [], Symbol('s')]) {
    t.match(serializeError(thrown), { type: typeof thrown, message: '', stack: '' })
  }
  t.match(serializeError(Object.assign(new RangeError('lontano'), { code: 'E', segreto: 1 })), {
    type: 'RangeError',
    message: 'lontano',
    code: 'E',
    segreto: undefined
  })
})

t.test("a statement's error is logged without bound values, even when wrapped, and is truncated", async (t) => {
  const value = 'CANARY\n    at CANARY (file:///x.js:1:1)\n'
  const cut = Object.assign(new Error('write CONNECTION_CLOSED x'), { code: 'CONNECTION_CLOSED' })
  const failed = new DrizzleQueryError('select $1', [value, 'x'.repeat(5_000_000)], cut)
  const wrapped = new Error(value, { cause: failed })
  for (const err of [failed, wrapped, new Error('a', { cause: wrapped })]) {
    const logged = serializeError(err)
    t.match(logged, { type: 'DrizzleQueryError', message: 'query failed: CONNECTION_CLOSED', stack: /^at \S/ })
    t.notMatch(JSON.stringify(logged), 'CANARY')
  }
  const long = serializeError(Object.assign(new Error('x'.repeat(5_000_000)), { code: 'y'.repeat(5_000_000) }))
  t.ok(JSON.stringify(long).length < 10_000)
  const circle = new Error('a')
  circle.cause = circle
  t.match(serializeError(circle), { type: 'Error' })
})

t.test('client data stay out of the log when database connections end under load', async (t) => {
  const { app, call, logs, url } = await build(t, {
    LOG_LEVEL: 'trace',
    ALLOGGIATI_MODE: 'sandbox',
    ALLOGGIATI_UTENTE: GUEST,
    ALLOGGIATI_PASSWORD: GUEST,
    ALLOGGIATI_WSKEY: GUEST,
    RATE_LIMIT_LOGIN_MAX: '100000'
  })
  const killer = postgres(url, { max: 1, onnotice: () => {} })
  t.teardown(() => killer.end())
  const body = {
    nome_cognome: `Anna ${GUEST}`,
    lingua: 'IT',
    paese_id: 380,
    check_in: '2026-11-21',
    numero_notti: 2,
    numero_ospiti: 1,
    email: 'CANARY-ospite@example.com'
  }
  const account = { email: `${GUEST}@example.org`, password: `${GUEST}-segreta` }
  const requests = [
    () => call('POST', '/api/v1/prenotazioni', body),
    () => call('POST', '/api/v1/prenotazioni', body, { 'idempotency-key': `${GUEST}-${Math.random()}` }),
    () => call('GET', `/api/v1/prenotazioni?q=${GUEST}&limit=5`),
    () => call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [1, 2, 3] }),
    () => call('GET', '/metrics')
  ]
  // The hash of the password makes this the slowest request.
  const signIn = () => app.inject({ method: 'POST', url: '/auth/v1/token?grant_type=password', payload: account })
  const broken = () => logs.filter(({ err }) => /^(Drizzle|Postgres)/.test((err as { type?: string })?.type ?? ''))
  const kinds = () => new Set(broken().map(({ msg }) => msg))
  while (broken().length < 20 || kinds().size < 2) {
    const under = [signIn(), ...Array.from({ length: 40 }, (_, at) => requests[at % requests.length]!())]
    await killer`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
    await Promise.all(under)
  }
  t.same(logs.filter((line) => JSON.stringify(line).includes('CANARY')), [])
  t.ok(Math.max(...logs.map((line) => JSON.stringify(line).length)) < 8000)
})

t.test('on a terminal a line has time, level, message and fields, and escapes control characters', async (t) => {
  const time = new Date(2026, 10, 28, 9, 5, 3).getTime()
  const line = (fields: object) => stripVTControlCharacters(terminalLine(JSON.stringify({ time, pid: 1, ...fields })))
  t.equal(line({ level: 30, msg: 'ready', reqId: 'a', address: 'http://x', ms: 1.5 }),
    '09:05:03 INFO  ready address=http://x ms=1.5\n')
  const escape = '\u009b'
  t.equal(line({ level: 50, msg: `a${escape}2J`, reqId: 'a', err: { stack: `Error: b\n    at${escape}c` } }),
    '09:05:03 ERROR a\\u009b2J reqId=a\n    Error: b\n        at\\u009bc\n')
})
