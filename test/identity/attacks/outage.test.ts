import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { build, signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/twins.ts'
import { gateTo } from './gate.ts'

t.test('a database that goes away and comes back', async (t) => {
  const { url, sql } = await testDatabase(t)
  const gate = await gateTo(t, url)
  const { app, token, logs } = await build(t, { DATABASE_URL: gate.url })
  const service = await token({ service: true })
  const { user, access_token, refresh_token } = await signIn(app, 'anna', 'operator')
  const { access_token: other } = await signIn(app, 'bruno', 'operator')
  for (const each of [access_token, other]) t.equal(await isLetIn(app, bearer(each)), 200)
  await gate.shut()

  t.test('is a 503 in the words of the protocol, with the time to come back, to whatever is asked', async (t) => {
    const asked = [
      ['POST', '/auth/v1/token?grant_type=password', undefined, { email: 'anna@example.org', password: 'x' }],
      ['POST', '/auth/v1/token?grant_type=refresh_token', undefined, { refresh_token }],
      ['GET', '/auth/v1/user', access_token],
      ['PUT', '/auth/v1/user', access_token, { data: { name: 'Anna' } }],
      ['POST', '/auth/v1/logout', access_token],
      ['GET', '/auth/v1/admin/users', service],
      ['PUT', `/auth/v1/admin/users/${user.id}`, service, { ban_duration: '1h' }]
    ] as const
    for (const [method, url, by, payload] of asked) {
      const answer = await app.inject({ method, url, ...(by ? { headers: bearer(by) } : {}), ...(payload ? { payload } : {}) })
      t.match([answer.statusCode, answer.json(), answer.headers], [503, { code: 503, error_code: 'unexpected_failure' }, { 'retry-after': '5' }], `${method} ${url}`)
    }
  })

  t.test('keeps nobody waiting who has to tell the others', async () => { await app.identity.settled() })

  t.test('is no fault of ours in the log', async (t) => {
    t.same(logs.filter(({ msg, level }) => msg === 'request failed' && Number(level) >= 50), [])
  })

  t.test('when it is back, what has changed meanwhile is known, and remembered again', async (t) => {
    await sql`update users set banned_until = now() + interval '1 hour' where id = ${user.id}`
    await gate.open()
    while ((await app.inject({ url: '/auth/v1/user', headers: bearer(other) })).statusCode !== 200) await turn()
    t.equal(await isLetIn(app, bearer(access_token)), 401)
    t.equal(await isLetIn(app, bearer(other)), 200)
    t.equal((await as(app, other, 'POST', '/auth/v1/logout')).statusCode, 204)
    t.equal(await isLetIn(app, bearer(other)), 401)
  })
})
