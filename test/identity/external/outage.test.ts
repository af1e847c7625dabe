import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { build, type TestApp } from '#test/helper.ts'
import { compactText, ecdsa } from '#test/identity/guards/forge.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const SOMEWHERE = '/api/v1/paesi'
const SECRET = 'CANARY-segreto-condiviso-di-almeno-32-byte'
const PASSWORD = 'CANARY-una-frase-lunga-e-mia'
const UNREACHABLE = { status: 503, codice: 'PROVIDER_NON_RAGGIUNGIBILE' }

t.test('an external provider that goes away and comes back', async (t) => {
  const idp = await startProvider(t)
  const environ = {
    ...idp.environ,
    IDP_JWT_SECRET: SECRET,
    MASTER_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'trace'
  }
  const first = await build(t, environ, undefined, PATIENT)
  const call = async (
    headers: Record<string, string>,
    method: 'GET' | 'POST' | 'DELETE' = 'GET',
    url = SOMEWHERE,
    payload?: object,
    { app }: TestApp = first
  ) => {
    const answer = await app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) })
    t.not(answer.statusCode, 500, `${method} ${url}`)
    t.notMatch(answer.body, /CANARY|apikey|Bearer/)
    return answer
  }
  const status = async (token: string, at = first) =>
    (await call(bearer(token), 'GET', SOMEWHERE, undefined, at)).statusCode
  const operator = { email: 'CANARY@example.org', password: PASSWORD, name: 'Piero', surname: 'Neri' }

  const anna = await idp.twin.token({ name: 'anna', role: 'admin' })
  const gone = await idp.twin.token({ name: 'bruno' })
  const unseen = await idp.twin.token({ name: 'bruno' })
  const { apiKey } = (await first.app.inject({ url: '/api/cli/auth/key', headers: bearer(anna) })).json()
  const key = { 'x-api-key': String(apiKey) }
  t.equal(await status(anna), 200)
  t.equal((await call(key)).statusCode, 200)
  t.match((await call(bearer(gone), 'POST', '/api/sessions/revoke-all')).json(), { revoked: 1 })

  await idp.stop()
  const second = await build(t, { ...environ, DATABASE_URL: first.url }, undefined, PATIENT)

  t.test('people who have signed in go on, with tokens of known keys', async (t) => {
    t.equal(await status(anna), 200)
    t.equal(await status(await idp.twin.token({ name: 'carla' })), 200, 'a new one')
    t.equal((await call(bearer(anna), 'GET', '/api/sessions')).json().length, 1)
    t.equal((await call(key)).statusCode, 200, 'and with keys of whom was asked a moment ago')
    t.same((await call({}, 'GET', '/api/config')).json(), { backendUrl: idp.url, backendKey: idp.anonKey })
    t.equal((await call(bearer(anna), 'GET', '/api/v1/keys')).statusCode, 200)
  })

  t.test('a token of an unknown key is refused', async (t) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const signed = compactText(
      JSON.stringify({ alg: 'ES256', kid: randomUUID() }),
      JSON.stringify(claimsOf(anna)),
      ecdsa(pem)
    )
    t.same([await status(signed), await status(anna)], [401, 200])
  })

  t.test('a server that has no key set answers 503', async (t) => {
    const answer = await call(bearer(anna), 'GET', SOMEWHERE, undefined, second)
    t.match(answer.json(), UNREACHABLE)
    t.ok(Number(answer.headers['retry-after']) > 0)
    t.match((await call(key, 'GET', SOMEWHERE, undefined, second)).json(), UNREACHABLE)
    t.equal((await call({}, 'GET', '/api/config', undefined, second)).statusCode, 200)
    t.equal(await status('a.b.c', second), 401)
    t.equal(await status(idp.anonKey, second), 401)
  })

  t.test('a session first seen after a revoke-all is answered 503 until the provider can be asked', async (t) => {
    t.match((await call(bearer(unseen))).json(), UNREACHABLE)
    t.equal(await status(gone), 401)
  })

  t.test('only the service key administers while the provider cannot be asked', async (t) => {
    for (const headers of [bearer(anna), key]) {
      for (const url of ['/api/operators', '/api/users', '/api/v1/audit', '/api/v1/keys?tutte=true']) {
        t.match((await call(headers, 'GET', url)).json(), UNREACHABLE, url)
      }
      t.match((await call(headers, 'DELETE', '/api/v1/keys/0123456789abcdef')).json(), UNREACHABLE)
    }
    t.equal((await call(bearer(idp.serviceKey), 'GET', '/api/v1/audit')).statusCode, 200)
  })

  t.test('a change at the provider fails with a 503, and the audit log says so', async (t) => {
    t.match((await call(bearer(idp.serviceKey), 'GET', '/api/users')).json(), UNREACHABLE)
    t.match((await call(bearer(idp.serviceKey), 'POST', '/api/operators', operator)).json(), UNREACHABLE)
    t.match((await call(bearer(anna), 'POST', '/api/auth/unlink', { provider: 'google' })).json(), UNREACHABLE)
    t.match((await call(bearer(anna), 'POST', '/api/sessions/revoke-all')).json(), UNREACHABLE)
    t.equal(await status(anna), 200, 'signed in as before')
    const { data } = (await call(bearer(idp.serviceKey), 'GET', '/api/v1/audit?limit=4')).json()
    t.match(data, [
      {
        action: 'sessioni_revocate',
        object: `user:${claimsOf(anna).sub}`,
        details: { phase: 'failed', codice: 'PROVIDER_NON_RAGGIUNGIBILE' }
      },
      { action: 'sessioni_revocate', details: { phase: 'asked' } },
      { action: 'utente_creato', details: { phase: 'failed', codice: 'PROVIDER_NON_RAGGIUNGIBILE' } },
      { action: 'utente_creato', details: { phase: 'asked' } }
    ])
  })

  t.test('everything works again when the provider is back', async (t) => {
    await idp.start()
    t.equal((await call(bearer(anna), 'GET', '/api/operators')).statusCode, 200)
    t.equal((await call(bearer(idp.serviceKey), 'POST', '/api/operators', operator)).statusCode, 200)
    t.equal((await call(key, 'GET', '/api/users', undefined, second)).statusCode, 200)
    t.equal(await status(unseen), 401, 'it was asked, and this one is over')
    t.match((await call(bearer(anna), 'POST', '/api/sessions/revoke-all')).json(), { revoked: 1 })
    t.equal(await status(anna), 401)
  })

  t.test('no secret, token, key, address or name is in a log or a table', async (t) => {
    const tables = await Promise.all(
      ['audit_log', 'seen_sessions', 'api_keys'].map((table) => first.app.sql.unsafe(`select * from ${table}`))
    )
    t.ok(tables.every((rows) => rows.length > 0))
    const written = JSON.stringify([first.logs, second.logs, tables])
    for (const [name, secret] of Object.entries({
      apiKey: apiKey as string,
      anna,
      gone,
      unseen,
      service: idp.serviceKey,
      anon: idp.anonKey
    })) {
      t.notOk(written.includes(secret), name)
      t.notOk(written.includes(secret.slice(-30)), `the end of ${name}`)
    }
    t.notMatch(written, /CANARY|example\.org|Neri/i)
    t.ok(first.logs.some(({ operazione, motivo }) => operazione === 'GET /user' && typeof motivo === 'string'))
  })
})
