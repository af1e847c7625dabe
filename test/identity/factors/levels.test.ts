import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { signIn, type TestApp } from '#test/helper.ts'
import { type Client, provider, type Provider, tokensOf } from '#test/identity/protocol/client.ts'
import {
  age, type Outcome, outcomeOf, refresh, refreshed, sessionStatus, counter
} from '#test/identity/refresh/holder.ts'
import { callAs, bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { startSmtp } from '#test/smtp.ts'
import { type App, codeOf, enrolApp, forgetCodes, personWithApp, prove } from './authenticator.ts'

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
  const response = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
  const { codice, error_code } = response.body === '' ? {} : response.json<{ codice?: string, error_code?: string }>()
  return [response.statusCode, codice ?? error_code]
}
const mint = async ({ app }: Provider, headers: Record<string, string>) =>
  (await app.inject({ url: KEY, headers })).json<{ apiKey: string }>().apiKey

const usual = await provider(t)
const strict = await provider(t, { REQUIRE_RECENT_MFA: 'true', QUERY_PASSWORD: 'una-password-lunga' })

t.test('without their second factor a person can only sign in and out', async (t) => {
  const server = usual
  const { app } = server
  const { person, app: phone } = await personWithApp(server, ADMIN)
  const half = await server.signedIn(person)
  const headers = await headersOf(half)
  for (const url of ['/api/v1/prenotazioni', '/api/v1/paesi', '/api/users', '/api/sessions', KEY]) {
    t.same(await asked(app, headers, url), [403, 'SECONDO_FATTORE_RICHIESTO'], url)
  }
  t.same(await asked(app, headers, '/api/v1/prenotazioni', { method: 'POST', payload: {} }),
    [403, 'SECONDO_FATTORE_RICHIESTO'])
  t.same(await asked(app, headers, '/auth/v1/admin/users'), [401, 'insufficient_aal'])
  t.same(await asked(app, headers, '/auth/v1/user'), [200, undefined])
  t.equal((await app.inject({ method: 'POST', url: '/api/admin/grant-cookie', headers })).statusCode, 403)

  // During maintenance an administrator has access only with the second factor.
  const service = bearer(await server.token({ service: true }))
  const maintain = async (enabled: boolean) => {
    await app.inject({ method: 'POST', url: '/api/settings/maintenance', headers: service, payload: { enabled } })
  }
  await maintain(true)
  await prove(server, half, phone)
  t.same(await asked(app, await headersOf(half), '/api/users'), [200, undefined])
  t.same(await asked(app, headers, '/api/users'), [503, 'MANUTENZIONE'], 'the earlier token is void')
  t.equal((await half.auth.signOut()).error, null)
  await maintain(false)
})

t.test('a key created with only a password has its rights until its person has a second factor', async (t) => {
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
  t.equal((await client.auth.mfa.listFactors()).data?.totp.length, 1, 'the factor still exists')
  t.same(await asked(app, key, '/api/v1/prenotazioni'), [200, undefined], 'other requests still work')
  const later = { 'x-api-key': await mint(server, await headersOf(client)) }
  t.same(await asked(app, later, '/api/users'), [200, undefined])
})

t.test('a key created with only a password ends only password-only sessions and their keys', async (t) => {
  const server = usual
  const { app } = server
  const client = await server.signedIn(await server.person())
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  await enrolApp(client)
  const later = { 'x-api-key': await mint(server, await headersOf(client)) }
  const end = async (headers: Record<string, string>) =>
    await asked(app, headers, '/api/sessions/revoke-all', { method: 'POST', payload: {} })
  t.same(await end(key), [200, undefined])
  t.same(await asked(app, await headersOf(client), '/api/v1/prenotazioni'), [200, undefined], 'this session works')
  t.same(await asked(app, later, '/api/v1/prenotazioni'), [200, undefined], 'the key of this session works')
  t.equal((await asked(app, key, '/api/v1/prenotazioni'))[0], 401, 'the key has revoked itself')
  t.same(await end(later), [200, undefined])
  t.equal((await asked(app, await headersOf(client), '/api/v1/prenotazioni'))[0], 401)
})

t.test('with REQUIRE_RECENT_MFA a session without a recent proof creates no second factor or codes', async (t) => {
  const server = strict
  const { app } = server
  const { client, app: phone } = await personWithApp(server, ADMIN)
  const begun = (await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'begun before' })).data!
  await app.sql`
    update sessions set amr = jsonb_set(amr, '{0,timestamp}', to_jsonb((amr -> 0 ->> 'timestamp')::bigint - 901))`
  const headers = await headersOf(client)
  const refused = [403, 'insufficient_aal']
  const codes = '/auth/v1/factors/recovery-codes'
  t.match((await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'another' })).error,
    { code: 'insufficient_aal' })
  t.match((await client.auth.mfa.challengeAndVerify({ factorId: begun.id, code: codeOf(begun.totp.secret) })).error,
    { code: 'insufficient_aal' })
  t.match((await client.auth.mfa.unenroll({ factorId: phone.id })).error, { code: 'insufficient_aal' })
  t.same(await asked(app, headers, codes, { method: 'POST', payload: {} }), refused)
  await prove(server, client, phone)
  const renewed = await headersOf(client)
  t.same(await asked(app, renewed, codes, { method: 'POST', payload: {} }), [200, undefined])
  t.equal((await client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'another' })).error, null)
})

t.test('a person who must have a second factor and has none can only enrol one', async (t) => {
  const server = await provider(t, { REQUIRE_MFA: 'admin' })
  const { app } = server
  const [operator, admin] = [await server.person(), await server.person(ADMIN)]
  t.same(await asked(app, await headersOf(await server.signedIn(operator)), '/api/v1/paesi'), [200, undefined])

  const client = await server.signedIn(admin)
  const headers = await headersOf(client)
  t.same(await asked(app, headers, '/api/v1/paesi'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'])
  t.same(await asked(app, headers, '/auth/v1/admin/users'), [403, 'insufficient_aal'])
  t.same(await asked(app, headers, '/storage/v1/bucket'), [403, undefined])
  t.match((await client.auth.updateUser({ data: { name: 'Anna' } })).error, { code: 'insufficient_aal' })
  const phone = await enrolApp(client)
  const proven = await headersOf(client)
  t.same(await asked(app, proven, '/api/users'), [200, undefined])
  const key = { 'x-api-key': await mint(server, await headersOf(client)) }
  t.same(await asked(app, key, '/api/users'), [200, undefined])

  t.equal((await client.auth.mfa.unenroll({ factorId: phone.id })).error, null)
  t.same(await asked(app, proven, '/api/users'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'], 'immediately')
  t.same(await asked(app, key, '/api/users'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'], 'the keys, too')
  t.same(await asked(app, bearer(await server.token({ service: true })), '/api/users'), [200, undefined])
  t.equal((await server.call('GET', '/api/v1/paesi')).statusCode, 200, "the server's own key is no person")
})

t.test('REQUIRE_MFA=all includes operators', async (t) => {
  const server = await provider(t, { REQUIRE_MFA: 'all' })
  const client = await server.signedIn(await server.person())
  const headers = await headersOf(client)
  t.same(await asked(server.app, headers, '/api/v1/paesi'), [403, 'SECONDO_FATTORE_DA_REGISTRARE'])
  await enrolApp(client)
  t.same(await asked(server.app, await headersOf(client), '/api/v1/paesi'), [200, undefined])
})

t.test('REQUIRE_RECENT_MFA makes sensitive routes require a proof in the last 15 minutes', async (t) => {
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
  t.same(await asked(app, headers, '/api/users'), [200, undefined], 'other requests still work')
  t.same(await asked(app, headers, '/api/v1/prenotazioni'), [200, undefined])
  const withKey = (await refused(key)).map(([route]) => route)
  t.same(withKey, [], 'a key that was made with a second factor counts as one')
  t.same(await refused(bearer(await server.token({ service: true }))), [])

  await prove(server, client, phone)
  t.same(await refused(await headersOf(client)), [], 'after another proof')

  const withoutApp = await server.signedIn(await server.person(ADMIN))
  t.equal((await refused(await headersOf(withoutApp))).length, guarded.length)
})

t.test('with REQUIRE_RECENT_MFA a key made without a second factor is refused on these routes', async (t) => {
  const { app, person } = strict
  const { apiKey } = await mintKey(app.db, app.identity.apiKeys, (await person(ADMIN)).id, {})
  const key = { 'x-api-key': apiKey }
  t.same(await asked(app, key, '/api/settings/maintenance', { method: 'POST', payload: { enabled: false } }),
    [403, 'SECONDO_FATTORE_RECENTE'])
  t.same(await asked(app, key, '/api/users'), [200, undefined])
})

t.test('after too many wrong codes even a right one is refused, and recovery codes count separately', async (t) => {
  const server = await provider(t, { RATE_LIMIT_LOGIN_MAX: '3', RATE_LIMIT_WINDOW: '1' })
  const { client, app: { id, secret } } = await personWithApp(server)
  const { mfa } = client.auth
  const codes = (await mfa.recoveryCodes.generate()).data!.codes
  await forgetCodes(server.app)
  const attempt = async (code: string) => (await mfa.challengeAndVerify({ factorId: id, code })).error
  for (let n = 0; n < 3; n++) t.match(await attempt('abcdef'), { code: 'mfa_verification_failed' })
  t.match(await attempt(codeOf(secret)), { code: 'over_request_rate_limit', status: 429 })
  t.match(client.exchanges.at(-1), { status: 429 })

  for (let n = 0; n < 3; n++) {
    t.match((await mfa.recoveryCodes.verify({ code: 'nessuno' })).error, { code: 'mfa_verification_failed' })
  }
  t.match((await mfa.recoveryCodes.verify({ code: codes[0]! })).error,
    { code: 'mfa_recovery_codes_locked', status: 429 })
  await server.app.sql`delete from counters`
  t.equal((await mfa.recoveryCodes.verify({ code: codes[0]! })).error, null, 'the code is still valid')
  t.equal(await attempt(codeOf(secret)), null)
})

t.test('wrong codes from many client IPs block neither the owner on a known IP nor recovery codes', async (t) => {
  const smtp = await startSmtp(t)
  const server = await provider(t, {
    RATE_LIMIT_LOGIN_MAX: '2', TRUST_PROXY: '127.0.0.1', SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example'
  })
  const { app } = server
  const { client, person, app: { id, secret } } = await personWithApp(server)
  t.match(await smtp.next(), { subject: 'Nuovo secondo fattore', envelope: { to: [person.email] } })
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  await smtp.next()
  const { access: guesser } = await tokensOf(await server.signedIn(person))
  const from = async (ip: string, path: string, payload: object, token = guesser) => {
    const headers = { ...bearer(token), 'x-forwarded-for': ip }
    return await app.inject({ method: 'POST', url: `/auth/v1/factors/${path}`, headers, payload })
  }
  const attempt = async (ip: string, code: string, token = guesser) => {
    const challenge_id = (await from(ip, `${id}/challenge`, {}, token)).json<{ id: string }>().id
    return (await from(ip, `${id}/verify`, { challenge_id, code }, token)).statusCode
  }
  await forgetCodes(app)
  for (let n = 0; n < 10; n++) t.equal(await attempt(`192.0.2.${n}`, 'abcdef'), 422)
  t.equal(await attempt('192.0.2.99', codeOf(secret)), 429, 'for a day even a right code is refused everywhere')
  const [{ seconds }] = await app.sql<[{ seconds: number }]>`
    select extract(epoch from max(ends_at) - now())::int as seconds from counters where name = 'second-factor/account'`
  t.ok(seconds > 80_000)
  const notice = await smtp.next()
  t.match(notice, { subject: 'Codici sbagliati per l’account', envelope: { to: [person.email] } })
  t.notMatch(notice.text, /192\.0\.2/)
  t.equal(smtp.mails.length, 3, 'once')

  t.equal(await attempt('127.0.0.1', codeOf(secret), (await tokensOf(client)).access), 200, 'the owner, on a known IP')
  await app.sql`delete from counters where name like 'sign-in/%'`
  const again = (await tokensOf(await server.signedIn(person))).access
  for (const status of [422, 422, 429]) {
    t.equal((await from('192.0.2.99', 'recovery-codes/verify', { code: 'nessuno' }, again)).statusCode, status)
  }
  const { access } = await tokensOf(await server.signedIn(person))
  t.equal((await from('192.0.2.99', 'recovery-codes/verify', { code: codes[0]! }, access)).statusCode, 200)
})

t.test('one of many simultaneous requests with the same code succeeds, and all guesses are counted', async (t) => {
  const server = await provider(t, { RATE_LIMIT_LOGIN_MAX: '5', RATE_LIMIT_WINDOW: '1' })
  const { app } = server
  const { client, person, app: { id, secret } } = await personWithApp(server)
  const codes = (await client.auth.mfa.recoveryCodes.generate()).data!.codes
  await forgetCodes(app)
  const { access } = await tokensOf(client)
  const verify = async (code: string) => {
    const challenge = await callAs(app, access, 'POST', `/auth/v1/factors/${id}/challenge`, {})
    const payload = { challenge_id: challenge.json<{ id: string }>().id, code }
    return (await callAs(app, access, 'POST', `/auth/v1/factors/${id}/verify`, payload)).statusCode
  }
  const times = <T> (n: number, work: () => Promise<T>) => Promise.all(Array.from({ length: n }, work))
  const same = await times(6, () => verify(codeOf(secret)))
  t.equal(same.filter((status) => status === 200).length, 1)
  await app.sql`delete from counters`
  const recovery = await times(6, async () => (
    await callAs(app, access, 'POST', '/auth/v1/factors/recovery-codes/verify', { code: codes[0]! })
  ).statusCode)
  t.equal(recovery.filter((status) => status === 200).length, 1)
  const half = (await tokensOf(await server.signedIn(person))).access
  const fromPassword = await times(6, async () => (
    await callAs(app, half, 'POST', '/auth/v1/factors/recovery-codes/verify', { code: codes[1]! })
  ).statusCode)
  t.equal(fromPassword.filter((status) => status === 200).length, 1)
  // The other requests get the error of a used code, an ended session or a void token.
  t.ok(fromPassword.every((status) => [200, 422, 403, 401].includes(status)), JSON.stringify(fromPassword))
  await app.sql`delete from counters`
  const guesses = await times(12, () => verify('000 00'))
  t.equal(guesses.filter((status) => status === 422).length, 5)
  t.equal(guesses.filter((status) => status === 429).length, 7)
})

const VOID = { status: 400, code: 'refresh_token_not_found' }

/** A session at `aal2`, with a client that loses responses. */
async function setting (server: Provider) {
  const { client, app: phone } = await personWithApp(server)
  const { access, refresh: first } = await tokensOf(client)
  return { phone, holder: { userId: claimsOf(access).sub, sessionId: claimsOf(access).session_id, access, first } }
}

/** Proves a factor again, and ignores the response, as if it were lost. */
async function proveAnew (app: FastifyInstance, access: string, { id, secret }: App): Promise<Outcome> {
  const url = `/auth/v1/factors/${id}`
  const challenge = await callAs(app, access, 'POST', `${url}/challenge`, {})
  await forgetCodes(app)
  const payload = { challenge_id: challenge.json<{ id: string }>().id, code: codeOf(secret) }
  return outcomeOf(await callAs(app, access, 'POST', `${url}/verify`, payload))
}

function tokenOf (outcome: Outcome): string {
  if ('code' in outcome) throw new Error(`${outcome.status} ${outcome.code}`)
  return outcome.refresh
}

const ended = ({ sql }: FastifyInstance, sessionId: string) => sql`
  select details from audit_log where object = ${`session:${sessionId}`} and action = 'sessioni_revocate'`

t.test('a client that lost the response to a further proof keeps its session', async (t) => {
  const { app } = usual
  const { phone, holder } = await setting(usual)
  const before = await refreshed(app, holder.first)
  await age(app, holder, 1200)
  await proveAnew(app, before.access, phone)
  for (let time = 0; time < 5; time++) t.same(await refresh(app, before.refresh), VOID)
  await age(app, holder, 1200)
  t.same(await refresh(app, before.refresh), VOID, 'the earlier token stays void')
  t.same(await ended(app, holder.sessionId), [])
  t.same(await sessionStatus(app, before.access), [200, 200], 'the session continues')
  const token = tokenOf(await proveAnew(app, before.access, phone))
  const next = await refreshed(app, token)
  t.equal((await refreshed(app, token)).refresh, next.refresh, 'a lost answer can be repeated')
})

t.test('after a concurrent refresh and proof the session has the tokens of the proof', async (t) => {
  const { app } = usual
  const { phone, holder } = await setting(usual)
  let { access, refresh: current } = await refreshed(app, holder.first)
  for (let round = 0; round < 6; round++) {
    await age(app, holder, 1200)
    const [proof, ...others] = await Promise.all([
      proveAnew(app, access, phone),
      ...Array.from({ length: 3 }, () => refresh(app, current))
    ])
    for (const each of others) if ('code' in each) t.same(each, VOID)
    const next = await refreshed(app, tokenOf(proof!));
    ({ access, refresh: current } = next)
  }
  t.ok(await counter(app, holder))
  t.same(await ended(app, holder.sessionId), [])
})

t.test('a change of second factors is effective on other servers when the response is sent', async (t) => {
  const [here, there] = await twoServers(t)
  const token = (await signIn(here.app, 'anna', 'operator')).access_token
  const other = (await signIn(there.app, 'anna', 'operator')).access_token
  const sessionStatus = async ({ app }: TestApp, who: string) =>
    (await app.inject({ url: '/api/v1/paesi', headers: bearer(who) })).statusCode
  for (const server of [here, there]) for (const each of [token, other]) t.equal(await sessionStatus(server, each), 200)

  const { id, totp } = (await callAs(here.app, token, 'POST', '/auth/v1/factors', { factor_type: 'totp' }))
    .json<{ id: string, totp: { secret: string } }>()
  const challenge = await callAs(there.app, token, 'POST', `/auth/v1/factors/${id}/challenge`, {})
  const payload = { challenge_id: challenge.json<{ id: string }>().id, code: codeOf(totp.secret) }
  const proven = (await callAs(here.app, token, 'POST', `/auth/v1/factors/${id}/verify`, payload))
    .json<{ access_token: string }>().access_token
  t.equal(await sessionStatus(there, other), 401, 'the other session has ended')
  t.equal(await sessionStatus(there, token), 401, 'the token from before the proof is void')
  t.equal(await sessionStatus(there, proven), 200)
  const later = (await signIn(there.app, 'anna', 'operator')).access_token
  t.equal(await sessionStatus(there, later), 403)
  t.equal(await sessionStatus(here, later), 403)
  t.equal((await callAs(here.app, proven, 'DELETE', `/auth/v1/factors/${id}`)).statusCode, 200)
  t.equal(await sessionStatus(there, later), 200, 'without a factor the password is enough again')
})
