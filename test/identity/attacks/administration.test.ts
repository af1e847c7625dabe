import type { FastifyInstance, InjectOptions } from 'fastify'
import t from 'tap'
import { readConfig } from '#src/config/config.ts'
import { profileOf } from '#src/identity/oauth/profile.ts'
import { isEmail } from '#src/identity/people/email.ts'
import { firstAdministrator } from '#src/identity/people/first-admin.ts'
import { issueToken } from '#src/identity/sign-in/one-time-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { API_KEY, signIn } from '#test/helper.ts'
import { site } from '#test/identity/mail/mailbox.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { appWithLocks, PASSWORD } from './lock-waits.ts'

const MASTER_KEY = Buffer.alloc(32, 7)
const server = await appWithLocks(t, { MASTER_KEY: MASTER_KEY.toString('base64') })

t.test('a change of a user by an administrator', async (t) => {
  const { app, token, person, signIn, sql } = server
  const service = await token({ service: true })
  const put = (id: string, body: object) => callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, body)
  const keys = createKeys(MASTER_KEY)
  const mail = async (id: string, email: string) =>
    await app.db.transaction((tx) => issueToken(tx, keys, { user_id: id, kind: 'recovery', sent_to: email }))
  const verify = (token_hash: string) =>
    app.inject({ method: 'POST', url: '/auth/v1/verify', payload: { type: 'recovery', token_hash } })

  t.test('a soft deletion removes address and keys, and the address can be used again', async (t) => {
    const id = await person('bruno@example.org', { user_metadata: { name: 'Bruno' } })
    const { access_token } = (await signIn('bruno@example.org')).json<{ access_token: string }>()
    const { apiKey, id: keyId } = (await callAs(app, access_token, 'GET', '/api/cli/auth/key')).json<{
      apiKey: string
      id: string
    }>()
    const { link } = await mail(id, 'bruno@example.org')
    t.equal((await callAs(app, service, 'DELETE', `/auth/v1/admin/users/${id}`,
      { should_soft_delete: true })).statusCode,
    200)
    t.equal(await isLetIn(app, { 'x-api-key': apiKey }), 401)
    const left = await sql`
      select coalesce((select string_agg(x::text, '') from users x), '')
        || coalesce((select string_agg(x::text, '') from identities x), '')
        || coalesce((select string_agg(x::text, '') from one_time_tokens x), '')
        || coalesce((select string_agg(x::text, '') from sessions x), '') as text`
    t.notMatch(left[0]!.text, /bruno/i)
    t.equal((await verify(link)).statusCode, 403)
    t.match(await sql`select revoked_at from api_keys where id = ${keyId}`, [{ revoked_at: String }])
    const again = await person('bruno@example.org')
    t.not(again, id)
    t.equal((await signIn('bruno@example.org')).statusCode, 200)
    t.equal(await isLetIn(app, { 'x-api-key': apiKey }), 401)
    t.equal((await put(id, { user_metadata: {} })).statusCode, 404, 'the deleted user is not found')
  })

  t.test('a user can be created with a ban, and the length of a ban is a Go duration', async (t) => {
    const id = await person('dario@example.org', { ban_duration: '1h' })
    t.match((await signIn('dario@example.org')).json(), { error_code: 'user_banned' })
    const until = async () => Date.parse(
      (await callAs(app, service, 'GET', `/auth/v1/admin/users/${id}`)).json<{ banned_until: string }>().banned_until
    )
    const DURATIONS: [string, number][] = [
      ['24h', 86_400], ['1h30m', 5400], ['1.5h', 5400], ['90m', 5400], ['1h1m1s', 3661], ['500ms', 0.5],
      ['876000h', 3_153_600_000], ['999999999h', 200 * 365 * 86_400], ['1s1s', 2]
    ]
    for (const [text, seconds] of DURATIONS) {
      const before = Date.now()
      t.equal((await put(id, { ban_duration: text })).statusCode, 200, text)
      const after = Date.now()
      const start = await until() - seconds * 1000
      t.ok(start >= before - 1000 && start <= after + 1000, text)
    }
    for (const text of [
      '', 'NONE', '1', '-1h', '1d', '1 h', 'h', '1h ', '١h', '1e3h', 'Infinity', `${'9'.repeat(20)}h`
    ]) {
      t.match((await put(id, { ban_duration: text })).json(), { error_code: 'validation_failed' }, text)
    }
    t.equal((await put(id, { ban_duration: 'none' })).statusCode, 200)
    t.equal((await signIn('dario@example.org')).statusCode, 200)
  })

  t.test('an address is equal in upper and lower case, and an invalid address is refused', async (t) => {
    const id = await person('Rosa@example.org')
    t.match(await sql`select email from users where id = ${id}`, [{ email: 'rosa@example.org' }])
    t.equal(
      (
        await callAs(app, service, 'POST', '/auth/v1/admin/users', { email: ' ROSA@EXAMPLE.ORG ', password: PASSWORD })
      ).json<{ error_code: string }>().error_code,
      'email_exists'
    )
    for (const email of [
      'elena', 'elena@', '@example.org', 'elena@example.org.', 'elena@exa mple.org', 'elena@example.org\0',
      'elena\n@example.org', 'elena@@example.org', '"elena"@example.org', 'a@b@c', 'elena@-example.org',
      `${'e'.repeat(250)}@x.it`, 'elena@example.org,bruno@example.org', 'elena@example.org\ud800'
    ]) {
      t.match((await callAs(app, service, 'POST', '/auth/v1/admin/users', { email, password: PASSWORD })).json(),
        { error_code: 'validation_failed' }, JSON.stringify(email).slice(0, 60))
    }
    const twins = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        callAs(app, service, 'POST', '/auth/v1/admin/users', {
          email: n % 2 ? 'FABIO@example.org' : 'fabio@example.org',
          password: PASSWORD
        })
      )
    )
    t.same(twins.map(({ statusCode }) => statusCode).sort(), [200, 422, 422, 422, 422, 422])
  })

  t.test('the audit log names the known fields of each change, and no unknown field', async (t) => {
    const id = await person('hans@example.org')
    const body = {
      user_metadata: { name: 'Hans' },
      'hans@example.org': 1,
      '\0': 1,
      constructor: 1,
      hasOwnProperty: 1,
      ['x'.repeat(5000)]: 1,
      email_confirm: true
    }
    t.equal((await put(id, body)).statusCode, 200)
    t.match(
      await sql`
        select actor, object, details from audit_log
        where action = 'utente_modificato' order by id desc limit 1`,
      [{ actor: 'service', object: `user:${id}`, details: { fields: ['email_confirm', 'user_metadata'] } }]
    )
    const until = (await put(id, { app_metadata: { role: 'operator', roles: ['admin'] }, ban_duration: '1h' })).json<{
      banned_until: string
    }>().banned_until
    await put(id, { ban_duration: 'none' })
    t.strictSame(
      (await sql`select details from audit_log where action = 'utente_modificato' order by id desc limit 2`).map(
        ({ details }) => details
      ),
      [
        { fields: ['ban_duration'], banned_until: null },
        { fields: ['app_metadata', 'ban_duration'], role: 'operator admin', banned_until: until }
      ],
      'with the new values of rights'
    )
  })
})

/** Names of rights, in this or in other products. */
const RIGHTS: Readonly<Record<string, unknown>> = {
  role: 'admin',
  roles: ['admin'],
  admin: true,
  is_admin: true,
  is_super_admin: true,
  aud: 'admin',
  app_metadata: { role: 'admin' },
  raw_app_meta_data: { role: 'admin' },
  claims: { role: 'service_role' },
  id: '00000000-0000-4000-8000-000000000000',
  user_id: 'x',
  banned_until: null,
  email_confirmed_at: '2026-01-01',
  session_id: 'x',
  toJSON: 'x',
  hasOwnProperty: 1,
  valueOf: null,
  length: -1,
  then: {}
}
const POISON = [
  '{"data":{"__proto__":{"role":"admin"}}}', '{"__proto__":{"admin":true}}',
  '{"data":{"constructor":{"prototype":{"role":"admin"}}}}', '{"data":{"a":[{"__proto__":{"admin":true}}]}}'
]

async function rights (app: FastifyInstance, token: string) {
  const [users, list, user] = await Promise.all(
    ['/api/users', '/auth/v1/admin/users', '/auth/v1/user'].map((url) => app.inject({ url, headers: bearer(token) }))
  )
  return [
    users!.statusCode,
    list!.statusCode,
    user!.json<{ app_metadata: object; role: string }>().app_metadata,
    await isLetIn(app, bearer(token))
  ]
}

t.test('a field that users write about themselves never gives a right', async (t) => {
  const { app } = server
  for (const [role, letIn] of [['operator', 200], ['pending', 403]] as const) {
    const { access_token, user } = await signIn(app, role, role)
    const put = (body: object) => callAs(app, access_token, 'PUT', '/auth/v1/user', body)
    const before = [403, 403, user.app_metadata, letIn]
    const { app_metadata: _app, ...rest } = RIGHTS
    const bodies = [
      { data: RIGHTS }, { data: { deeper: { data: RIGHTS } } }, rest, { user_metadata: RIGHTS },
      { data: { app_metadata: RIGHTS, user: { app_metadata: RIGHTS } } }
    ]
    for (const body of bodies) t.equal((await put(body)).statusCode, 200)
    for (const body of [RIGHTS, { app_metadata: {} }, { data: {}, app_metadata: { role: 'operator' } }]) {
      t.match((await put(body)).json(), { error_code: 'not_admin' })
    }
    for (const payload of POISON) {
      const response = await app.inject({
        method: 'PUT',
        url: '/auth/v1/user',
        headers: { ...bearer(access_token), 'content-type': 'application/json' },
        payload
      })
      t.match([response.statusCode, response.json()], [400, { error_code: 'bad_json' }])
    }
    t.same(await rights(app, access_token), before)
    const { access_token: next } = await signIn(app, role, role)
    t.same(await rights(app, next), before, 'the next sign-in gives no more rights')
    t.match(claimsOf(next),
      { role: 'authenticated', aud: 'authenticated', sub: user.id, app_metadata: user.app_metadata })
    const minted = await callAs(app, next, 'GET', '/api/cli/auth/key?scopes=lettura,amministrazione')
    t.equal(minted.statusCode, letIn, 'a pending user creates no key')
    if (letIn !== 200) continue
    const headers = { 'x-api-key': minted.json<{ apiKey: string }>().apiKey }
    t.equal((await app.inject({ url: '/api/users', headers })).statusCode, 403, 'a key gives no more rights')
  }
  t.same(
    Object.keys({}).concat(
      Object.getOwnPropertyNames(Object.prototype).filter((name) => ['admin', 'role'].includes(name))
    ),
    []
  )
})

/** Each address looks like `kate@example.org`, or becomes it in lower case, composed or compatibility form. */
const FOREIGN = [
  '\u212Aate@example.org', // Kelvin sign
  'k\uff41te@example.org', // full-width a
  'kate@ex\uff41mple.org',
  'kate\uff20example.org',
  'kate@example.org\u00a0',
  '\ufeffkate@example.org',
  'kat\u0435@example.org', // Cyrillic
  'ka\u200bte@example.org',
  'kate@\u0131example.org', // dotless i
  'stra\u00dfe@example.org'
]

t.test('an address that is not plain ASCII is refused by every endpoint', async (t) => {
  const place = await site(t)
  const { app, person, smtp, token } = place
  const id = await person('kate@example.org')
  const service = { authorization: `Bearer ${await token({ service: true })}` }
  const own = { authorization: `Bearer ${await token({ name: 'anna' })}` }
  const ways: [method: 'POST' | 'PUT', url: string, (email: string) => object, headers?: Record<string, string>][] = [
    ['POST', '/auth/v1/signup', (email) => ({ email, password: PASSWORD })],
    ['POST', '/auth/v1/recover', (email) => ({ email })],
    ['POST', '/auth/v1/otp', (email) => ({ email })],
    ['POST', '/auth/v1/resend', (email) => ({ email, type: 'signup' })],
    ['POST', '/auth/v1/verify', (email) => ({ email, type: 'signup', token: '000000' })],
    ['POST', '/auth/v1/token?grant_type=password', (email) => ({ email, password: PASSWORD })],
    ['PUT', '/auth/v1/user', (email) => ({ email }), own],
    ['POST', '/auth/v1/invite', (email) => ({ email }), service],
    ['POST', '/auth/v1/admin/generate_link', (email) => ({ type: 'recovery', email }), service],
    ['POST', '/auth/v1/admin/users', (email) => ({ email, password: PASSWORD }), service],
    ['PUT', `/auth/v1/admin/users/${id}`, (email) => ({ email }), service],
    ['POST', '/api/operators', (email) => ({ email, password: PASSWORD, name: 'K', surname: 'K' }), service]
  ]
  for (const email of FOREIGN) {
    t.equal(isEmail(email), false)
    for (const [method, url, body, headers] of ways) {
      const response = await app.inject({ method, url, payload: body(email), headers })
      t.ok([400, 422].includes(response.statusCode), `${method} ${url}: ${response.statusCode} ${response.body}`)
    }
    const { email: taken, emailVerified } = profileOf({
      issuer: 'x', subject: '1', email, emailVerified: true, name: '', userName: '', picture: ''
    })
    t.same([taken, emailVerified], [undefined, false])
  }
  t.same(smtp.mails, [])
  t.same([...await app.sql`select email from users order by email`],
    [{ email: 'anna@example.org' }, { email: 'kate@example.org' }])
  await app.sql`delete from users`
  const config = readConfig({ DATA_DIR: place.dataDir, ADMIN_EMAIL: FOREIGN[0], ADMIN_PASSWORD: PASSWORD })
  await t.rejects(firstAdministrator(app, config), /ADMIN_EMAIL/)
})

const EMAIL = 'canarino.rossi@example.org'
const OWN_PASSWORD = 'canarino-una-frase-lunga'
const OTHER = 'canarino-un’altra-frase'
const NOBODY = '00000000-0000-4000-8000-000000000000'

t.test('neither the log at trace level nor the audit log contains a secret or personal data', async (t) => {
  const { app, logs, sql, token } = await appWithLocks(t, { LOG_LEVEL: 'trace' })
  const service = await token({ service: true })
  const secrets = new Set<string>([service, API_KEY])
  const seen = new Map<string, Set<number>>()

  async function call (
    method: InjectOptions['method'],
    url: string,
    { by, key, body }: { by?: string; key?: string; body?: object | string } = {}
  ) {
    const response = await app.inject({
      method,
      url,
      headers: {
        'user-agent': 'canarino-browser',
        ...(by === undefined ? {} : bearer(by)),
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {})
      },
      ...(body === undefined ? {} : { payload: body })
    })
    const route = `${method} ${url.split('?')[0]}`
    seen.set(route, (seen.get(route) ?? new Set()).add(response.statusCode))
    return response
  }
  const grant = (type: string, body: object | string) =>
    call('POST', `/auth/v1/token?grant_type=${type}&email=${EMAIL}`, { body })
  const enter = async (password = OWN_PASSWORD) => {
    const session = (await grant('password', { email: EMAIL, password })).json<{
      access_token: string
      refresh_token: string
    }>()
    secrets.add(session.access_token).add(session.refresh_token)
    for (const part of [session.access_token.split('.')[2]!, session.refresh_token.slice(24)]) secrets.add(part)
    return session
  }

  const account = {
    email: EMAIL,
    password: OWN_PASSWORD,
    email_confirm: true,
    user_metadata: { name: 'Canarino', surname: 'Rossi' },
    app_metadata: { role: 'operator' }
  }
  const { id } = (await call('POST', '/auth/v1/admin/users', { by: service, body: account })).json<{ id: string }>()
  await call('POST', '/auth/v1/admin/users', { by: service, body: account })
  await call('POST', '/auth/v1/admin/users', { by: service, body: { ...account, email: `${EMAIL}\0` } })
  await call('POST', '/auth/v1/admin/users', {
    by: service,
    body: { ...account, email: `x${EMAIL}`, password_hash: OWN_PASSWORD }
  })
  await call('POST', '/api/operators', {
    by: service,
    body: { email: EMAIL, password: OWN_PASSWORD, name: 'Canarino', surname: 'Rossi' }
  })
  await call('POST', '/api/operators', {
    by: service,
    body: { email: EMAIL, password: 'canarino', name: 'Canarino', surname: 7 }
  })

  const { access_token: access, refresh_token } = await enter()
  await grant('password', { email: EMAIL, password: OTHER })
  await grant('password', { email: `nessuno-${EMAIL}`, password: OWN_PASSWORD })
  await grant('password', { email: `${EMAIL}\0`, password: OWN_PASSWORD })
  await grant('password', `{"email":"${EMAIL}","password":"${OWN_PASSWORD}`)
  await grant('password', { email: EMAIL, password: [OWN_PASSWORD] })
  await grant('refresh_token', { refresh_token })
  await grant('refresh_token', { refresh_token: `${refresh_token}x` })
  await grant('pkce', { auth_code: refresh_token, code_verifier: refresh_token })

  const minted = (await call('GET', '/api/cli/auth/key?name=canarino', { by: access })).json<{
    apiKey: string
    id: string
  }>()
  secrets.add(minted.apiKey).add(minted.apiKey.split('_')[2]!)
  for (const url of [
    '/auth/v1/user', '/api/sessions', '/api/v1/keys', '/api/users', `/auth/v1/admin/users?filter=${EMAIL}`,
    `/auth/v1/admin/users/${id}`, '/auth/v1/admin/users/canarino'
  ]) {
    for (const who of [
      { by: access }, { by: `${access}x` }, { by: service }, { key: minted.apiKey }, { key: `${minted.apiKey}x` },
      { key: API_KEY }, {}
    ]) { await call('GET', url, who) }
    await call('GET', `${url}${url.includes('?') ? '&' : '?'}api_key=${minted.apiKey}`)
  }
  await call('PUT', '/auth/v1/user', { by: access, body: { data: { name: 'Canarino', note: 'x'.repeat(9000) } } })
  await call('PUT', '/auth/v1/user', { by: access, body: { data: { name: 'Canarino\0' }, password: OTHER } })
  await call('PUT', '/auth/v1/user', { by: access, body: { email: `nuovo-${EMAIL}` } })
  await call('PUT', '/auth/v1/user', { by: access, body: { password: OTHER, current_password: OTHER } })
  await call('PUT', '/auth/v1/user', { by: access, body: { password: OTHER, nonce: '123456' } })
  await call('PUT', '/auth/v1/user', { by: access, body: { password: OTHER, data: { name: 'Canarina' } } })
  await call('DELETE', `/auth/v1/user/identities/${NOBODY}`, { by: access })
  await call('POST', '/api/auth/unlink', { by: access, body: { provider: 'canarino' } })
  await call('DELETE', `/api/v1/keys/${minted.id}`, { by: access })
  await call('POST', '/auth/v1/logout?scope=canarino', { by: access })
  await call('POST', '/auth/v1/logout?scope=others', { by: access })
  await call('POST', '/api/sessions/revoke-all', { by: access })
  await call('POST', '/auth/v1/logout', { by: access })
  for (const body of [
    { ban_duration: 'canarino' },
    { email: `altro-${EMAIL}`, password: OTHER, canarino: EMAIL, [EMAIL]: 1 },
    { ban_duration: '1h' }
  ]) { await call('PUT', `/auth/v1/admin/users/${id}`, { by: service, body }) }
  await grant('password', { email: `altro-${EMAIL}`, password: OTHER })
  await call('DELETE', `/auth/v1/admin/users/${id}`, { by: service })
  await call('DELETE', `/auth/v1/admin/users/${id}`, { by: service })

  // The database fails while requests are still running.
  await app.sql`alter table users rename to users_gone`
  await grant('password', { email: EMAIL, password: OWN_PASSWORD })
  await call('POST', '/auth/v1/admin/users', { by: service, body: account })
  await call('GET', `/auth/v1/admin/users?filter=${EMAIL}`, { by: service })

  t.ok([...seen.values()].some((statuses) => statuses.has(500)), 'the requests failed')
  t.ok(seen.size > 18, [...seen].map(([route, statuses]) => `${route} ${[...statuses].join()}`).join('; '))
  const audit = await sql`select row_to_json(a)::text as row from audit_log a order by id`
  for (const [name, text] of [
    ['log', JSON.stringify(logs)],
    ['audit log', audit.map(({ row }) => String(row)).join('\n')]
  ] as const) {
    t.notMatch(text, /canarin/i, `${name}: a person`)
    for (const secret of secrets) t.notOk(text.includes(secret), `${name}: a secret`)
  }
  const actions = [...new Set((await sql`select action from audit_log`).map(({ action }) => String(action)))].sort()
  t.same(actions, [
    'accesso', 'accesso_fallito', 'chiave_creata', 'chiave_revocata', 'password_cambiata', 'sessioni_revocate',
    'uscita', 'utente_creato', 'utente_eliminato', 'utente_modificato'
  ])
})
