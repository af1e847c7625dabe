import t from 'tap'
import { build } from '#test/helper.ts'

const ORIGIN = 'https://app.example'
const { app, call } = await build(t, { CORS_ORIGINS: ORIGIN })

t.test('a method that a path of the protocol has not is no route, as with the real server', async (t) => {
  for (const [method, path] of [['PATCH', '/bucket'], ['PUT', '/object/move'], ['GET', '/object/copy']] as const) {
    const answer = await call(method, `/storage/v1${path}`)
    t.equal(answer.statusCode, 400, path)
    t.match(answer.json(), {
      statusCode: '404', error: 'Not Found', message: 'Route not found', code: 'InvalidRequest'
    })
    t.equal(answer.headers.allow, undefined)
  }
})

t.test('browsers may ask with OPTIONS what they may send, without credentials and on every path', async (t) => {
  const headers = {
    origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,x-upsert'
  }
  for (const path of ['/object/public/a.txt', '/object/list/public', '/bucket', '/nessuno']) {
    const answer = await app.inject({ method: 'OPTIONS', url: `/storage/v1${path}`, headers })
    t.equal(answer.statusCode, 204, path)
    t.match(answer.headers, {
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': /POST/,
      'access-control-allow-headers': 'authorization,x-upsert'
    })
    const foreign = await app.inject({
      method: 'OPTIONS', url: `/storage/v1${path}`, headers: { ...headers, origin: 'https://altrove.example' }
    })
    t.equal(foreign.headers['access-control-allow-origin'], undefined, path)
  }
})
