import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { build, signIn } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { gateTo } from './gate.ts'

t.test('a database that goes away', async (t) => {
  const { url } = await testDatabase(t)
  const gate = await gateTo(t, url)
  const { app, token, logs } = await build(t, { DATABASE_URL: gate.url })
  const service = await token({ service: true })
  const { user, access_token } = await signIn(app, 'anna', 'operator')
  await gate.shut()

  t.test('is a 503 in the words of the protocol, with the time to come back, to whatever is asked', async (t) => {
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

  t.test('keeps nobody waiting who has to tell the others', async () => { await app.identity.settled() })

  t.test('is no fault of ours in the log', async (t) => {
    t.same(logs.filter(({ msg, level }) => msg === 'request failed' && Number(level) >= 50), [])
  })
})
