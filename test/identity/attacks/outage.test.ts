import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { build, signIn } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { gateTo } from './gate.ts'

t.test('an outage of the database', async (t) => {
  const { url } = await testDatabase(t)
  const gate = await gateTo(t, url)
  const { app, token, logs } = await build(t, { DATABASE_URL: gate.url })
  const service = await token({ service: true })
  const { user, access_token } = await signIn(app, 'anna', 'operator')
  await gate.shut()

  t.test('every request is answered with a 503 of the protocol and Retry-After', async (t) => {
    const asked = [
      ['POST', '/auth/v1/token?grant_type=password', undefined, { email: 'anna@example.org', password: 'x' }],
      ['GET', '/auth/v1/user', access_token],
      ['PUT', `/auth/v1/admin/users/${user.id}`, service, { ban_duration: '1h' }]
    ] as const
    for (const [method, url, by, payload] of asked) {
      const answer = await app.inject({
        method,
        url,
        ...(by ? { headers: bearer(by) } : {}),
        ...(payload ? { payload } : {})
      })
      t.match(
        [answer.statusCode, answer.json(), answer.headers],
        [503, { code: 503, error_code: 'unexpected_failure' }, { 'retry-after': '5' }],
        `${method} ${url}`
      )
    }
  })

  t.test('a request that waits for the other processes is answered nevertheless', async () => {
    await app.identity.waitForListeners()
  })

  t.test('the log has no error of this server', async (t) => {
    t.same(logs.filter(({ msg, level }) => msg === 'request failed' && Number(level) >= 50), [])
  })
})
