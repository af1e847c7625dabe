import t from 'tap'
import { build } from '#test/helper.ts'
import { enrolApp } from '#test/identity/factors/authenticator.ts'
import { openClient, PASSWORD, tokensOf } from '#test/identity/protocol/client.ts'
import { bearer } from '#test/identity/requests.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const idp = await startProvider(t)

t.test('with an external provider a session is at the level of its token, and keys ask the provider', async (t) => {
  const REQUIRED = { REQUIRE_MFA: 'all', REQUIRE_RECENT_MFA: 'true' }
  const { app } = await build(t, { ...idp.environ, ...REQUIRED }, undefined, PATIENT)
  const email = 'anna@example.org'
  await idp.admin('POST', '/admin/users', {
    email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'admin' }
  })
  const client = openClient(t, { backendUrl: idp.url, backendKey: idp.anonKey })
  await client.auth.signInWithPassword({ email, password: PASSWORD })
  const asked = async (headers: Record<string, string>, url = '/api/v1/paesi') => {
    const answer = await app.inject({ url, headers })
    return [answer.statusCode, answer.statusCode === 200 ? undefined : answer.json<{ codice: string }>().codice]
  }
  const half = bearer((await tokensOf(client)).access)
  t.same(await asked(half), [403, 'SECONDO_FATTORE_RICHIESTO'])

  await enrolApp(client)
  const whole = bearer((await tokensOf(client)).access)
  t.same(await asked(whole), [200, undefined])
  t.same(await asked(half), [403, 'SECONDO_FATTORE_RICHIESTO'], 'the earlier token says what it said')
  const answer = await app.inject({ url: '/api/cli/auth/key', headers: whole })
  t.equal(answer.statusCode, 200, 'and when the factor was proven')
  t.same(await asked({ 'x-api-key': answer.json<{ apiKey: string }>().apiKey }), [200, undefined])
})

t.test('a key made with the password alone administers until the provider tells of a second factor', async (t) => {
  const { app } = await build(t, { ...idp.environ }, undefined, PATIENT)
  const email = 'bruno@example.org'
  await idp.admin('POST', '/admin/users', {
    email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'admin' }
  })
  const client = openClient(t, { backendUrl: idp.url, backendKey: idp.anonKey })
  await client.auth.signInWithPassword({ email, password: PASSWORD })
  const mintWhole = async () => (await app.inject({
    url: '/api/cli/auth/key', headers: bearer((await tokensOf(client)).access)
  })).json<{ apiKey: string, id: string }>()
  const mint = async () => (await mintWhole()).apiKey
  const status = async (apiKey: string, url = '/api/v1/keys?tutte=true') =>
    (await app.inject({ url, headers: { 'x-api-key': apiKey } })).statusCode
  const key = await mint()
  t.equal(await status(key), 200)
  await enrolApp(client)
  t.equal(await status(key), 403)
  t.equal(await status(key, '/api/v1/paesi'), 200, 'all else goes on')
  const later = await mintWhole()
  t.equal(await status(later.apiKey), 200)
  const url = `/api/v1/keys/${later.id}`
  t.match((await app.inject({ method: 'DELETE', url, headers: { 'x-api-key': key } })).json(), {
    status: 403, codice: 'SECONDO_FATTORE_RICHIESTO'
  })
  t.equal(await status(later.apiKey), 200, 'it revokes no other one')
})
