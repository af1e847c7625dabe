import t from 'tap'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { exchange, listen, target } from '#test/raw.ts'

const SOMEWHERE = '/api/v1/paesi'

/** Headers with which something on the way might change method, address or caller. */
const HEADERS: Readonly<Record<string, string>> = {
  'x-http-method-override': 'GET',
  'x-http-method': 'GET',
  'x-method-override': 'GET',
  'x-original-url': '/health/live',
  'x-rewrite-url': '/health/live',
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-prefix': '/health',
  'x-forwarded-user': 'server',
  'x-user': 'admin'
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('which callers are let in', async (t) => {
  const { app, token } = await build(t)
  const person = await token({ name: 'anna' })
  const status = async (headers: Record<string, string>, url = SOMEWHERE) =>
    (await app.inject({ url, headers })).statusCode

  t.test('the server key and a token are let in from every place where they may be sent', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY }), 200)
    t.equal(await status({}, `${SOMEWHERE}?api_key=${API_KEY}`), 200)
    t.equal(await status(bearer(person)), 200)
    t.equal(await status({ authorization: `bearer ${person}` }), 200, 'the scheme\'s case does not count')
    t.equal(await status({ ...bearer(person), 'x-api-key': API_KEY }), 200)
    t.equal(
      await status({ ...bearer(person), 'x-api-key': await token({ name: 'altra' }) }),
      401,
      'another token as key'
    )
    t.equal(await status({ ...bearer(person), 'x-api-key': person }), 200, 'the same token twice')
  })

  t.test('a wrong credential is not made good by a right one', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY, ...bearer('a.b.c') }), 401)
    t.equal(await status({ 'x-api-key': API_KEY, authorization: 'Basic YTpi' }), 401)
    t.equal(await status({ ...bearer(person), 'x-api-key': 'sbagliata' }), 401)
    t.equal(await status(bearer(person), `${SOMEWHERE}?api_key=sbagliata`), 401)
    t.equal(await status({ 'x-api-key': 'sbagliata' }, `${SOMEWHERE}?api_key=${API_KEY}`), 401)
  })

  t.test('of a key in the header and one in the query the header counts', async (t) => {
    t.equal(await status({ 'x-api-key': API_KEY }, `${SOMEWHERE}?api_key=sbagliata`), 200)
  })

  t.test('a key that is nearly right, repeated, empty or elsewhere is wrong', async (t) => {
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
})

t.test('without an API_KEY no key is right', async (t) => {
  const { app } = await build(t, { API_KEY: undefined })
  for (const key of ['', 'undefined', 'null', API_KEY]) {
    t.equal((await app.inject({ url: SOMEWHERE, headers: { 'x-api-key': key } })).statusCode, 401, key)
  }
  t.equal((await app.inject(`${SOMEWHERE}?api_key=`)).statusCode, 401)
})

t.test('a route that does not say who may call it stops the start', async (t) => {
  const start = build(t, {}, extraRoutes((app) => { app.get('/prova', async () => ({})) }))
  await t.rejects(start, { message: 'Route GET /prova does not say who may call it (config.access)' })
})

t.test('headers that claim another method, address or caller change nothing', async (t) => {
  const { app } = await build(t)
  const port = await listen(app)
  for (const [name, value] of Object.entries(HEADERS)) {
    t.equal((await exchange(port, target('GET', '/api/v1/prenotazioni', { [name]: value }))).status, 401, name)
    t.equal(
      (await exchange(port, target('DELETE', '/api/v1/prenotazioni', { [name]: value, 'x-api-key': API_KEY }))).status,
      405,
      `${name} with the key`
    )
    t.equal((await exchange(port, target('GET', '/nulla', { [name]: value }))).status, 404, `${name} elsewhere`)
  }
})
