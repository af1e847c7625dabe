import t from 'tap'
import { bearer } from '#test/identity/requests.ts'
import { PASSWORD, provider, tokensOf } from './client.ts'

const VERSION = '2024-01-01'
const NOBODY = '00000000-0000-4000-8000-000000000000'

const { app, token, person, signedIn } = await provider(t)
const anna = await person()
const [mine, ended, banned] = [await signedIn(anna), await signedIn(await person()), await person()]
const { access } = await tokensOf(mine)
const { access: past } = await tokensOf(ended)
await ended.auth.signOut()
const { access: shut } = await tokensOf(await signedIn(banned))
const service = await token({ service: true })
await app.inject({
  method: 'PUT',
  url: `/auth/v1/admin/users/${banned.id}`,
  headers: bearer(service),
  payload: { ban_duration: '1h' }
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
      ...(by === undefined ? {} : bearer(by)),
      ...(body === undefined ? {} : { 'content-type': type }),
      ...headers
    },
    payload: body
  })
}

const password = (body: object | string): Asked => ({ method: 'POST', path: '/token?grant_type=password', body })
const grant = (query: string): Asked => ({
  method: 'POST',
  path: `/token${query}`,
  body: { email: anna.email, password: PASSWORD }
})
const refresh = (refresh_token?: string): Asked => ({
  method: 'POST',
  path: '/token?grant_type=refresh_token',
  body: { refresh_token }
})

const CASES: [name: string, asked: Asked, status: number, code: string][] = [
  ['a wrong password', password({ email: anna.email, password: 'sbagliata' }), 400, 'invalid_credentials'],
  ['no address', password({ password: PASSWORD }), 400, 'validation_failed'],
  ['an empty address', password({ email: '', password: PASSWORD }), 400, 'validation_failed'],
  ['an address that is a number', password({ email: 7, password: PASSWORD }), 400, 'validation_failed'],
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
  ['a page of a million', { path: '/admin/users?per_page=1000000', by: service }, 400, 'validation_failed'],
  ['a user that is no id', { path: '/admin/users/anna', by: service }, 404, 'validation_failed'],
  ['a user that is not there', { path: `/admin/users/${NOBODY}`, by: service }, 404, 'user_not_found'],
  [
    'an address that is taken',
    { method: 'POST', path: '/admin/users', by: service, body: { email: anna.email, password: PASSWORD } },
    422,
    'email_exists'
  ]
]

t.test(
  'every error has both forms: a code in words for clients that name a version, the status for the others',
  async (t) => {
    for (const [name, asked, status, code] of CASES) {
      const short = await ask(asked, { 'x-supabase-api-version': VERSION })
      const { message, weak_password: reasons, ...rest } = short.json<{ message: string; weak_password?: object }>()
      t.same([short.statusCode, rest], [status, { code }], name)
      t.equal(short.headers['x-supabase-api-version'], VERSION, name)
      const long = await ask(asked)
      const expected = {
        code: status,
        error_code: code,
        msg: message,
        ...(reasons === undefined ? {} : { weak_password: reasons })
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
  }
)

t.test('only a version from 2024-01-01 on gets the short form', async (t) => {
  const form = async (version: string) =>
    Object.keys((await ask({ path: '/user' }, { 'x-supabase-api-version': version })).json<object>()).join()
  for (const version of ['2024-01-01', '2024-01-02', '2031-12-31']) {
    t.equal(await form(version), 'code,message', version)
  }
  for (const version of ['2023-12-31', '', '1']) t.equal(await form(version), 'code,error_code,msg', version)
})

t.test('the unsupported grant and the reasons against a password have the names of Supabase Auth', async (t) => {
  t.match((await ask(grant('?grant_type=x'))).json(), { msg: 'unsupported_grant_type' })
  const weak = await ask({ method: 'PUT', path: '/user', by: access, body: { password: 'corta' } })
  t.same(weak.json<object>(), {
    code: 422,
    error_code: 'weak_password',
    msg: weak.json<{ msg: string }>().msg,
    weak_password: { reasons: ['length'] }
  })
})

t.test('no error repeats what was sent', async (t) => {
  for (const [name, asked] of CASES) {
    t.notMatch((await ask(asked)).body, new RegExp(`${anna.email}|${PASSWORD}|${access}`), name)
  }
})
