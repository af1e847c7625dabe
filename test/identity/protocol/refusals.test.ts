import t, { type Test } from 'tap'
import { bearer } from '#test/identity/requests.ts'
import { PASSWORD, provider, tokensOf } from './client.ts'

const { app, url, open, token, person, signedIn } = await provider(t, {
  SIGNUP_ENABLED: 'true',
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'posta@locanda.example'
})
const service = await token({ service: true })
const anna = await person()
const { access } = await tokensOf(await signedIn(anna))
const anon = (await (await fetch(`${url}/api/config`)).json() as { backendKey: string }).backendKey
const NOBODY = '00000000-0000-4000-8000-000000000000'
const PHONE = '+393331234567'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
type Case = [ask: `${Method} /${string}`, by: string | undefined, body: object | undefined, ...Expected]
type Expected = [status: number, code: string, message: string]

async function ask ([asked, by, payload]: [asked: string, by?: string, payload?: object]) {
  const [method, path] = asked.split(' ') as [Method, string]
  const headers = { 'content-type': 'application/json;charset=UTF-8', ...(by === undefined ? {} : bearer(by)) }
  return await app.inject({ method, url: `/auth/v1${path}`, headers, ...(payload && { payload }) })
}

async function holds (t: Test, cases: readonly Case[]): Promise<void> {
  for (const [asked, by, body, status, code, msg] of cases) {
    const answer = await ask([asked, by, body])
    t.strictSame([answer.statusCode, answer.json()], [status, { code: status, error_code: code, msg }], asked)
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

t.test('what is not offered is refused in the words of the protocol, after the caller was identified', (t) => holds(t, [
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

t.test('telephone numbers are refused as by a provider that has them turned off', (t) => holds(t, [
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

t.test('a token that is none, or nobody’s, is refused with the protocol’s status and text', (t) => holds(t, [
  ['GET /user', undefined, undefined, ...NO_BEARER],
  ['GET /user', 'this-is-a-bad-token', undefined, ...UNREADABLE],
  ['POST /logout', 'this-is-a-bad-token', undefined, ...UNREADABLE],
  ['GET /user', `${access}x`, undefined, ...UNREADABLE],
  ['GET /user', anon, undefined, ...NO_SUB],
  ['GET /user', service, undefined, ...NO_SUB],
  ['GET /admin/users', anon, undefined, ...NOT_ADMIN],
  ['GET /admin/users', 'this-is-a-bad-token', undefined, ...UNREADABLE]
]))

t.test('an address that is none, and a method that is none, are refused in the form of the protocol', async (t) => {
  await holds(t, [
    ['GET /nulla', undefined, undefined, 404, 'validation_failed', 'Path not found'],
    ['POST /admin/nulla', service, {}, 404, 'validation_failed', 'Path not found'],
    ['GET /token', undefined, undefined, 405, 'validation_failed', 'Method not allowed'],
    ['PATCH /user', access, {}, 405, 'validation_failed', 'Method not allowed']
  ])
  t.equal((await ask(['GET /token'])).headers.allow, 'POST')
  t.equal((await ask(['GET /nulla'])).headers['x-sb-error-code'], 'validation_failed')
})

t.test('null stands for a field that is not there, in every body; inside of metadata it removes a key', async (t) => {
  const email = 'vuoti@example.org'
  const nothing = { data: null, phone: null, gotrue_meta_security: null, code_challenge: null, channel: null }
  t.equal((await ask(['POST /signup', anon, { email, password: PASSWORD, ...nothing }])).statusCode, 200)
  t.equal((await ask(['POST /otp', anon, { email: anna.email, create_user: null, ...nothing }])).statusCode, 200)
  t.equal((await ask(['POST /recover', anon, { email: anna.email, ...nothing }])).statusCode, 200)
  t.equal((await ask(['PUT /user', access, { data: { a: 1, b: 2 }, email: null, password: null }])).statusCode, 200)
  const changed = await ask(['PUT /user', access, { data: { a: null }, nonce: null, app_metadata: null }])
  t.strictSame(changed.json<{ user_metadata: object }>().user_metadata, { b: 2 })
  const password = { email: anna.email, password: PASSWORD, ...nothing }
  t.equal((await ask(['POST /token?grant_type=password', anon, password])).statusCode, 200)
  const verify = { type: 'email', token_hash: 'x', token: null, email: null, redirect_to: null }
  t.equal((await ask(['POST /verify', anon, verify])).statusCode, 403)
  const made = { email: 'vuota@example.org', id: null, role: null, user_metadata: null, ban_duration: null }
  t.equal((await ask(['POST /admin/users', service, made])).statusCode, 200)
  const link = { type: 'recovery', email: anna.email, new_email: null, password: null, data: null }
  t.equal((await ask(['POST /admin/generate_link', service, link])).statusCode, 200)
  t.match((await ask(['POST /recover', anon, { email: null }])).json(), { code: 400, error_code: 'validation_failed' })
})

t.test('a DELETE that says JSON and has no body is answered', async (t) => {
  const { id } = await person()
  t.equal((await ask([`DELETE /admin/users/${id}`, service])).statusCode, 200)
  t.equal((await ask([`DELETE /user/identities/${NOBODY}`, access])).statusCode, 422)
  const { auth } = open({ key: service })
  t.equal((await auth.admin.deleteUser((await person()).id)).error, null)
})
