import type { RouteOptions } from 'fastify'
import t from 'tap'
import { loggerOptions, serializeError } from '#src/plugins/logging.ts'
import { build } from '#test/helper.ts'
import { exchange, listen, target } from '#test/raw.ts'

const KEY = 'CANARY-chiave-0123456789'
const GUEST = 'CANARY-ospite'

t.test(
  'neither a credential nor anything that a client sends gets into the logs, and a key in the query gets nowhere',
  async (t) => {
    const routes: RouteOptions[] = []
    const { app, logs, token } = await build(t, { API_KEY: KEY, LOG_LEVEL: 'trace' }, (app) => {
      app.addHook('onRoute', (route) => {
        routes.push(route)
      })
    })
    const somebody = await token({ name: GUEST })
    const port = await listen(app)
    const answers: string[] = []
    const send = async (method: string, url: string, payload?: object, headers: Record<string, string> = {}) => {
      const answer = await app.inject({
        method: method as 'GET',
        url,
        headers: { 'user-agent': GUEST, cookie: `sid=${GUEST}`, referer: `http://a/${GUEST}`, ...headers },
        payload
      })
      answers.push(JSON.stringify(answer.headers) + answer.payload)
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
    t.equal(
      (
        await send('POST', `/api/saveOspiti?api_key=${KEY}`, {
          prenotazione_id: 1,
          dati: [{ nome: GUEST, cognome: GUEST, numero_documento: GUEST }]
        })
      ).statusCode,
      200
    )
    const page = await send('GET', `/api/v1/prenotazioni?api_key=${KEY}&limit=1&q=CANARY`)
    t.match(page.headers.link, /cursor=/)
    t.equal(
      (await send('GET', `/api/v1/prenotazioni?q=nulla&ignoto=${KEY}`, undefined, { 'x-api-key': KEY })).statusCode,
      400
    )

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
    t.equal(
      (await send('POST', `/api/alloggiati/valida?api_key=${KEY}`, { ospiti: [person], prenotazione: stay }))
        .statusCode,
      200
    )
    t.equal(
      (
        await send('POST', `/api/alloggiati/invio?api_key=${KEY}`, {
          ospiti: [person],
          prenotazione: stay,
          testMode: true
        })
      ).statusCode,
      422
    )

    for (const { method, url } of routes) {
      const path = url.replace(/:\w+/, '1')
      for (const verb of [method].flat()) {
        await send(verb, `${path}?api_key=${KEY}`)
        await send(verb, `${path}?%61pi_key=${KEY}&x=1`)
        await send(verb, `${path}?x=${GUEST}&api_key=${KEY}`, undefined, { authorization: `Bearer ${somebody}x` })
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
    for (const bytes of raw) answers.push(JSON.stringify(await exchange(port, bytes)))

    t.ok(logs.length > 50, 'there is a log to search')
    t.same(
      logs.filter((line) => JSON.stringify(line).includes('CANARY')),
      []
    )
    t.same(
      answers.filter((answer) => answer.includes(KEY)),
      []
    )
    t.ok(
      answers.some((answer) => answer.includes(GUEST)),
      'the search would find one'
    )
  }
)

t.test('every request is one line with its route\'s pattern, unknown and malformed addresses too', async (t) => {
  const { call, logs } = await build(t)
  logs.length = 0
  for (const url of ['/api/v1/prenotazioni/4711', '/segreto/4711', '/%zz4711']) await call('GET', url)
  t.match(logs.filter(({ msg }) => msg === 'request'), [
    { method: 'GET', route: '/api/v1/prenotazioni/:id', status: 404, ip: '127.0.0.1' },
    { method: 'GET', route: 'unknown', status: 404, ip: '127.0.0.1' },
    { method: 'GET', route: 'unknown', status: 400, ip: '127.0.0.1' }
  ])
  t.equal(logs.length, 3)
  t.notMatch(JSON.stringify(logs), '4711')
})

t.test('the level is the one that is asked for', async (t) => {
  const { call, logs } = await build(t, { LOG_LEVEL: 'warn' })
  await call('GET', '/api/v1/paesi')
  t.same(logs, [])
  t.match(loggerOptions('fatal'), { level: 'fatal' })
})

t.test('any value that was thrown can be logged', async (t) => {
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
