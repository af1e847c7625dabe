import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { recentUntil } from '#src/identity/standing.ts'
import { provider, tokensOf, type Client, type Provider } from '#test/identity/protocol/client.ts'
import { bearer } from '#test/identity/requests.ts'
import { codeOf, enrolApp, personWithApp, prove } from './authenticator.ts'

const ADMIN = { app_metadata: { role: 'admin' } }
const KEY = '/api/cli/auth/key'

const headersOf = async (client: Client) => bearer((await tokensOf(client)).access)
/** Status and code of a request. */
async function asked (
  app: FastifyInstance,
  headers: Record<string, string>,
  url: string,
  { method = 'GET', payload }: { method?: 'GET' | 'POST' | 'PUT' | 'DELETE', payload?: object } = {}
): Promise<[number, string | undefined]> {
  const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  const { codice, error_code } = answer.body === '' ? {} : answer.json<{ codice?: string, error_code?: string }>()
  return [answer.statusCode, codice ?? error_code]
}
const mint = async ({ app }: Provider, headers: Record<string, string>) =>
  (await app.inject({ url: KEY, headers })).json<{ apiKey: string }>().apiKey

const usual = await provider(t)
const strict = await provider(t, { REQUIRE_RECENT_MFA: 'true', QUERY_PASSWORD: 'una-password-lunga' })

t.test('whoever has a second factor can do nothing without it but sign in and out', async (t) => {
  const server = usual
  const { app } = server
  const { person, app: phone } = await personWithApp(server, ADMIN)
  const half = await server.signedIn(person)
  const headers = await headersOf(half)
  for (const url of ['/api/v1/prenotazioni', '/api/v1/paesi', '/api/users', '/api/sessions', KEY]) {
    t.same(await asked(app, headers, url), [403, 'SECONDO_FATTORE_RICHIESTO'], url)
  }
  t.same(await asked(app, headers, '/api/v1/prenotazioni', { method: 'POST', payload: {} }), [
    403, 'SECONDO_FATTORE_RICHIESTO'
  ])
  t.same(await asked(app, headers, '/auth/v1/admin/users'), [401, 'insufficient_aal'])
  t.same(await asked(app, headers, '/auth/v1/user'), [200, undefined])
  t.equal((await app.inject({ method: 'POST', url: '/api/admin/grant-cookie', headers })).statusCode, 403)

  // During a maintenance an administrator gets in, with the second factor.
  const service = bearer(await server.token({ service: true }))
  const maintain = async (enabled: boolean) => {
    await app.inject({ method: 'POST', url: '/api/settings/maintenance', headers: service, payload: { enabled } })
  }
  await maintain(true)
  await prove(server, half, phone)
  t.same(await asked(app, await headersOf(half), '/api/users'), [200, undefined])
  t.same(await asked(app, headers, '/api/users'), [503, 'MANUTENZIONE'], 'the token from before is void')
  t.equal((await half.auth.signOut()).error, null)
  await maintain(false)
})

t.test('an API key needs no second factor, and stays when one is enrolled', async (t) => {
  const server = usual
  const client = await server.signedIn(await server.person())
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  await enrolApp(client)
  t.same(await asked(server.app, key, '/api/v1/prenotazioni'), [200, undefined])
})

t.test('a key that was made with the password alone administers until its person has a second factor', async (t) => {
  const server = usual
  const { app } = server
  const { id: userId, ...person } = await server.person(ADMIN)
  const client = await server.signedIn({ id: userId, ...person })
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  t.same(await asked(app, key, '/api/users'), [200, undefined])
  const { id } = await enrolApp(client)
  t.equal((await asked(app, key, '/api/users'))[0], 403)
  const url = `/auth/v1/admin/users/${userId}/factors/${id}`
  t.equal((await asked(app, key, url, { method: 'DELETE' }))[0], 403)
  t.equal((await client.auth.mfa.listFactors()).data?.totp.length, 1, 'the factor is still there')
  t.same(await asked(app, key, '/api/v1/prenotazioni'), [200, undefined], 'all else goes on')
  const later = { 'x-api-key': await mint(server, await headersOf(client)) }
  t.same(await asked(app, later, '/api/users'), [200, undefined])
})

t.test('a key that was made with the password alone ends what is like it, and shuts nobody out', async (t) => {
  const server = usual
  const { app } = server
  const client = await server.signedIn(await server.person())
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  await enrolApp(client)
  const later = { 'x-api-key': await mint(server, await headersOf(client)) }
  const end = async (headers: Record<string, string>) =>
    await asked(app, headers, '/api/sessions/revoke-all', { method: 'POST', payload: {} })
  t.same(await end(key), [200, undefined])
  t.same(await asked(app, await headersOf(client), '/api/v1/prenotazioni'), [200, undefined], 'the proven session')
  t.same(await asked(app, later, '/api/v1/prenotazioni'), [200, undefined], 'and its key go on')
  t.equal((await asked(app, key, '/api/v1/prenotazioni'))[0], 401, 'it has revoked itself')
  t.same(await end(later), [200, undefined])
  t.equal((await asked(app, await headersOf(client), '/api/v1/prenotazioni'))[0], 401)
})

t.test('a session left open makes no new second factor and no codes, where a recent proof is wanted', async (t) => {
  const server = strict
  const { app } = server
  const { client, app: phone } = await personWithApp(server, ADMIN)
  const begun = (await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'begun before' })).data!
  await app.sql`
    update sessions set amr = jsonb_set(amr, '{0,timestamp}', to_jsonb((amr -> 0 ->> 'timestamp')::bigint - 901))`
  const headers = await headersOf(client)
  const refused = [403, 'insufficient_aal']
  const codes = '/auth/v1/factors/recovery-codes'
  t.match((await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'another' })).error, {
    code: 'insufficient_aal'
  })
  t.match((await client.auth.mfa.challengeAndVerify({ factorId: begun.id, code: codeOf(begun.totp.secret) })).error, {
    code: 'insufficient_aal'
  })
  t.match((await client.auth.mfa.unenroll({ factorId: phone.id })).error, { code: 'insufficient_aal' })
  t.same(await asked(app, headers, codes, { method: 'POST', payload: {} }), refused)
  await prove(server, client, phone)
  const renewed = await headersOf(client)
  t.same(await asked(app, renewed, codes, { method: 'POST', payload: {} }), [200, undefined])
  t.equal((await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'another' })).error, null)
})

t.test('who must have a second factor and has none can enrol one, and nothing else', async (t) => {
  const server = await provider(t, { REQUIRE_MFA: 'admin' })
  const { app } = server
  const [operator, admin] = [await server.person(), await server.person(ADMIN)]
  t.same(await asked(app, await headersOf(await server.signedIn(operator)), '/api/v1/paesi'), [200, undefined])

  const client = await server.signedIn(admin)
  const headers = await headersOf(client)
  t.same(await asked(app, headers, '/api/v1/paesi'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'])
  t.same(await asked(app, headers, '/auth/v1/admin/users'), [403, 'insufficient_aal'])
  t.match((await client.auth.updateUser({ data: { name: 'Anna' } })).error, { code: 'insufficient_aal' })
  const phone = await enrolApp(client)
  const proven = await headersOf(client)
  t.same(await asked(app, proven, '/api/users'), [200, undefined])
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  t.same(await asked(app, key, '/api/users'), [200, undefined])

  t.equal((await client.auth.mfa.unenroll({ factorId: phone.id })).error, null)
  t.same(await asked(app, proven, '/api/users'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'], 'at once')
  t.same(await asked(app, key, '/api/users'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'], 'the keys, too')
  t.same(await asked(app, bearer(await server.token({ service: true })), '/api/users'), [200, undefined])
  t.equal((await server.call('GET', '/api/v1/paesi')).statusCode, 200, "the server's own key is no person")
})

t.test('REQUIRE_MFA=all is for operators, too', async (t) => {
  const server = await provider(t, { REQUIRE_MFA: 'all' })
  const client = await server.signedIn(await server.person())
  const headers = await headersOf(client)
  t.same(await asked(server.app, headers, '/api/v1/paesi'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'])
  await enrolApp(client)
  t.same(await asked(server.app, await headersOf(client), '/api/v1/paesi'), [200, undefined])
})

t.test('what is guarded most wants a second factor of the last 15 minutes, where the server says so', async (t) => {
  const server = strict
  const { app } = server
  const { client, app: phone } = await personWithApp(server, ADMIN)
  const age = () => app.sql`
    update sessions set amr = jsonb_set(amr, '{0,timestamp}', to_jsonb((amr -> 0 ->> 'timestamp')::bigint - 901))`
  const nobody = '00000000-0000-4000-8000-000000000000'
  const guarded: [method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object][] = [
    ['POST', '/api/v1/invii/1/decisione', { decisione: 'annulla', motivo: 'prova' }],
    ['POST', '/api/v1/invii/sospensione', { sospeso: false, motivo: 'prova' }],
    ['GET', KEY],
    ['POST', '/api/v1/signing-keys/rotate', {}],
    ['POST', '/api/operators', {}],
    ['POST', '/api/settings/maintenance', { enabled: false }],
    ['POST', '/api/querysql', { password: 'una-password-lunga', sql: 'select 1' }],
    ['POST', '/auth/v1/admin/users', {}],
    ['PUT', `/auth/v1/admin/users/${nobody}`, {}],
    ['DELETE', `/auth/v1/admin/users/${nobody}`, {}],
    ['DELETE', `/auth/v1/admin/users/${nobody}/factors/${nobody}`],
    ['PUT', `/auth/v1/admin/users/${nobody}/factors/${nobody}`, { friendly_name: 'Telefono' }],
    ['POST', '/auth/v1/invite', { email: 'piero@example.org' }],
    ['POST', '/auth/v1/admin/generate_link', { type: 'recovery', email: 'piero@example.org' }]
  ]
  const headers = await headersOf(client)
  const refused = async (headers: Record<string, string>) => {
    const codes = await Promise.all(guarded.map(async ([method, url, payload]) =>
      [`${method} ${url}`, (await asked(app, headers, url, { method, payload }))[1]] as const))
    return codes.filter(([, code]) => code === 'SECONDO_FATTORE_RECENTE' || code === 'insufficient_aal')
  }
  t.same(await refused(headers), [])
  const key = { 'x-api-key': await mint(server, headers) }
  await age()
  await app.identity.waitForListeners()
  t.equal((await refused(headers)).length, guarded.length)
  t.same(await asked(app, headers, '/api/users'), [200, undefined], 'all else goes on')
  t.same(await asked(app, headers, '/api/v1/prenotazioni'), [200, undefined])
  const withKey = (await refused(key)).map(([route]) => route)
  t.same(withKey, [], 'a key that was made with a second factor counts as one')
  t.same(await refused(bearer(await server.token({ service: true }))), [])

  await prove(server, client, phone)
  t.same(await refused(await headersOf(client)), [], 'proven again')

  const withoutApp = await server.signedIn(await server.person(ADMIN))
  t.equal((await refused(await headersOf(withoutApp))).length, guarded.length)
})

t.test('a key that was made without a second factor does nothing that is guarded most', async (t) => {
  const { app, person } = strict
  const { apiKey } = await mintKey(app.db, app.identity.apiKeys, (await person(ADMIN)).id, {})
  const key = { 'x-api-key': apiKey }
  t.same(await asked(app, key, '/api/settings/maintenance', { method: 'POST', payload: { enabled: false } }), [
    403, 'SECONDO_FATTORE_RECENTE'
  ])
  t.same(await asked(app, key, '/api/users'), [200, undefined])
})

t.test('a second factor is recent by its own time, whatever the password was proven with, and when', async (t) => {
  t.equal(recentUntil([]), undefined)
  t.equal(recentUntil([{ method: 'password', timestamp: 5000 }]), undefined)
  t.equal(recentUntil([{ method: 'totp', timestamp: 1000 }, { method: 'password', timestamp: 5000 }]), 1_900_000)
  t.equal(recentUntil([{ method: 'totp', timestamp: 1000 }, { method: 'mfa/webauthn', timestamp: 2000 }]), 2_900_000)
})
