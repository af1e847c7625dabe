import t from 'tap'
import { as, bearer } from '#test/identity/requests.ts'
import { signIn, type TestApp } from '#test/helper.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { codeOf } from './authenticator.ts'

t.test('what one server hears of second factors, the others know when it answers', async (t) => {
  const [here, there] = await twoServers(t)
  const token = (await signIn(here.app, 'anna', 'operator')).access_token
  const other = (await signIn(there.app, 'anna', 'operator')).access_token
  const standing = async ({ app }: TestApp, who: string) =>
    (await app.inject({ url: '/api/v1/paesi', headers: bearer(who) })).statusCode
  for (const server of [here, there]) for (const each of [token, other]) t.equal(await standing(server, each), 200)

  const { id, totp } = (await as(here.app, token, 'POST', '/auth/v1/factors', { factor_type: 'totp' }))
    .json<{ id: string, totp: { secret: string } }>()
  const challenge = await as(there.app, token, 'POST', `/auth/v1/factors/${id}/challenge`, {})
  const payload = { challenge_id: challenge.json<{ id: string }>().id, code: codeOf(totp.secret) }
  const proven = (await as(here.app, token, 'POST', `/auth/v1/factors/${id}/verify`, payload))
    .json<{ access_token: string }>().access_token
  t.equal(await standing(there, other), 401, 'the other session has ended')
  t.equal(await standing(there, token), 401, 'and the token from before the proof is void')
  t.equal(await standing(there, proven), 200)
  const later = (await signIn(there.app, 'anna', 'operator')).access_token
  t.equal(await standing(there, later), 403)
  t.equal(await standing(here, later), 403)
  t.equal((await as(here.app, proven, 'DELETE', `/auth/v1/factors/${id}`)).statusCode, 200)
  t.equal(await standing(there, later), 200, 'without a factor the password is enough again')
})
