import type { InjectOptions } from 'fastify'
import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { gateTo } from './gate.ts'
import { held } from './held.ts'

const EMAIL = 'canarino.rossi@example.org'
const PASSWORD = 'canarino-una-frase-lunga'
const OTHER = 'canarino-un’altra-frase'
const NOBODY = '00000000-0000-4000-8000-000000000000'

t.test('neither the log at trace level nor the audit log has a secret or personal data', async (t) => {
  const { app, logs, sql, token } = await held(t, { LOG_LEVEL: 'trace' })
  const service = await token({ service: true })
  const secrets = new Set<string>([service, API_KEY])
  const seen = new Map<string, Set<number>>()

  async function call (
    method: InjectOptions['method'],
    url: string,
    { by, key, body }: { by?: string; key?: string; body?: object | string } = {}
  ) {
    const answer = await app.inject({
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
    seen.set(route, (seen.get(route) ?? new Set()).add(answer.statusCode))
    return answer
  }
  const grant = (type: string, body: object | string) =>
    call('POST', `/auth/v1/token?grant_type=${type}&email=${EMAIL}`, { body })
  const enter = async (password = PASSWORD) => {
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
    password: PASSWORD,
    email_confirm: true,
    user_metadata: { name: 'Canarino', surname: 'Rossi' },
    app_metadata: { role: 'operator' }
  }
  const { id } = (await call('POST', '/auth/v1/admin/users', { by: service, body: account })).json<{ id: string }>()
  await call('POST', '/auth/v1/admin/users', { by: service, body: account })
  await call('POST', '/auth/v1/admin/users', { by: service, body: { ...account, email: `${EMAIL}\0` } })
  await call('POST', '/auth/v1/admin/users', {
    by: service,
    body: { ...account, email: `x${EMAIL}`, password_hash: PASSWORD }
  })
  await call('POST', '/api/operators', {
    by: service,
    body: { email: EMAIL, password: PASSWORD, name: 'Canarino', surname: 'Rossi' }
  })
  await call('POST', '/api/operators', {
    by: service,
    body: { email: EMAIL, password: 'canarino', name: 'Canarino', surname: 7 }
  })

  const { access_token: access, refresh_token } = await enter()
  await grant('password', { email: EMAIL, password: OTHER })
  await grant('password', { email: `nessuno-${EMAIL}`, password: PASSWORD })
  await grant('password', { email: `${EMAIL}\0`, password: PASSWORD })
  await grant('password', `{"email":"${EMAIL}","password":"${PASSWORD}`)
  await grant('password', { email: EMAIL, password: [PASSWORD] })
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

  // The database breaks under what is still open.
  await app.sql`alter table users rename to users_gone`
  await grant('password', { email: EMAIL, password: PASSWORD })
  await call('POST', '/auth/v1/admin/users', { by: service, body: account })
  await call('GET', `/auth/v1/admin/users?filter=${EMAIL}`, { by: service })

  t.ok([...seen.values()].some((statuses) => statuses.has(500)), 'it broke')
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
        method, url, ...(by ? { headers: bearer(by) } : {}), ...(payload ? { payload } : {})
      })
      t.match([answer.statusCode, answer.json(), answer.headers],
        [503, { code: 503, error_code: 'unexpected_failure' }, { 'retry-after': '5' }], `${method} ${url}`)
    }
  })

  t.test('the log has no error of this server', async (t) => {
    t.same(logs.filter(({ msg, level }) => msg === 'request failed' && Number(level) >= 50), [])
  })
})
