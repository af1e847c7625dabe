import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import t from 'tap'
import { sessions, users } from '#drizzle/tables/identity.ts'
import { signIn } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { listen } from './listen.ts'
import { acts, setting, SIGNUP } from './setting.ts'

const NOW = Math.floor(Date.now() / 1000)
const { privateKey, publicKey } = await generateKeyPair('RS256')
const { privateKey: foreignKey } = await generateKeyPair('RS256')
const jwk = { ...await exportJWK(publicKey), kid: 'uno', alg: 'RS256', use: 'sig' }

/** A provider of which only the documents are asked: its own kit gives the tokens. */
const { url: issuer, server } = await listen(t)
let isDown = false
server.on('request', (request, response) => {
  const documents: Record<string, object> = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/a`,
      token_endpoint: `${issuer}/t`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256']
    },
    '/keys': { keys: [jwk] }
  }
  response.writeHead(isDown ? 500 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(documents[request.url ?? ''] ?? {}))
})
const { url: quiet, server: silent } = await listen(t)
silent.on('request', (_request, response) => { response.writeHead(500).end() })

const place = await setting(t, { ...SIGNUP, RATE_LIMIT_LOGIN_MAX: '100000' }, {
  providers: [
    { name: 'kit', client_id: 'app', client_secret: 'segreto', issuer },
    { name: 'lontano', client_id: 'app', client_secret: 'segreto', issuer: quiet },
    { name: 'github', client_id: 'app', client_secret: 'segreto' }
  ]
})
const { app, client } = place

async function idToken (claims: JWTPayload = {}, key = privateKey, kid = 'uno'): Promise<string> {
  return await new SignJWT({
    iss: issuer,
    aud: 'app',
    sub: 'anna-1',
    email: 'anna@example.org',
    email_verified: true,
    name: 'Anna Bianchi',
    iat: NOW,
    exp: NOW + 600,
    ...claims
  }).setProtectedHeader({ alg: 'RS256', kid }).sign(key)
}

async function grant (body: object, by?: string) {
  const answer = await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=id_token',
    headers: by === undefined ? {} : bearer(by),
    payload: body
  })
  return { status: answer.statusCode, body: answer.json<{ error_code?: string, msg?: string }>() }
}

t.test('a client signs in with the token that a provider’s own kit gave it', async (t) => {
  const nonce = randomUUID()
  const hashed = createHash('sha256').update(nonce).digest('hex')
  const accessToken = 'gettone-di-accesso'
  const half = createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url')
  const { auth } = client()
  const token = await idToken({ nonce: hashed, at_hash: half })
  const { data, error } = await auth.signInWithIdToken({
    provider: 'kit' as 'google', token, nonce, access_token: accessToken
  })
  t.equal(error, null)
  t.match(data.user, {
    email: 'anna@example.org',
    app_metadata: { provider: 'kit', providers: ['kit'], role: 'pending' },
    user_metadata: { full_name: 'Anna Bianchi', sub: 'anna-1', iss: issuer }
  })
  t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'oauth' }])
  const again = await client().auth.signInWithIdToken({ provider: 'kit' as 'google', token: await idToken() })
  t.equal(again.data.user?.id, data.user?.id, 'the same person the next time')
  t.equal((await grant({ issuer, client_id: 'app', id_token: await idToken() })).status, 200, 'named by its issuer')
  t.same((await acts(app)).slice(0, 2).map(({ action, details }) => [action, details]), [
    ['utente_creato', { role: 'pending', provider: 'kit' }],
    ['accesso', { method: 'oauth', provider: 'kit' }]
  ])
})

t.test('a token of another hand, for another client, of another time or for another request is refused', async (t) => {
  const before = await app.db.$count(sessions)
  const hashed = createHash('sha256').update('uno').digest('hex')
  const unsigned = (await idToken()).replace(/^[^.]*/, Buffer.from('{"alg":"none"}').toString('base64url'))
  const cases: [name: string, body: object, message: string][] = [
    ['of another key', { id_token: await idToken({}, foreignKey) }, 'Bad ID token'],
    ['of an unknown key', { id_token: await idToken({}, privateKey, 'due') }, 'Bad ID token'],
    ['unsigned', { id_token: unsigned }, 'Bad ID token'],
    ['no token', { id_token: 'x.y.z' }, 'Bad ID token'],
    ['of another issuer', { id_token: await idToken({ iss: 'https://evil.example' }) }, 'Bad ID token'],
    ['for another client', { id_token: await idToken({ aud: 'altra' }) }, 'Unacceptable audience in id_token'],
    ['expired', { id_token: await idToken({ iat: NOW - 7200, exp: NOW - 3600 }) }, 'Bad ID token'],
    ['not yet good', { id_token: await idToken({ nbf: NOW + 3600 }) }, 'Bad ID token'],
    ['without an end', { id_token: await idToken({ exp: undefined }) }, 'Bad ID token'],
    ['without a person', { id_token: await idToken({ sub: undefined }) }, 'Bad ID token'],
    ['with another nonce', { id_token: await idToken({ nonce: hashed }), nonce: 'due' }, 'Nonces mismatch'],
    ['with the hash for the nonce', { id_token: await idToken({ nonce: 'uno' }), nonce: 'uno' }, 'Nonces mismatch'],
    ['with a nonce that is not given', { id_token: await idToken({ nonce: hashed }) },
      'Passed nonce and nonce in id_token should either both exist or not.'],
    ['without the nonce that is given', { id_token: await idToken(), nonce: 'uno' },
      'Passed nonce and nonce in id_token should either both exist or not.'],
    ['beside another access token', { id_token: await idToken({ at_hash: 'x' }), access_token: 'a' }, 'Bad ID token'],
    ['not there', {}, 'id_token required']
  ]
  for (const [name, body, msg] of cases) {
    t.strictSame(
      await grant({ provider: 'kit', ...body }),
      { status: 400, body: { code: 400, error_code: 'validation_failed', msg } },
      name
    )
  }
  t.match((await grant({ id_token: 'x' })).body, { msg: 'provider or client_id and issuer required' })
  const unproven = await grant({ provider: 'kit', id_token: await idToken({ sub: 'b', email_verified: false }) })
  t.match(unproven, { status: 422, body: { error_code: 'provider_email_needs_verification' } })
  t.match(await grant({ provider: 'kit', id_token: await idToken({ sub: 'b', email: undefined }) }), { status: 400 })
  t.equal(await app.db.$count(sessions), before)
})

t.test('a provider that is not configured, or has no such tokens, is refused as disabled', async (t) => {
  const id_token = await idToken()
  for (const named of [{ provider: 'apple' }, { provider: 'github' }, { client_id: 'app', issuer: 'https://x.example' }]) {
    const { status, body } = await grant({ ...named, id_token })
    t.match({ status, ...body }, { status: 400, error_code: 'provider_disabled', msg: /not enabled/ })
  }
  t.match(await grant({ provider: 'lontano', id_token: 'x' }), { status: 400 }, 'not asked about what is no token')
  t.match(await grant({ provider: 'lontano', id_token }), { status: 503, body: { error_code: 'unexpected_failure' } })
})

t.test('an identity is added to the account of the person who is signed in, and of nobody else', async (t) => {
  const { user, access_token: access } = await signIn(app, 'bea', 'operator')
  const id_token = await idToken({ sub: 'bea-1', email: 'bea@altrove.example' })
  const own = { provider: 'kit', id_token, link_identity: true }
  t.match(await grant(own), { status: 400, body: { msg: /^Linking requires/ } })
  t.match(await grant(own, `${access}x`), { status: 403, body: { error_code: 'bad_jwt' } })
  t.match(await grant(own, await place.token({ service: true })), { status: 403, body: { error_code: 'bad_jwt' } })
  const linked = await grant(own, access)
  t.match(linked, { status: 200, body: { user: { id: user.id, app_metadata: { providers: ['email', 'kit'] } } } })
  t.match(await grant(own, access), { status: 422, body: { error_code: 'identity_already_exists' } })
  const anna = { ...own, id_token: await idToken() }
  t.match(await grant(anna, access), { status: 422, body: { error_code: 'identity_already_exists' } })
  t.match(await grant({ ...own, link_identity: false }), { status: 200, body: { user: { id: user.id } } })
})

t.test('who has a second factor adds an identity once it is proven, with the password alone not', async (t) => {
  const { user, access_token: access } = await signIn(app, 'carla', 'operator')
  const link = async (by: string) => await grant({
    provider: 'kit', id_token: await idToken({ sub: 'carla-1', email: 'carla@altrove.example' }), link_identity: true
  }, by)
  await app.sql`insert into factors (user_id, factor_type, status, friendly_name, secret)
    values (${user.id}, 'totp', 'verified', 'telefono', ${Buffer.from('sigillato')})`
  t.match(await link(access), { status: 401, body: { error_code: 'insufficient_aal' } })
  await app.sql`delete from factors where user_id = ${user.id}`
  await app.identity.waitForListeners()
  t.equal((await link(access)).status, 200)
})

t.test('a token that another party has asked for is refused, whoever else it names', async (t) => {
  const shared = async (azp?: string) =>
    await grant({ provider: 'kit', id_token: await idToken({ aud: ['app', 'altri'], ...azp && { azp } }) })
  t.match(await shared('altri'), { status: 400 })
  t.match(await shared(), { status: 400 })
  t.equal((await shared('app')).status, 200)
})

t.test('the provider’s keys are kept while it is away', async (t) => {
  isDown = true
  t.equal((await grant({ provider: 'kit', id_token: await idToken() })).status, 200)
  isDown = false
  await app.db.update(users).set({ banned_until: new Date(Date.now() + 60_000) })
  t.match(await grant({ provider: 'kit', id_token: await idToken() }), { body: { error_code: 'user_banned' } })
})
