import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { idpClient } from '#src/identity/external/client.ts'
import { externalSettings } from '#src/identity/external/settings.ts'
import { userLookup } from '#src/identity/external/user-lookup.ts'
import { build } from '#test/helper.ts'
import { fakeProvider, json } from './fake-provider.ts'

const UNREACHABLE = { code: 'PROVIDER_NON_RAGGIUNGIBILE', statusCode: 503 }
const ID = '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11'
const LARGEST = 5 * 1024 * 1024
const padded = (bytes: number) => '{}'.padEnd(bytes)

t.test('the client of an external provider', async (t) => {
  const fake = await fakeProvider(t, json(200, {}))
  const warnings: object[] = []
  const log = { warn: (fields: object) => warnings.push(fields) }
  const settings = { base: `${fake.url}/auth/v1`, anonKey: 'CANARY-anon' }
  const client = idpClient({ settings, log })
  const get = async (path = `/admin/users/${ID}`) => await client.asService('CANARY-service', 'GET', path)

  t.test('requests carry the person’s token and the public key, or the service key, and JSON bodies', async (t) => {
    await client.asPerson('CANARY-token', 'POST', '/logout?scope=global')
    t.match(fake.requests.at(-1), {
      method: 'POST',
      url: '/auth/v1/logout?scope=global',
      headers: { apikey: 'CANARY-anon', authorization: 'Bearer CANARY-token', 'content-length': '0' }
    })
    t.notOk('content-type' in fake.requests.at(-1)!.headers)
    await client.asService('CANARY-service', 'POST', '/admin/users', { email: 'è' })
    t.match(fake.requests.at(-1), {
      url: '/auth/v1/admin/users',
      headers: {
        apikey: 'CANARY-service',
        authorization: 'Bearer CANARY-service',
        'content-type': 'application/json',
        'content-length': '14'
      }
    })
  })

  t.test('answers and refusals are read, with the error code in either form', async (t) => {
    const answers: [RequestListener, object][] = [
      [json(200, { a: 1 }, { 'x-total-count': '7' }), { status: 200, body: { a: 1 }, code: '', total: 7 }],
      [json(200, {}, { 'x-total-count': 'molti' }), { status: 200, body: {}, code: '', total: undefined }],
      [json(200, { code: 'x' }), { status: 200, body: { code: 'x' }, code: '', total: undefined }],
      [
        (_request, response) => response.writeHead(204).end(),
        { status: 204, body: undefined, code: '', total: undefined }
      ],
      [json(422, { code: 422, error_code: 'email_exists', msg: 'm' }), { status: 422, code: 'email_exists' }],
      [json(422, { code: 'email_exists', message: 'm' }), { status: 422, code: 'email_exists' }],
      [json(404, { msg: 'm' }, { 'x-sb-error-code': 'user_not_found' }), { status: 404, code: 'user_not_found' }],
      [json(400, { error: 'm' }), { status: 400, code: '' }],
      [json(400, null), { status: 400, body: null, code: '' }],
      [(_request, response) => response.end(padded(LARGEST)), { status: 200, body: {} }]
    ]
    for (const [behaviour, expected] of answers) {
      fake.answer(behaviour)
      t.match(await get(), expected)
    }
    t.same(warnings, [])
  })

  t.test('an unusable answer is one error and one log line without personal data or secrets', async (t) => {
    const redirecting: RequestListener = (request, response) => {
      if (request.url === '/altrove') json(200, {})(request, response)
      else response.writeHead(307, { location: '/altrove' }).end()
    }
    const faults: [string, RequestListener][] = [
      ['status 500', json(500, { msg: 'CANARY-body' })],
      ['status 503', json(503, {})],
      ['status 429', json(429, {})],
      ['status 401', json(401, {})],
      ['status 403', json(403, {})],
      ['TypeError', redirecting],
      ['not JSON', (_request, response) => response.end('<html>CANARY-body')],
      ['not JSON', (_request, response) => response.writeHead(404).end('not found')],
      ['too large', (_request, response) => response.end(padded(LARGEST + 1))],
      [
        'too large',
        (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(padded(LARGEST + 1)))
      ],
      ['UND_ERR_SOCKET', (_request, response) => response.destroy()],
      [
        'UND_ERR_SOCKET',
        (_request, response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy())
      ]
    ]
    for (const [motivo, behaviour] of faults) {
      fake.answer(behaviour)
      warnings.length = 0
      const err: unknown = await get(`/admin/users/${ID}?x=CANARY`).catch((err: unknown) => err)
      t.match(err, UNREACHABLE, motivo)
      t.same(warnings, [{ motivo, operazione: 'GET /admin/users/:id' }])
      t.notMatch(JSON.stringify([warnings, err instanceof Error ? [err.message, err.stack, String(err.cause)] : err]),
        /CANARY|6f0f4c5e/)
    }
    t.notOk(fake.requests.some(({ url }) => url === '/altrove'))
    fake.answer(json(403, { code: 403, error_code: 'session_not_found' }))
    t.match(await client.asPerson('CANARY-token', 'GET', '/user'), { status: 403, code: 'session_not_found' },
      'a person can be refused')
  })

  t.test('an answer that does not come, or not to its end, is given up after the time limit', async (t) => {
    const hasty = idpClient({ settings, log, timeoutMs: 50 })
    for (const behaviour of [
      () => {},
      (_request, response) => response.writeHead(200).write('{')
    ] satisfies RequestListener[]) {
      fake.answer(behaviour)
      warnings.length = 0
      await t.rejects(hasty.asPerson('CANARY-token', 'GET', '/user'), UNREACHABLE)
      t.same(warnings, [{ motivo: 'TimeoutError', operazione: 'GET /user' }])
    }
  })

  t.test('a token with a line break cannot add a header', async (t) => {
    fake.requests.length = 0
    await t.rejects(client.asPerson('x\r\nx-admin: 1', 'GET', '/user'), UNREACHABLE)
    t.same(fake.requests, [])
  })

  t.test('a provider that cannot be reached is one error and one log line', async (t) => {
    await fake.stop()
    warnings.length = 0
    await t.rejects(get(), UNREACHABLE)
    t.match(warnings, [{ motivo: /^(ECONNREFUSED|UND_ERR_SOCKET)$/ }])
  })
})

const OTHER = '0b7c8a7e-51c4-4f3e-8a54-0d7d0c9b5a11'
const user = (more = {}) => json(200, { id: ID, created_at: '2026-11-21T09:30:00Z', ...more })

t.test('the look-up of users at an external provider', async (t) => {
  const { requests, ...fake } = await fakeProvider(t, user())
  const clock = { ms: 0 }
  const client = idpClient({ settings: { base: fake.url, anonKey: 'anonima' }, log: { warn () {} } })
  const create = () => userLookup({ client, serviceKey: 'di-servizio', clock: () => clock.ms })
  t.beforeEach(() => { requests.length = 0 })

  t.test('an answer is cached for a minute, and administration asks again at once', async (t) => {
    const people = create()
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    fake.answer(user())
    clock.ms += 59_999
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } })
    clock.ms++
    t.same((await people.recent(ID))?.app_metadata, {})
    t.equal(requests.length, 2)
    fake.answer(user({ app_metadata: { role: 'admin' } }))
    t.match(await people.now(ID), { app_metadata: { role: 'admin' } })
    t.match(await people.recent(ID), { app_metadata: { role: 'admin' } }, 'and that is remembered')
    t.equal(requests.length, 3)
  })

  t.test('an unknown, banned or deleted user is not found, and a ban ends by itself', async (t) => {
    const people = create()
    for (const behaviour of [
      json(404, { error_code: 'user_not_found' }),
      user({ banned_until: '2999-01-01T00:00:00Z' }),
      user({ deleted_at: '2026-11-21T09:30:00Z' })
    ]) {
      fake.answer(behaviour)
      t.equal(await people.now(ID), undefined)
      t.equal(await people.recent(ID), undefined)
    }
    t.equal(requests.length, 3, 'remembered, too')
    fake.answer(user({ banned_until: '2026-01-01T00:00:00Z' }))
    t.match(await people.now(ID), { id: ID })
  })

  t.test('no answer, or an answer about another user, is an error and is not cached', async (t) => {
    const people = create()
    for (const behaviour of [json(500, {}), json(200, {}), json(200, null), json(200, { id: OTHER }), json(401, {})]) {
      fake.answer(behaviour)
      await t.rejects(people.recent(ID), UNREACHABLE)
    }
    fake.answer(user())
    t.match(await people.recent(ID), { id: ID })
    clock.ms += 60_000
    fake.answer(json(500, {}))
    await t.rejects(people.recent(ID), UNREACHABLE, 'after the minute nobody is believed unasked')
  })
})

const MASTER_KEY = randomBytes(32).toString('base64')
const read = (environ: Record<string, string>) =>
  externalSettings(readConfig({ MASTER_KEY, IDP_ANON_KEY: 'anonima', ...environ }))

t.test('the provider’s address must be https or loopback', async (t) => {
  for (const url of [
    'https://idp.example', 'http://127.0.0.1:9999', 'http://localhost', 'http://[::1]:8000',
    'https://idp.example/sotto'
  ]) {
    t.match(read({ IDP_URL: url }), { url, base: `${url}/auth/v1` })
    t.match(read({ IDP_URL: `${url}//` }), { url, base: `${url}/auth/v1` })
  }
  for (const url of [
    'http://idp.example', 'http://10.0.0.1', 'http://127.0.0.1.example', 'https://utente:CANARY@idp.example',
    'https://idp.example?x=CANARY', 'https://idp.example/#CANARY', 'http://[::2]'
  ]) {
    t.throws(() => read({ IDP_URL: url }), { name: 'ConfigError', message: /^IDP_URL: [^C]+$/ }, url)
  }
})

t.test('a public or private key is refused as the shared secret', async (t) => {
  t.match(read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: 'segreto' }), { jwtSecret: Buffer.from('segreto') })
  t.throws(() => read({ IDP_URL: 'https://idp.example', IDP_JWT_SECRET: '-----BEGIN PUBLIC KEY-----\nCANARY' }),
    { name: 'ConfigError', message: /^IDP_JWT_SECRET: [^C]+$/ })
})

t.test('a bad address stops the start', async (t) => {
  await t.rejects(build(t, { IDP_URL: 'http://idp.example', IDP_ANON_KEY: 'anonima' }),
    { name: 'ConfigError', message: /^IDP_URL: / })
})
