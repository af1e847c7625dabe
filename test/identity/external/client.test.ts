import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { idpClient } from '#src/identity/external/client.ts'
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
      t.notMatch(
        JSON.stringify([warnings, err instanceof Error ? [err.message, err.stack, String(err.cause)] : err]),
        /CANARY|6f0f4c5e/
      )
    }
    t.notOk(fake.requests.some(({ url }) => url === '/altrove'))
    fake.answer(json(403, { code: 403, error_code: 'session_not_found' }))
    t.match(
      await client.asPerson('CANARY-token', 'GET', '/user'),
      { status: 403, code: 'session_not_found' },
      'a person can be refused'
    )
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
