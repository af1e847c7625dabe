import t, { type Test } from 'tap'
import type { AuthUser } from '#schemas/auth/user.ts'
import { bearer } from '#test/identity/requests.ts'
import { PASSWORD, provider, tokensOf } from './client.ts'

const ORIGIN = 'https://app.example'
const VERSION = '2024-01-01'
const NOBODY = '00000000-0000-4000-8000-000000000000'

const { app, url, token, person, signedIn } = await provider(t, {
  SIGNUP_ENABLED: 'true', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'posta@locanda.example', CORS_ORIGINS: ORIGIN
})
const anna = await person()
const [mine, ended, banned] = [await signedIn(anna), await signedIn(await person()), await person()]
const { access } = await tokensOf(mine)
const { access: past } = await tokensOf(ended)
await ended.auth.signOut()
const { access: shut } = await tokensOf(await signedIn(banned))
const service = await token({ service: true })
await app.inject({
  method: 'PUT', url: `/auth/v1/admin/users/${banned.id}`, headers: bearer(service), payload: { ban_duration: '1h' }
})

interface Asked {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  by?: string
  body?: object | string
  type?: string
}

async function ask (
  { method = 'GET', path, by, body, type = 'application/json' }: Asked,
  headers: Record<string, string> = {}
) {
  return await app.inject({
    method,
    url: `/auth/v1${path}`,
    headers: {
      ...(by === undefined ? {} : bearer(by)), ...(body === undefined ? {} : { 'content-type': type }), ...headers
    },
    payload: body
  })
}

const password = (body: object | string): Asked => ({ method: 'POST', path: '/token?grant_type=password', body })
const grant = (query: string): Asked => ({
  method: 'POST', path: `/token${query}`, body: { email: anna.email, password: PASSWORD }
})
const refresh = (refresh_token?: string): Asked => ({
  method: 'POST', path: '/token?grant_type=refresh_token', body: { refresh_token }
})

const CASES: [name: string, asked: Asked, status: number, code: string][] = [
  ['a wrong password', password({ email: anna.email, password: 'sbagliata' }), 400, 'invalid_credentials'],
  ['no address', password({ password: PASSWORD }), 400, 'validation_failed'],
  ['an empty address', password({ email: '', password: PASSWORD }), 400, 'validation_failed'],
  ['an address that is a number', password({ email: 7, password: PASSWORD }), 400, 'invalid_credentials'],
  ['a password that is an object', password({ email: anna.email, password: { $ne: '' } }), 400, 'validation_failed'],
  ['a password of 5 KiB', password({ email: anna.email, password: 'x'.repeat(5120) }), 400, 'validation_failed'],
  ['a list for a body', password([anna]), 400, 'validation_failed'],
  ['half of a body', password('{"email":"anna@exam'), 400, 'bad_json'],
  ['a body that poisons prototypes', password(`{"__proto__":{"admin":true},"email":"${anna.email}"}`), 400, 'bad_json'],
  [
    'a form',
    { ...password(`email=${anna.email}`), type: 'application/x-www-form-urlencoded' },
    415,
    'validation_failed'
  ],
  ['a body of 2 MiB', password({ email: anna.email, junk: 'x'.repeat(2 ** 21) }), 413, 'validation_failed'],
  ['no grant', grant(''), 400, 'invalid_credentials'],
  ['an empty grant', grant('?grant_type='), 400, 'invalid_credentials'],
  ['a grant that is not supported', grant('?grant_type=client_credentials'), 400, 'invalid_credentials'],
  ['a grant in capitals', grant('?grant_type=PASSWORD'), 400, 'invalid_credentials'],
  ['a grant of every object', grant('?grant_type=constructor'), 400, 'invalid_credentials'],
  ['two grants', grant('?grant_type=password&grant_type=password'), 400, 'validation_failed'],
  ['no refresh token', refresh(), 400, 'refresh_token_not_found'],
  ['an empty refresh token', refresh(''), 400, 'refresh_token_not_found'],
  ['an invented refresh token', refresh('A'.repeat(52)), 400, 'refresh_token_not_found'],
  ['an access token in place of a refresh token', refresh(access.slice(0, 200)), 400, 'refresh_token_not_found'],
  [
    'half of a code exchange',
    { method: 'POST', path: '/token?grant_type=pkce', body: { auth_code: 'x' } },
    400,
    'validation_failed'
  ],
  ['nobody', { path: '/user' }, 401, 'no_authorization'],
  ['a token that is none', { path: '/user', by: 'a.b.c' }, 403, 'bad_jwt'],
  ['a session that has ended', { path: '/user', by: past }, 403, 'session_not_found'],
  ['a banned person', { path: '/user', by: shut }, 403, 'user_banned'],
  ['the service key, which is nobody', { path: '/user', by: service }, 403, 'bad_jwt'],
  ['a scope that is none', { method: 'POST', path: '/logout?scope=tutti', by: access }, 400, 'validation_failed'],
  ['logging out twice', { method: 'POST', path: '/logout', by: past }, 403, 'session_not_found'],
  [
    'rights for oneself',
    { method: 'PUT', path: '/user', by: access, body: { app_metadata: { role: 'admin' } } },
    403,
    'not_admin'
  ],
  ['a weak password', { method: 'PUT', path: '/user', by: access, body: { password: 'corta' } }, 422, 'weak_password'],
  [
    'a telephone',
    { method: 'PUT', path: '/user', by: access, body: { phone: '+39061234567' } },
    400,
    'phone_provider_disabled'
  ],
  [
    'an identity that is no id',
    { method: 'DELETE', path: '/user/identities/email', by: access },
    404,
    'validation_failed'
  ],
  [
    'the only identity',
    { method: 'DELETE', path: `/user/identities/${NOBODY}`, by: access },
    422,
    'single_identity_not_deletable'
  ],
  ['administration by nobody', { path: '/admin/users' }, 401, 'no_authorization'],
  ['administration by an operator', { path: '/admin/users', by: access }, 403, 'not_admin'],
  ['a page that is no number', { path: '/admin/users?page=prima', by: service }, 400, 'validation_failed'],
  ['a page size that is no number', { path: '/admin/users?per_page=molti', by: service }, 400, 'validation_failed'],
  ['a user that is no id', { path: '/admin/users/anna', by: service }, 404, 'validation_failed'],
  ['a user that is not there', { path: `/admin/users/${NOBODY}`, by: service }, 404, 'user_not_found'],
  [
    'an address that is taken',
    { method: 'POST', path: '/admin/users', by: service, body: { email: anna.email, password: PASSWORD } },
    422,
    'email_exists'
  ]
]

t.test('every error has both forms: a text code for clients with a version, else the status', async (t) => {
  for (const [name, asked, status, code] of CASES) {
    const short = await ask(asked, { 'x-supabase-api-version': VERSION })
    const { message, weak_password: reasons, ...rest } = short.json<{ message: string; weak_password?: object }>()
    t.same([short.statusCode, rest], [status, { code }], name)
    t.equal(short.headers['x-supabase-api-version'], VERSION, name)
    const long = await ask(asked)
    const expected = {
      code: status, error_code: code, msg: message, ...(reasons === undefined ? {} : { weak_password: reasons })
    }
    t.strictSame([long.statusCode, long.json()], [status, expected], name)
    t.equal(long.headers['x-supabase-api-version'], undefined, name)
    t.equal(typeof message === 'string' && message !== '', true, name)
    for (const { headers } of [short, long]) {
      t.match(
        headers,
        { 'x-sb-error-code': code, 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' },
        name
      )
    }
  }
})

t.test('only protocol versions from 2024-01-01 on get the short form', async (t) => {
  const form = async (version: string) =>
    Object.keys((await ask({ path: '/user' }, { 'x-supabase-api-version': version })).json<object>()).join()
  for (const version of ['2024-01-01', '2024-01-02', '2031-12-31']) {
    t.equal(await form(version), 'code,message', version)
  }
  for (const version of ['2023-12-31', '', '1']) t.equal(await form(version), 'code,error_code,msg', version)
})

t.test('no error repeats the request\'s input', async (t) => {
  for (const [name, asked] of CASES) {
    t.notMatch((await ask(asked)).body, new RegExp(`${anna.email}|${PASSWORD}|${access}`), name)
  }
})

const anon = (await (await fetch(`${url}/api/config`)).json() as { backendKey: string }).backendKey
const PHONE = '+393331234567'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
type Case = [ask: `${Method} /${string}`, by: string | undefined, body: object | undefined, ...Expected]
type Expected = [status: number, code: string, message: string]

async function send ([asked, by, payload]: [asked: string, by?: string, payload?: object]) {
  const [method, path] = asked.split(' ') as [Method, string]
  const headers = { 'content-type': 'application/json;charset=UTF-8', ...(by === undefined ? {} : bearer(by)) }
  return await app.inject({ method, url: `/auth/v1${path}`, headers, ...(payload && { payload }) })
}

async function holds (t: Test, cases: readonly Case[]): Promise<void> {
  for (const [asked, by, body, status, code, msg] of cases) {
    const response = await send([asked, by, body])
    t.strictSame([response.statusCode, response.json()], [status, { code: status, error_code: code, msg }], asked)
  }
}

const SAML: Expected = [404, 'saml_provider_disabled', 'SAML 2.0 is disabled']
const OAUTH: Expected = [404, 'feature_disabled', 'OAuth server is disabled']
const CUSTOM: Expected = [404, 'feature_disabled', 'Custom OAuth providers are disabled']
const WEB3: Expected = [422, 'web3_provider_disabled', 'Web3 provider is disabled']
const PHONES = 'phone_provider_disabled'
const BAD_PHONE: Expected = [400, 'validation_failed', 'Invalid phone number format (E.164 required)']
const NO_BEARER: Expected = [401, 'no_authorization', 'This endpoint requires a valid Bearer token']
const NO_SUB: Expected = [403, 'bad_jwt', 'invalid claim: missing sub claim']
const UNREADABLE: Expected = [403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature']
const NOT_ADMIN: Expected = [403, 'not_admin', 'User not allowed']

t.test('a missing feature is refused with the texts of the protocol', (t) => holds(t, [
  ['POST /sso', anon, { domain: 'example.org' }, ...SAML],
  ['GET /sso/saml/metadata', anon, undefined, ...SAML],
  ['POST /sso/saml/acs', anon, undefined, ...SAML],
  ['GET /admin/sso/providers', service, undefined, ...SAML],
  [`DELETE /admin/sso/providers/${NOBODY}`, service, undefined, ...SAML],
  ['GET /admin/sso/providers', undefined, undefined, ...NO_BEARER],
  ['GET /admin/sso/providers', access, undefined, ...NOT_ADMIN],
  ['POST /admin/oauth/clients', service, { client_name: 'x', redirect_uris: ['https://x.example'] }, ...OAUTH],
  ['GET /admin/oauth/clients?page=&per_page=', service, undefined, ...OAUTH],
  [`PUT /admin/oauth/clients/${NOBODY}`, service, {}, ...OAUTH],
  [`DELETE /admin/oauth/clients/${NOBODY}`, service, undefined, ...OAUTH],
  [`POST /admin/oauth/clients/${NOBODY}/regenerate_secret`, service, undefined, ...OAUTH],
  ['GET /admin/oauth/clients', undefined, undefined, ...NO_BEARER],
  ['GET /admin/oauth/clients', anon, undefined, ...NOT_ADMIN],
  ['GET /user/oauth/grants', access, undefined, ...OAUTH],
  [`DELETE /user/oauth/grants?client_id=${NOBODY}`, access, undefined, ...OAUTH],
  ['GET /user/oauth/grants', undefined, undefined, ...NO_BEARER],
  [`GET /oauth/authorizations/${NOBODY}`, access, undefined, ...OAUTH],
  ['POST /oauth/clients/register', anon, {}, ...OAUTH],
  ['GET /.well-known/oauth-authorization-server', undefined, undefined, ...OAUTH],
  ['GET /admin/audit', undefined, undefined, ...NO_BEARER],
  ['GET /admin/audit', access, undefined, ...NOT_ADMIN],
  ['GET /admin/audit?page=1', service, undefined, 404, 'feature_disabled', 'The audit log is read at /api/v1/audit'],
  ['GET /admin/custom-providers', service, undefined, ...CUSTOM],
  ['POST /admin/custom-providers', service, {}, ...CUSTOM],
  ['POST /token?grant_type=web3', anon, { chain: 'solana', message: 'x', signature: 'x' }, ...WEB3],
  ['POST /signup', anon, { data: {} }, 422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled']
]))

t.test('telephone numbers are refused with the errors of a provider without telephone sign-in', (t) => holds(t, [
  ['POST /signup', anon, { phone: PHONE, password: PASSWORD }, 400, PHONES, 'Phone signups are disabled'],
  ['POST /token?grant_type=password', anon, { phone: PHONE, password: PASSWORD }, 422, PHONES,
    'Phone logins are disabled'],
  ['POST /token?grant_type=password', anon, { email: anna.email, phone: PHONE, password: PASSWORD }, 400,
    'validation_failed', 'Only an email address or phone number should be provided on login.'],
  ['POST /otp', anon, { phone: PHONE, create_user: true }, 400, PHONES, 'Unsupported phone provider'],
  ['POST /resend', anon, { type: 'sms', phone: PHONE }, 400, PHONES, 'Phone logins are disabled'],
  ['POST /resend', anon, { type: 'phone_change', phone: PHONE }, 400, PHONES, 'Phone logins are disabled'],
  ['POST /resend', anon, { type: 'sms' }, 400, 'validation_failed', 'Type provided requires a phone number'],
  ['POST /verify', anon, { type: 'sms', phone: PHONE, token: '123456' }, 403, 'otp_expired',
    'Token has expired or is invalid'],
  ['POST /verify', anon, { type: 'phone_change', phone: '12345678901', token: '123456' }, 403, 'otp_expired',
    'Token has expired or is invalid'],
  ['POST /verify', anon, { type: 'phone_change', phone: 'dodici', token: '123456' }, ...BAD_PHONE],
  ['PUT /user', access, { phone: PHONE }, 400, PHONES, 'Unsupported phone provider'],
  ['POST /admin/users', service, { phone: PHONE }, 400, PHONES, 'Unsupported phone provider'],
  [`PUT /admin/users/${anna.id}`, service, { phone: PHONE }, 400, PHONES, 'Unsupported phone provider']
]))

t.test('an invalid token, or a token without a person, gets the protocol’s status and text', (t) => holds(t, [
  ['GET /user', undefined, undefined, ...NO_BEARER],
  ['GET /user', 'this-is-a-bad-token', undefined, ...UNREADABLE],
  ['POST /logout', 'this-is-a-bad-token', undefined, ...UNREADABLE],
  ['GET /user', `${access}x`, undefined, ...UNREADABLE],
  ['GET /user', anon, undefined, ...NO_SUB],
  ['GET /user', service, undefined, ...NO_SUB],
  ['GET /admin/users', anon, undefined, ...NOT_ADMIN],
  ['GET /admin/users', 'this-is-a-bad-token', undefined, ...UNREADABLE]
]))

t.test('unknown paths and methods are refused in the form of the protocol', async (t) => {
  await holds(t, [
    ['GET /nulla', undefined, undefined, 404, 'validation_failed', 'Path not found'],
    ['POST /admin/nulla', service, {}, 404, 'validation_failed', 'Path not found'],
    ['GET /token', undefined, undefined, 405, 'validation_failed', 'Method not allowed'],
    ['PATCH /user', access, {}, 405, 'validation_failed', 'Method not allowed']
  ])
  t.equal((await send(['GET /token'])).headers.allow, 'POST')
  t.equal((await send(['GET /nulla'])).headers['x-sb-error-code'], 'validation_failed')
})

t.test('null means a missing field in every body, but inside metadata it removes a key', async (t) => {
  const email = 'vuoti@example.org'
  const nothing = { data: null, phone: null, gotrue_meta_security: null, code_challenge: null, channel: null }
  t.equal((await send(['POST /signup', anon, { email, password: PASSWORD, ...nothing }])).statusCode, 200)
  t.equal((await send(['POST /otp', anon, { email: anna.email, create_user: null, ...nothing }])).statusCode, 200)
  t.equal((await send(['POST /recover', anon, { email: anna.email, ...nothing }])).statusCode, 200)
  t.equal((await send(['PUT /user', access, { data: { a: 1, b: 2 }, email: null, password: null }])).statusCode, 200)
  const changed = await send(['PUT /user', access, { data: { a: null }, nonce: null, app_metadata: null }])
  t.strictSame(changed.json<{ user_metadata: object }>().user_metadata, { b: 2 })
  const password = { email: anna.email, password: PASSWORD, ...nothing }
  t.equal((await send(['POST /token?grant_type=password', anon, password])).statusCode, 200)
  const verify = { type: 'email', token_hash: 'x', token: null, email: null, redirect_to: null }
  t.equal((await send(['POST /verify', anon, verify])).statusCode, 403)
  const made = { email: 'vuota@example.org', id: null, role: null, user_metadata: null, ban_duration: null }
  t.equal((await send(['POST /admin/users', service, made])).statusCode, 200)
  const link = { type: 'recovery', email: anna.email, new_email: null, password: null, data: null }
  t.equal((await send(['POST /admin/generate_link', service, link])).statusCode, 200)
  t.match((await send(['POST /recover', anon, { email: null }])).json(), { code: 400, error_code: 'validation_failed' })
})

const JSON_TYPE = { 'content-type': 'application/json;charset=UTF-8' }

async function accessOf (changes?: object): Promise<string> {
  return (await tokensOf(await signedIn(await person(changes)))).access
}

t.test('a user has empty text for missing values, no nulls, and no data about the password', async (t) => {
  const user = (await app.inject({ url: '/auth/v1/user', headers: bearer(await accessOf()) })).json<AuthUser>()
  t.strictSame(Object.keys(user).sort(), [
    'app_metadata', 'aud', 'confirmed_at', 'created_at', 'email', 'email_confirmed_at', 'id', 'identities',
    'is_anonymous', 'last_sign_in_at', 'phone', 'role', 'updated_at', 'user_metadata'
  ])
  t.notMatch(JSON.stringify(user), /null|argon2/)
  t.strictSame(user.identities[0]?.identity_data,
    { sub: user.id, email: user.email, email_verified: true, phone_verified: false })
})

t.test('the keys that verify tokens are public and cacheable, and have no private member', async (t) => {
  const response = await app.inject('/auth/v1/.well-known/jwks.json')
  t.equal(response.headers['cache-control'], 'public, max-age=600')
  const { keys } = response.json<{ keys: Record<string, unknown>[] }>()
  t.ok(keys.length > 0)
  for (const key of keys) {
    t.match(key, {
      kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: String, x: /^[\w-]{43}$/, y: /^[\w-]{43}$/, d: undefined
    })
  }
})

t.test('metadata that are too large for a token, or cannot be stored, are refused from every caller', async (t) => {
  const { id, email } = await person()
  const access = (await tokensOf(await signedIn({ id, email }))).access
  const put = async (path: string, by: string, field: string, json: string) => await app.inject({
    method: 'PUT', url: `/auth/v1${path}`, headers: { ...bearer(by), ...JSON_TYPE }, payload: `{"${field}":${json}}`
  })
  const deep = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)
  for (const json of [
    `{"text":"${'x'.repeat(8193)}"}`, '{"text":"a\\u0000b"}', '{"text":"\\ud800"}', '{"\\u0000":1}', '"testo"', '[]',
    '7', deep
  ]) {
    t.match((await put('/user', access, 'data', json)).json(), { code: 400, error_code: 'validation_failed' },
      json.slice(0, 30))
    for (const field of ['user_metadata', 'app_metadata']) {
      t.match((await put(`/admin/users/${id}`, service, field, json)).json(),
        { code: 400, error_code: 'validation_failed' }, `${field} ${json.slice(0, 30)}`)
      const created = await app.inject({
        method: 'POST',
        url: '/auth/v1/admin/users',
        headers: { ...bearer(service), ...JSON_TYPE },
        payload: `{"email":"nuova@example.org","${field}":${json}}`
      })
      t.match(created.json(), { code: 400, error_code: 'validation_failed' }, `${field} ${json.slice(0, 30)}`)
    }
  }
  for (const [path, by, field] of [
    ['/user', access, 'data'],
    [`/admin/users/${id}`, service, 'user_metadata']
  ] as const) {
    t.equal((await put(path, by, field, `{"one":"${'x'.repeat(5000)}","two":null}`)).statusCode, 200)
    t.equal((await put(path, by, field, `{"two":"${'x'.repeat(5000)}"}`)).statusCode, 400,
      `${path}: not little by little either`)
  }
  t.equal((await put(`/admin/users/${id}`, service, 'app_metadata', `{"text":"${'x'.repeat(900)}"}`)).statusCode, 200)
  t.equal((await put('/user', access, 'data', `{"one":null,"text":"${'è'.repeat(4000)}"}`)).statusCode, 200)
  const { access: longest } = await tokensOf(await signedIn({ id, email }))
  t.ok(longest.length > 12_000)
  t.equal((await fetch(`${url}/auth/v1/user`, { headers: bearer(longest) })).status, 200,
    'a user with the largest metadata can still use the token')
})
