import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { identities } from '#drizzle/tables/identity.ts'
import { build, type TestApp } from '#test/helper.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { compactText, ecdsa } from '#test/identity/guards/forge.ts'
import { bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { unwritable } from '#test/services/audit/samples.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { fakeProvider, json } from './fake-provider.ts'
import { PATIENT, startProvider } from './provider-server.ts'

const PIERO = { email: 'Piero@Example.org', password: 'una-frase-lunga-e-mia', name: 'Piero', surname: 'Neri' }

interface Listed { id: string, email: string, app_metadata: object, user_metadata: object, foto_url?: string }

t.test('the directory of an external provider', async (t) => {
  const idp = await startProvider(t)
  const first = await build(t, idp.environ, undefined, PATIENT)
  const admin = await idp.twin.token({ name: 'ada', role: 'admin' })
  const callAs = async (token: string, method: 'GET' | 'POST', url: string, payload?: object,
    { app }: TestApp = first) => (
    await app.inject({ method, url, headers: bearer(token), ...(payload === undefined ? {} : { payload }) }))
  const unlink = async (token: string, provider = 'google') => await callAs(token, 'POST', '/api/auth/unlink',
    { provider })
  const identitiesOf = async (token: string) =>
    (
      (await idp.admin('GET', `/admin/users/${claimsOf(token).sub}`)) as { identities: { provider: string }[] }
    ).identities.map(({ provider }) => provider)
  const link = async (token: string, provider = 'google', email = 'altra@example.org') => {
    const values = {
      user_id: claimsOf(token).sub,
      provider,
      provider_id: randomUUID(),
      identity_data: { sub: 'x', email, email_verified: true }
    }
    await idp.twin.app.db.insert(identities).values(values)
  }
  const auditOf = async (action: string) =>
    await first.app.sql`select actor, object, details from audit_log where action = ${action} order by id`

  t.test('an operator is created at the provider, signs in there and can use this server', async (t) => {
    const answer = await callAs(admin, 'POST', '/api/operators', PIERO)
    t.equal(answer.statusCode, 200)
    const created = answer.json()
    t.match(created, {
      email: 'piero@example.org',
      app_metadata: { role: 'operator' },
      user_metadata: { name: 'Piero', surname: 'Neri' },
      identities: [{ provider: 'email' }]
    })
    const { access_token: token } = await idp.signIn(PIERO.email, PIERO.password)
    t.equal((await callAs(token, 'GET', '/api/v1/paesi')).statusCode, 200)
    t.equal((await callAs(token, 'GET', '/api/operators')).statusCode, 403)
    t.same((await auditOf('utente_creato')).map(({ actor, details }) => ({ actor, details })), [
      { actor: `user:${claimsOf(admin).sub}`, details: { role: 'operator', phase: 'asked' } },
      { actor: `user:${claimsOf(admin).sub}`, details: { role: 'operator', phase: 'done', user: created.id } }
    ])
    t.match((await auditOf('utente_creato'))[0]!.object, /^account:[0-9a-f]{16}$/)
  })

  t.test('the URL of a profile picture is stored at the provider, and other metadata stay', async (t) => {
    const { app } = first
    const { id } = (await callAs(admin, 'POST', '/api/operators', { ...PIERO, email: 'foto@example.org' })).json()
    const set = async (userId: string) => await app.inject({
      method: 'POST',
      url: '/api/operators/pfp',
      headers: { ...bearer(admin), 'content-type': FORM_TYPE },
      payload: form([['userId', userId], ['file', await jpeg(), 'io.jpg']])
    })
    const answer = await set(id)
    t.equal(answer.statusCode, 200)
    const { user_metadata } = (await idp.admin('GET', `/admin/users/${id}`)) as { user_metadata: object }
    t.same(user_metadata, { name: 'Piero', surname: 'Neri', avatar_url: answer.json<{ url: string }>().url })
    t.ok(await app.files.find(app.db, 'avatars', `${id}.jpg`))
    t.match((await set(randomUUID())).json(), { status: 404, codice: 'UTENTE_NON_TROVATO' })
    t.same((await auditOf('immagine_profilo')).map(({ object, details }) => ({ object, details })),
      [{ object: `user:${id}`, details: { phase: 'asked' } }, { object: `user:${id}`, details: { phase: 'done' } }])
  })

  t.test('invalid or used addresses, weak passwords and non-administrators are refused', async (t) => {
    t.match((await callAs(admin, 'POST', '/api/operators', PIERO)).json(),
      { status: 409, codice: 'EMAIL_GIA_REGISTRATA' })
    t.match((await auditOf('utente_creato')).at(-1), { details: { phase: 'failed', codice: 'EMAIL_GIA_REGISTRATA' } })
    t.match(
      (await callAs(admin, 'POST', '/api/operators', { ...PIERO, email: 'x@example.org', password: 'corta' })).json(),
      { status: 400, dettagli: [{ campo: 'password' }] }
    )
    t.match((await callAs(admin, 'POST', '/api/operators', { ...PIERO, email: 'non un indirizzo' })).json(),
      { status: 400, dettagli: [{ campo: 'email' }] })
    const operator = await idp.twin.token({ name: 'olga' })
    t.equal((await callAs(operator, 'POST', '/api/operators', { ...PIERO, email: 'y@example.org' })).statusCode, 403)
    const service = await callAs(idp.serviceKey, 'POST', '/api/operators', { ...PIERO, email: 'z@example.org' })
    t.equal(service.statusCode, 200, 'the service key is an administrator')
  })

  t.test('no operator is created and no identity unlinked when the audit log cannot be written', async (t) => {
    const token = await idp.twin.token({ name: 'ugo' })
    await link(token)
    const writable = await unwritable(first.app.sql)
    for (const answer of [
      await callAs(admin, 'POST', '/api/operators', { ...PIERO, email: 'mai@example.org' }),
      await unlink(token)
    ]) {
      t.match(answer.json(), { status: 503, codice: 'REGISTRO_NON_DISPONIBILE' })
    }
    await writable()
    t.same(await identitiesOf(token), ['email', 'google'])
    t.notOk((await callAs(admin, 'GET',
      '/api/users')).json<Listed[]>().some(({ email }) => email === 'mai@example.org'))
  })

  t.test('one list has all users, and another one only operators and administrators', async (t) => {
    const waiting = await idp.twin.token({ name: 'attesa', role: 'pending' })
    const there = (await idp.admin('GET', '/admin/users?per_page=1000') as { users: Listed[] }).users
    const users = (await callAs(admin, 'GET', '/api/users')).json<Listed[]>()
    t.same(users.map(({ id }) => id), there.map(({ id }) => id))
    t.same(Object.keys(users[0]!).sort(), ['created_at', 'email', 'id', 'user_metadata'])
    const operators = (await callAs(admin, 'GET', '/api/operators')).json<Listed[]>()
    t.notOk(operators.some(({ id }) => id === claimsOf(waiting).sub))
    t.ok(operators.some(({ id }) => id === claimsOf(admin).sub))
    t.same(operators.map(({ foto_url, ...each }) => each),
      there.filter(({ app_metadata }) => /admin|operator/.test(JSON.stringify(app_metadata))))
    t.same(operators.filter(({ foto_url }) => foto_url !== undefined).map(({ email }) => email), ['foto@example.org'])
    const seen: string[] = []
    for (let url: string | undefined = '/api/users?limit=2'; url !== undefined;) {
      const page = await callAs(admin, 'GET', url)
      seen.push(...page.json<Listed[]>().map(({ id }) => id))
      url = /^<([^>]+)>/.exec(String(page.headers.link))?.[1]
    }
    t.same(seen.sort(), there.map(({ id }) => id).sort())
  })

  t.test('an identity is unlinked at the provider, but not the last one', async (t) => {
    const token = await idp.twin.token({ name: 'lia' })
    t.match((await unlink(token, 'email')).json(), { status: 409, codice: 'UNICA_IDENTITA' })
    await link(token)
    t.match((await unlink(token, 'github')).json(), { status: 404, codice: 'PROVIDER_NON_COLLEGATO' })
    t.same((await unlink(token)).json(), { success: true, message: 'Provider google scollegato', status: 200 })
    t.same(await identitiesOf(token), ['email'])
    t.match((await unlink(token)).json(), { status: 404, codice: 'PROVIDER_NON_COLLEGATO' })
    const object = `user:${claimsOf(token).sub}`
    t.same(
      (await auditOf('identita_scollegata')).filter((row) => row.object === object).map(({ details }) => details),
      [{ provider: 'google', phase: 'asked' }, { provider: 'google', phase: 'done' }]
    )
    await link(token)
    await Promise.all([unlink(token, 'google'), unlink(token, 'email')])
    t.equal((await identitiesOf(token)).length, 1, 'the second of two concurrent requests keeps the last one')
  })

  t.test('a person who has signed out at the provider cannot unlink an identity', async (t) => {
    const token = await idp.twin.token({ name: 'nina' })
    await link(token)
    t.equal((await callAs(token, 'GET', '/api/sessions')).statusCode, 200)
    await fetch(`${idp.url}/auth/v1/logout?scope=local`, { method: 'POST', headers: bearer(token) })
    t.match((await unlink(token)).json(), { status: 401 })
    t.equal((await callAs(token, 'GET', '/api/sessions')).statusCode, 401, 'the session has ended here, too')
    t.same(await identitiesOf(token), ['email', 'google'])
  })

  t.test('without the service key, administration responds with 503, and all other requests work', async (t) => {
    const bare = await build(t, { ...idp.environ, IDP_SERVICE_KEY: undefined }, undefined, PATIENT)
    for (const [method, url, body] of [
      ['POST', '/api/operators', PIERO], ['GET', '/api/operators', undefined], ['GET', '/api/users', undefined]
    ] as const) {
      t.match((await callAs(admin, method, url, body, bare)).json(),
        { status: 503, codice: 'AMMINISTRAZIONE_NON_DISPONIBILE' }, url)
    }
    t.equal((await callAs(admin, 'GET', '/api/sessions', undefined, bare)).json().length, 1)
    t.match((await callAs(admin, 'POST', '/api/auth/unlink', { provider: 'google' }, bare)).json(), { status: 404 })
    t.match((await callAs(admin, 'POST', '/api/sessions/revoke-all', {}, bare)).json(), { revoked: 1 })
  })
})

t.test('responses of other versions of the provider', async (t) => {
  const fake = await fakeProvider(t, json(404, {}))
  const environ = { IDP_URL: fake.url, IDP_ANON_KEY: 'anonima', IDP_SERVICE_KEY: 'di-servizio' }
  const { app } = await build(t, environ, undefined, PATIENT)
  const call = async (method: 'GET' | 'POST', url: string, payload?: object) => (
    await app.inject({ method, url, headers: bearer('di-servizio'), ...(payload === undefined ? {} : { payload }) }))
  const userOf = (n: number, more = {}) => ({
    id: randomUUID(), email: `u${n}@example.org`, created_at: '2026-11-21T10:30:00.123456+01:00', ...more
  })

  t.test('users without metadata, identities or dates are listed with their other fields', async (t) => {
    fake.answer(
      json(200, {
        users: [
          {
            ...userOf(1),
            email: null,
            app_metadata: null,
            user_metadata: null,
            identities: null,
            banned_until: '',
            factors: []
          },
          { id: 'x' },
          null,
          7
        ]
      })
    )
    const users = (await call('GET', '/api/users')).json<Listed[]>()
    t.match(users, [{ email: '', user_metadata: {}, created_at: '2026-11-21T09:30:00.123Z' }])
    t.equal(users.length, 1)
    fake.answer(
      json(200, {
        users: [
          userOf(1, { app_metadata: { role: 'operator' }, identities: [{ provider: 'google' }, null], new_email: '' })
        ]
      })
    )
    t.match((await call('GET', '/api/operators')).json(),
      [{ email: 'u1@example.org', aud: 'authenticated', phone: '', identities: [], is_anonymous: false }])
  })

  t.test('all pages of the list are read, even when the provider’s pages are smaller', async (t) => {
    const users = Array.from({ length: 2345 }, (_, n) => userOf(n))
    const paged = (size: number, headers: boolean) => fake.answer((request, response) => {
      const page = Number(new URL(request.url!, fake.url).searchParams.get('page'))
      json(
        200,
        { users: users.slice((page - 1) * size, page * size) },
        headers ? { 'x-total-count': String(users.length) } : {}
      )(request, response)
    })
    for (const [size, headers, pages] of [[1000, true, 3], [1000, false, 3], [100, true, 24]] as const) {
      paged(size, headers)
      fake.requests.length = 0
      t.equal((await call('GET', '/api/users')).json().length, 2345)
      t.equal(fake.requests.length, pages)
      t.equal(fake.requests[0]!.url, '/auth/v1/admin/users?page=1&per_page=1000')
      t.match(fake.requests[0]!.headers, { apikey: 'di-servizio', authorization: 'Bearer di-servizio' })
    }
  })

  t.test('a new operator is requested in the provider’s protocol, and a refusal names the field', async (t) => {
    const bodies: unknown[] = []
    const answering = (status: number, body: unknown) =>
      fake.answer((request, response) => {
        void request.toArray().then((chunks) => {
          bodies.push(JSON.parse(Buffer.concat(chunks).toString()))
          json(status, body)(request, response)
        })
      })
    const refusals: [number, object, object][] = [
      [422, { code: 422, error_code: 'email_exists', msg: 'x' }, { status: 409 }],
      [422, { code: 'user_already_exists', message: 'x' }, { status: 409 }],
      [422, { code: 422, error_code: 'weak_password', msg: 'x' }, { status: 400, dettagli: [{ campo: 'password' }] }],
      [
        400,
        { code: 400, error_code: 'validation_failed', msg: 'x' },
        { status: 400, dettagli: [{ campo: 'email' }] }
      ],
      [401, { message: 'No API key found in request' }, { status: 503, codice: 'PROVIDER_NON_RAGGIUNGIBILE' }],
      [403, { code: 403, error_code: 'not_admin' }, { status: 503 }],
      [404, {}, { status: 503 }],
      [200, { id: 'non un utente' }, { status: 503 }],
      [500, {}, { status: 503 }]
    ]
    for (const [status, body, expected] of refusals) {
      answering(status, body)
      t.match((await call('POST', '/api/operators', PIERO)).json(), expected, JSON.stringify(body))
    }
    t.same(bodies[0], {
      email: 'piero@example.org',
      password: PIERO.password,
      email_confirm: true,
      app_metadata: { role: 'operator' },
      user_metadata: { name: 'Piero', surname: 'Neri' }
    })
  })
})

const SOMEWHERE = '/api/v1/paesi'
const SECRET = 'CANARY-segreto-condiviso-di-almeno-32-byte'
const PASSWORD = 'CANARY-una-frase-lunga-e-mia'
const UNREACHABLE = { status: 503, codice: 'PROVIDER_NON_RAGGIUNGIBILE' }

t.test('an external provider that becomes unavailable and recovers', async (t) => {
  const idp = await startProvider(t)
  const environ = {
    ...idp.environ, IDP_JWT_SECRET: SECRET, MASTER_KEY: randomBytes(32).toString('base64'), LOG_LEVEL: 'trace'
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

  t.test('signed-in users keep their access if their tokens have a known key', async (t) => {
    t.equal(await status(anna), 200)
    t.equal(await status(await idp.twin.token({ name: 'carla' })), 200, 'a new one')
    t.equal((await call(bearer(anna), 'GET', '/api/sessions')).json().length, 1)
    t.equal((await call(key)).statusCode, 200, 'API keys of recently looked-up users work')
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

  t.test('a server without a key set responds with 503', async (t) => {
    const answer = await call(bearer(anna), 'GET', SOMEWHERE, undefined, second)
    t.match(answer.json(), UNREACHABLE)
    t.ok(Number(answer.headers['retry-after']) > 0)
    t.match((await call(key, 'GET', SOMEWHERE, undefined, second)).json(), UNREACHABLE)
    t.equal((await call({}, 'GET', '/api/config', undefined, second)).statusCode, 200)
    t.equal(await status('a.b.c', second), 401)
    t.equal(await status(idp.anonKey, second), 401)
  })

  t.test('a session first seen after all were revoked gets a 503 until the provider responds', async (t) => {
    t.match((await call(bearer(unseen))).json(), UNREACHABLE)
    t.equal(await status(gone), 401)
  })

  t.test('only the service key has administrator rights while the provider is unavailable', async (t) => {
    for (const headers of [bearer(anna), key]) {
      for (const url of ['/api/operators', '/api/users', '/api/v1/audit', '/api/v1/keys?tutte=true']) {
        t.match((await call(headers, 'GET', url)).json(), UNREACHABLE, url)
      }
      t.match((await call(headers, 'DELETE', '/api/v1/keys/0123456789abcdef')).json(), UNREACHABLE)
    }
    t.equal((await call(bearer(idp.serviceKey), 'GET', '/api/v1/audit')).statusCode, 200)
  })

  t.test('a change at the provider fails with a 503, and the audit log records it', async (t) => {
    t.match((await call(bearer(idp.serviceKey), 'GET', '/api/users')).json(), UNREACHABLE)
    t.match((await call(bearer(idp.serviceKey), 'POST', '/api/operators', operator)).json(), UNREACHABLE)
    t.match((await call(bearer(anna), 'POST', '/api/auth/unlink', { provider: 'google' })).json(), UNREACHABLE)
    t.match((await call(bearer(anna), 'POST', '/api/sessions/revoke-all')).json(), UNREACHABLE)
    t.equal(await status(anna), 200, 'the earlier session still works')
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

  t.test('everything works again when the provider responds again', async (t) => {
    await idp.start()
    t.equal((await call(bearer(anna), 'GET', '/api/operators')).statusCode, 200)
    t.equal((await call(bearer(idp.serviceKey), 'POST', '/api/operators', operator)).statusCode, 200)
    t.equal((await call(key, 'GET', '/api/users', undefined, second)).statusCode, 200)
    t.equal(await status(unseen), 401, 'the provider was asked, and this session has ended')
    t.match((await call(bearer(anna), 'POST', '/api/sessions/revoke-all')).json(), { revoked: 1 })
    t.equal(await status(anna), 401)
  })

  t.test('no secret, token, key, address or name is in the logs or in three tables', async (t) => {
    const tables = await Promise.all(
      ['audit_log', 'seen_sessions', 'api_keys'].map((table) => first.app.sql.unsafe(`select * from ${table}`))
    )
    t.ok(tables.every((rows) => rows.length > 0))
    const written = JSON.stringify([first.logs, second.logs, tables])
    for (const [name, secret] of Object.entries({
      apiKey: apiKey as string, anna, gone, unseen, service: idp.serviceKey, anon: idp.anonKey
    })) {
      t.notOk(written.includes(secret), name)
      t.notOk(written.includes(secret.slice(-30)), `the end of ${name}`)
    }
    t.notMatch(written, /CANARY|example\.org|Neri/i)
    t.ok(first.logs.some(({ operation, reason }) => operation === 'GET /user' && typeof reason === 'string'))
  })
})
