import t from 'tap'
import type { AuthUser } from '#schemas/auth/user.ts'
import { addIdentity } from '#src/identity/people/identity-rows.ts'
import { bearer } from '#test/identity/requests.ts'
import { exchange, target } from '#test/raw.ts'
import { PASSWORD, provider, tokensOf } from './client.ts'

const ORIGIN = 'https://app.example'
const { app, url, token, person, signedIn } = await provider(t, { CORS_ORIGINS: ORIGIN })
const port = Number(new URL(url).port)
const JSON_TYPE = { 'content-type': 'application/json;charset=UTF-8' }
const service = await token({ service: true })

async function accessOf (changes?: object): Promise<string> {
  return (await tokensOf(await signedIn(await person(changes)))).access
}

t.test('a session answer has what every client needs: both tokens, the seconds and the user', async (t) => {
  const { email } = await person()
  const answer = await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=password',
    headers: JSON_TYPE,
    payload: JSON.stringify({ email, password: PASSWORD, gotrue_meta_security: {} })
  })
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), {
    access_token: String,
    refresh_token: String,
    expires_in: 3600,
    expires_at: Number,
    token_type: 'bearer',
    user: { id: String }
  })
  t.equal(answer.headers['cache-control'], 'no-store')
})

t.test('a user has empty text for missing values, no nulls, and nothing of the password', async (t) => {
  const user = (await app.inject({ url: '/auth/v1/user', headers: bearer(await accessOf()) })).json<AuthUser>()
  t.strictSame(Object.keys(user).sort(), [
    'app_metadata',
    'aud',
    'confirmed_at',
    'created_at',
    'email',
    'email_confirmed_at',
    'id',
    'identities',
    'is_anonymous',
    'last_sign_in_at',
    'phone',
    'role',
    'updated_at',
    'user_metadata'
  ])
  t.notMatch(JSON.stringify(user), /null|argon2/)
  t.strictSame(user.identities[0]?.identity_data, {
    sub: user.id,
    email: user.email,
    email_verified: true,
    phone_verified: false
  })
})

t.test('a logout works with and without the content type of a body', async (t) => {
  const logout = await app.inject({
    method: 'POST',
    url: '/auth/v1/logout?scope=local',
    headers: { ...bearer(await accessOf()), ...JSON_TYPE, 'content-length': '0' }
  })
  t.match(logout, { statusCode: 204, body: '' })
  const length = { 'content-length': '0' }
  for (const headers of [{ ...JSON_TYPE, ...length }, length, JSON_TYPE] satisfies Record<string, string>[]) {
    const raw = await exchange(
      port,
      target('POST', '/auth/v1/logout', { authorization: `Bearer ${await accessOf()}`, ...headers })
    )
    t.match(raw, { status: 204, body: '' })
  }
  const withBody = await app.inject({
    method: 'POST',
    url: '/auth/v1/logout',
    headers: bearer(await accessOf()),
    payload: {}
  })
  t.equal(withBody.statusCode, 204)
})

t.test('an identity is unlinked by a request with the content type of a body, without body and length', async (t) => {
  const access = await accessOf()
  const { id } = (await app.inject({ url: '/auth/v1/user', headers: bearer(access) })).json<AuthUser>()
  const google = await addIdentity(app.db, id, { provider: 'google', provider_id: id, identity_data: {} })
  const raw = await exchange(
    port,
    target('DELETE', `/auth/v1/user/identities/${google.id}`, { authorization: `Bearer ${access}`, ...JSON_TYPE })
  )
  t.match(raw, { status: 200, body: '{}' })
  t.equal((await app.inject({ url: '/auth/v1/user', headers: bearer(access) })).json<AuthUser>().identities.length, 1)
})

t.test('pages can be asked for with empty parameters, with some and with none', async (t) => {
  for (let n = 0; n < 5; n++) await person({ password: undefined })
  const list = async (query: string) =>
    await app.inject({ url: `/auth/v1/admin/users${query}`, headers: bearer(service) })
  const total = String((await list('')).json<{ users: [] }>().users.length)
  for (const query of ['', '?page=&per_page=', '?page=1&per_page=50', '?page=0&per_page=0']) {
    const answer = await list(query)
    t.equal(answer.statusCode, 200, query)
    t.match(
      answer.headers,
      { 'x-total-count': total, link: `<${url}/auth/v1/admin/users?page=1&per_page=50>; rel="last"` },
      query
    )
  }
  const second = await list('?page=2&per_page=2')
  t.equal(second.json<{ users: [] }>().users.length, 2)
  const last = Math.ceil(Number(total) / 2)
  t.equal(
    second.headers.link,
    `<${url}/auth/v1/admin/users?page=3&per_page=2>; rel="next", ` +
      `<${url}/auth/v1/admin/users?page=${last}&per_page=2>; rel="last"`
  )
})

t.test(
  'the keys that verify tokens are public and cacheable for ten minutes, and have no private member',
  async (t) => {
    const answer = await app.inject('/auth/v1/.well-known/jwks.json')
    t.equal(answer.headers['cache-control'], 'public, max-age=600')
    const { keys } = answer.json<{ keys: Record<string, unknown>[] }>()
    t.ok(keys.length > 0)
    for (const key of keys) {
      t.match(key, {
        kty: 'EC',
        crv: 'P-256',
        alg: 'ES256',
        use: 'sig',
        kid: String,
        x: /^[\w-]{43}$/,
        y: /^[\w-]{43}$/,
        d: undefined
      })
    }
  }
)

t.test('the settings of the provider are public', async (t) => {
  t.match((await app.inject('/auth/v1/settings')).json(), {
    external: { email: true, phone: false },
    disable_signup: true,
    mailer_autoconfirm: false
  })
  t.match((await app.inject('/auth/v1/health')).json(), { name: String, version: /^\d/, description: String })
})

t.test('metadata too large for a token, or not storable, are refused from every caller', async (t) => {
  const { id, email } = await person()
  const access = (await tokensOf(await signedIn({ id, email }))).access
  const put = async (path: string, by: string, field: string, json: string) => await app.inject({
    method: 'PUT', url: `/auth/v1${path}`, headers: { ...bearer(by), ...JSON_TYPE }, payload: `{"${field}":${json}}`
  })
  const deep = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)
  for (const json of [
    `{"text":"${'x'.repeat(8193)}"}`,
    '{"text":"a\\u0000b"}',
    '{"text":"\\ud800"}',
    '{"\\u0000":1}',
    '"testo"',
    '[]',
    '7',
    deep
  ]) {
    t.match(
      (await put('/user', access, 'data', json)).json(),
      { code: 400, error_code: 'validation_failed' },
      json.slice(0, 30)
    )
    for (const field of ['user_metadata', 'app_metadata']) {
      t.match(
        (await put(`/admin/users/${id}`, service, field, json)).json(),
        { code: 400, error_code: 'validation_failed' },
        `${field} ${json.slice(0, 30)}`
      )
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
    t.equal(
      (await put(path, by, field, `{"two":"${'x'.repeat(5000)}"}`)).statusCode,
      400,
      `${path}: not little by little either`
    )
  }
  t.equal((await put(`/admin/users/${id}`, service, 'app_metadata', `{"text":"${'x'.repeat(900)}"}`)).statusCode, 200)
  t.equal((await put('/user', access, 'data', `{"one":null,"text":"${'è'.repeat(4000)}"}`)).statusCode, 200)
  const { access: longest } = await tokensOf(await signedIn({ id, email }))
  t.ok(longest.length > 12_000)
  t.equal(
    (await fetch(`${url}/auth/v1/user`, { headers: bearer(longest) })).status,
    200,
    'who has written all that may be written can still come in'
  )
})

t.test('a front end of another origin may send the client’s headers and read the answer’s', async (t) => {
  const wanted = 'apikey,authorization,content-type,x-client-info,x-supabase-api-version'
  const asked = [
    ['POST', '/token?grant_type=password'],
    ['GET', '/user'],
    ['PUT', '/user'],
    ['DELETE', '/user/identities/x'],
    ['POST', '/logout?scope=global']
  ] as const
  for (const [method, path] of asked) {
    const preflight = {
      origin: ORIGIN,
      'access-control-request-method': method,
      'access-control-request-headers': wanted
    }
    const { statusCode, headers } = await app.inject({ method: 'OPTIONS', url: `/auth/v1${path}`, headers: preflight })
    t.equal(statusCode, 204, path)
    t.match(headers, { 'access-control-allow-origin': ORIGIN, 'access-control-allow-headers': wanted }, path)
    t.ok(String(headers['access-control-allow-methods']).split(', ').includes(method), path)
    const foreign = await app.inject({
      method: 'OPTIONS',
      url: `/auth/v1${path}`,
      headers: { ...preflight, origin: 'https://altrove.example' }
    })
    t.equal(foreign.headers['access-control-allow-origin'], undefined, path)
  }
  const { headers } = await app.inject({
    url: '/auth/v1/user',
    headers: { origin: ORIGIN, 'x-supabase-api-version': '2024-01-01' }
  })
  t.equal(headers['access-control-allow-origin'], ORIGIN)
  const exposed = String(headers['access-control-expose-headers']).toLowerCase().split(', ')
  // Without the version the client does not find the code of an error.
  for (const name of ['x-supabase-api-version', 'x-total-count', 'link', 'retry-after']) {
    t.ok(exposed.includes(name), name)
  }
})
