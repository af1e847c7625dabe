import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { api_keys, flow_states, identities, one_time_tokens, sessions, users } from '#drizzle/tables/identity.ts'
import { AuthError } from '#src/identity/errors.ts'
import { apiKeyFormat } from '#src/identity/keys/api-keys.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { findOrCreateAccount, linkIdentity, type ProviderIdentity } from '#src/identity/oauth/accounts.ts'
import { OAuthError } from '#src/identity/oauth/errors.ts'
import { type ProfileClaims, profileOf } from '#src/identity/oauth/profile.ts'
import { findUser, type User, withIdentities } from '#src/identity/people/find-users.ts'
import { createUser, type NewUser, updateUser } from '#src/identity/people/users.ts'
import { beginSession } from '#src/identity/sign-in/person-sessions.ts'
import { createKeys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { signIn } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { serve } from '#test/loopback.ts'
import { acts, setting, SIGNUP } from './setting.ts'

const EMAIL = 'rosa@example.org'
const CLIENT = { ip: '127.0.0.1', user_agent: null }

/** A new person from the provider, by default with a verified address. */
function newcomer (facts: Partial<ProfileClaims> = {}, provider = 'google'): ProviderIdentity {
  const usual = {
    issuer: 'https://id.example',
    subject: 'rosa-1',
    email: EMAIL,
    emailVerified: true,
    name: 'Rosa Verdi',
    userName: 'rosa',
    picture: undefined
  }
  return { provider, profile: profileOf({ ...usual, ...facts }) }
}

/** A database and helpers for its accounts. */
async function prepare (t: Test) {
  const { db } = await testDatabase(t)
  const within = async <T>(work: (tx: Transaction) => Promise<T>) => await db.transaction(work)
  return {
    db,
    signIn: async (who: ProviderIdentity, signupEnabled = true) =>
      await within(async (tx) => {
        const { user, ...match } = await findOrCreateAccount(tx, who, signupEnabled)
        return { ...match, user: await withIdentities(tx, user) }
      }),
    link: async (who: ProviderIdentity, userId: string, sessionId?: string) =>
      await within(async (tx) => await withIdentities(tx, await linkIdentity(tx, who, userId, sessionId))),
    account: async (some: Partial<NewUser> = {}) =>
      await within((tx) => createUser(tx, { email: EMAIL, confirmed: true, ...some })),
    begin: async (user: User) => (await within((tx) => beginSession(tx, user, 'password', CLIENT))).session
  }
}

const providersOf = ({ identities }: User) => identities.map(({ provider }) => provider)

async function code (work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(
    () => 'nothing',
    (err: unknown) => (err instanceof AuthError || err instanceof OAuthError ? err.code : String(err))
  )
}

t.test('sign-in through a provider without an account here', async (t) => {
  t.test('with sign-up on, an account is created and waits for a role', async (t) => {
    const { signIn } = await prepare(t)
    const { user, how, accessRevoked } = await signIn(newcomer({ email: ' Rosa@Example.ORG ' }))
    t.strictSame([how, accessRevoked], ['created', false])
    t.equal(user.email, EMAIL)
    t.ok(user.email_confirmed_at)
    t.equal(user.password_hash, null)
    t.strictSame(user.app_metadata, { role: 'pending', provider: 'google', providers: ['google'] })
    t.equal(user.user_metadata.full_name, 'Rosa Verdi')
    t.strictSame(providersOf(user), ['google'])
  })

  t.test('no account is created if sign-up is off, or the address is missing, malformed or unverified', async (t) => {
    const { db, signIn } = await prepare(t)
    t.equal(await code(signIn(newcomer(), false)), 'signup_disabled')
    for (const emailVerified of [false, undefined, null, 'false', 'yes', 1, {}]) {
      t.equal(await code(signIn(newcomer({ emailVerified }))), 'provider_email_needs_verification')
    }
    for (const email of [
      undefined, null, '', 'rosa', 'a@b c', `${'x'.repeat(250)}@example.org`, 7, ['rosa@example.org']
    ]) { t.equal(await code(signIn(newcomer({ email }))), 'unexpected_failure') }
    t.equal(await db.$count(users), 0)
  })

  t.test('two simultaneous first sign-ins create one account', async (t) => {
    const { db, signIn } = await prepare(t)
    const all = await Promise.all([1, 2, 3, 4].map(async () => await signIn(newcomer())))
    t.equal(new Set(all.map(({ user }) => user.id)).size, 1)
    t.strictSame(all.map(({ how }) => how).sort(), ['created', 'known', 'known', 'known'])
    const others = await Promise.all(
      [1, 2].map(async (n) => await signIn(newcomer({ subject: `altra-${n}` }, `provider-${n}`)))
    )
    t.strictSame(others.map(({ how }) => how), ['linked', 'linked'])
    t.equal(await db.$count(users), 1)
    t.equal(await db.$count(identities), 3)
  })
})

t.test('a person with a verified address signs in to the confirmed account with that address', async (t) => {
  const { signIn, account } = await prepare(t)
  const before = await account({
    password_hash: 'una-impronta',
    app_metadata: { role: 'operator' },
    user_metadata: { name: 'Rosa', surname: 'Verdi', colore: 'blu' }
  })
  const { user, how, accessRevoked } = await signIn(newcomer({ email: 'ROSA@example.org' }), false)
  t.strictSame([user.id, how, accessRevoked], [before.id, 'linked', false])
  t.strictSame(providersOf(user), ['email', 'google'])
  t.equal(user.password_hash, 'una-impronta')
  t.strictSame(user.app_metadata, { role: 'operator', provider: 'email', providers: ['email', 'google'] })
  t.match(user.user_metadata, { name: 'Rosa', surname: 'Verdi', colore: 'blu', full_name: 'Rosa Verdi' })
  t.equal((await signIn(newcomer({ email: undefined }), false)).user.id, before.id,
    'afterwards the identity alone does')
  const { user: later } = await signIn(
    newcomer({ email: 'altra@example.org', emailVerified: false, name: 'Rosa Blu' }),
    false
  )
  t.equal(later.id, before.id)
  t.equal(later.email, EMAIL, 'a new address at the provider does not change the account')
  t.equal(later.identities[1]!.identity_data.email, 'altra@example.org')
  t.equal(later.user_metadata.full_name, 'Rosa Blu')
})

t.test('an unverified address never signs in, and the response does not reveal an account', async (t) => {
  const { db, signIn, account } = await prepare(t)
  const signInProblem = async (email: string) =>
    await signIn(newcomer({ email, emailVerified: false })).then(
      () => undefined,
      ({ message, code }: OAuthError) => ({ message, code })
    )
  await account()
  await account({ email: 'bruno@example.org', confirmed: false })
  const problem = await signInProblem('nessuno@example.org')
  t.equal(problem?.code, 'provider_email_needs_verification')
  t.strictSame(await signInProblem(EMAIL), problem)
  t.strictSame(await signInProblem('bruno@example.org'), problem)
  t.equal(await db.$count(identities), 2)
})

t.test('earlier access to an unconfirmed account is revoked when its owner signs in', async (t) => {
  const { db, signIn, account, begin } = await prepare(t)
  const planted = await account({
    confirmed: false,
    password_hash: 'del-ladro',
    user_metadata: { name: 'Ladro', is_admin: true },
    app_metadata: { role: 'pending' }
  })
  await begin(planted)
  await db.insert(identities)
    .values({ user_id: planted.id, provider: 'github', provider_id: '666', identity_data: { sub: '666' } })
  await db.transaction(async (tx) => await updateUser(tx, planted.id, { new_email: 'ladro@example.org' }))
  await mintKey(db, apiKeyFormat(createKeys(randomBytes(32))), planted.id, {})
  const flow = { provider: 'google', redirect_to: 'https://app.example', authentication_method: 'oauth' }
  await db.insert(flow_states).values([
    { ...flow, linking_user_id: planted.id },
    { ...flow, user_id: planted.id, auth_code: Buffer.from('x') },
    flow
  ])
  const fingerprint = Buffer.from('x')
  await db.insert(one_time_tokens).values({
    user_id: planted.id,
    kind: 'email_change_new',
    sent_to: 'ladro@example.org',
    otp_fingerprint: fingerprint,
    link_fingerprint: fingerprint,
    expires_at: new Date(Date.now() + 60_000)
  })

  const { user, how, accessRevoked } = await signIn(newcomer(), false)
  t.strictSame([user.id, how, accessRevoked], [planted.id, 'linked', true])
  t.strictSame(providersOf(user), ['google'], 'no other identity remains, not even the e-mail one')
  t.equal(user.password_hash, null)
  t.equal(user.new_email, null)
  t.ok(user.email_confirmed_at)
  t.strictSame(user.app_metadata, { role: 'pending', provider: 'google', providers: ['google'] })
  t.notOk('is_admin' in user.user_metadata)
  t.equal(user.user_metadata.name, 'Rosa Verdi')
  t.equal(await db.$count(sessions), 0)
  t.equal(await db.$count(one_time_tokens), 0)
  t.equal(await db.$count(flow_states), 1, 'only the flow without an account remains')
  t.ok((await db.select().from(api_keys)).every(({ revoked_at }) => revoked_at !== null))
})

t.test('an invited account keeps the data that the administrator wrote', async (t) => {
  const { signIn, account } = await prepare(t)
  await account({
    confirmed: false,
    invited: true,
    app_metadata: { role: 'operator' },
    user_metadata: { name: 'Rosa', surname: 'Verdi' }
  })
  const { user } = await signIn(newcomer(), false)
  t.match(user.user_metadata, { name: 'Rosa', surname: 'Verdi', full_name: 'Rosa Verdi' })
  t.strictSame(user.app_metadata, { role: 'operator', provider: 'google', providers: ['google'] })
})

t.test('a known identity of an account that is not confirmed any more must verify its address', async (t) => {
  const { db, signIn, begin } = await prepare(t)
  const { user } = await signIn(newcomer())
  await db.insert(identities)
    .values({ user_id: user.id, provider: 'github', provider_id: '666', identity_data: { sub: '666' } })
  await begin(user)
  await db.transaction(async (tx) => await updateUser(tx, user.id, { email_confirmed_at: null }))
  t.equal(await code(signIn(newcomer({ emailVerified: false }))), 'provider_email_needs_verification')
  t.equal(await code(signIn(newcomer({ email: 'altra@example.org' }))), 'provider_email_needs_verification',
    'that of the account')
  const back = await signIn(newcomer())
  t.strictSame([back.user.id, back.how, back.accessRevoked], [user.id, 'known', true])
  t.strictSame(providersOf(back.user), ['google'])
  t.ok(back.user.email_confirmed_at)
  t.equal(await db.$count(sessions), 0)
})

t.test('a banned person is refused, with a known identity and with the address', async (t) => {
  const { db, signIn, link, begin, account } = await prepare(t)
  const owner = await account()
  const session = await begin(owner)
  const ban = async (until: Date | null) =>
    await db.update(users).set({ banned_until: until }).where(eq(users.id, owner.id))
  await ban(new Date(Date.now() + 60_000))
  t.equal(await code(signIn(newcomer())), 'user_banned')
  t.equal(await code(link(newcomer(), owner.id, session.id)), 'user_banned')
  t.equal(await db.$count(identities), 1, 'no identity was linked')
  await ban(null)
  await signIn(newcomer())
  await ban(new Date(Date.now() + 60_000))
  t.equal(await code(signIn(newcomer())), 'user_banned')
})

t.test('an identity is linked only in an active session, and only if no account has it', async (t) => {
  const { db, signIn, link, begin, account } = await prepare(t)
  const owner = await account()
  const session = await begin(owner)
  const other = await account({ email: 'bruno@example.org' })
  const others = await begin(other)
  t.equal(await code(link(newcomer(), owner.id, undefined)), 'session_not_found')
  t.equal(await code(link(newcomer(), owner.id, randomUUID())), 'session_not_found')
  t.equal(await code(link(newcomer(), owner.id, others.id)), 'session_not_found', 'another person’s session')
  t.strictSame(
    providersOf(await link(newcomer({ email: 'a@example.org', emailVerified: false }), owner.id, session.id)),
    ['email', 'google']
  )
  t.equal(await code(link(newcomer(), owner.id, session.id)), 'identity_already_exists')
  t.equal(await code(link(newcomer(), other.id, others.id)), 'identity_already_exists')
  t.strictSame(providersOf(await link(newcomer({ subject: 'rosa-2' }), owner.id, session.id)),
    ['email', 'google', 'google'], 'two identities of one provider')
  const user = await findUser(db, { id: owner.id })
  t.strictSame(user?.app_metadata.providers, ['email', 'google'])
  t.equal(user?.email, EMAIL)
  t.strictSame(user?.user_metadata, {})
  await db.update(sessions).set({ not_after: new Date() }).where(eq(sessions.id, session.id))
  t.equal(await code(link(newcomer({ subject: 'rosa-3' }), owner.id, session.id)), 'session_not_found')
  t.equal((await signIn(newcomer({ subject: 'rosa-2' }), false)).user.id, owner.id, 'both sign in')
})

t.test('when several users link the same identity concurrently, one succeeds', async (t) => {
  const { db, link, begin, account } = await prepare(t)
  const people = await Promise.all(
    ['uno', 'due', 'tre'].map(async (name) => await account({ email: `${name}@example.org` }))
  )
  const all = await Promise.all(
    people.map(async (user) => await code(link(newcomer(), user.id, (await begin(user)).id)))
  )
  t.strictSame(all.sort(), ['identity_already_exists', 'identity_already_exists', 'nothing'])
  t.equal(await db.$count(identities), 4)
})

t.test('only the known fields of a profile are kept, and only as text', (t) => {
  const { metadata } = profileOf({
    issuer: 'https://id.example',
    subject: 'x',
    email: 'x@example.org',
    emailVerified: 'true',
    name: 'A\u0000B',
    userName: '\ud800',
    picture: 'javascript:alert(1)'
  })
  t.strictSame(metadata, {
    iss: 'https://id.example',
    sub: 'x',
    provider_id: 'x',
    email_verified: true,
    phone_verified: false,
    email: 'x@example.org'
  })
  const { metadata: long } = profileOf({
    issuer: 'https://id.example',
    subject: 'x',
    email: null,
    emailVerified: true,
    name: 'x'.repeat(101),
    userName: { role: 'admin' },
    picture: `https://img.example/${'x'.repeat(500)}`
  })
  t.strictSame(long, { iss: 'https://id.example', sub: 'x', provider_id: 'x', phone_verified: false })
  for (const subject of ['', ' ', null, 7, 'a\nb', 'x'.repeat(256), '\udfff']) {
    t.throws(
      () => profileOf({ issuer: '', subject, email: '', emailVerified: true, name: '', userName: '', picture: '' }),
      OAuthError
    )
  }
  t.end()
})

t.test('a profile that makes the metadata too long is dropped, and a shorter one is kept', async (t) => {
  const { db } = await testDatabase(t)
  const metadata = { full_name: 'Anna Prova', picture: `https://immagini.example/${'a'.repeat(900)}` }
  for (const [email, own, expected] of [
    ['piena@example.org', { note: 'x'.repeat(8000) }, { note: 'x'.repeat(8000) }],
    ['vuota@example.org', { note: 'x' }, { note: 'x', ...metadata }]
  ] as const) {
    const { user } = await db.transaction(async (tx) => {
      await createUser(tx, { email, confirmed: true, user_metadata: own })
      return await findOrCreateAccount(
        tx,
        { provider: 'google', profile: { subject: email, email, emailVerified: true, metadata } },
        false
      )
    })
    t.same(user.user_metadata, expected, email)
  }
})

const NOW = Math.floor(Date.now() / 1000)
const { privateKey, publicKey } = await generateKeyPair('RS256')
const { privateKey: foreignKey } = await generateKeyPair('RS256')
const jwk = { ...await exportJWK(publicKey), kid: 'uno', alg: 'RS256', use: 'sig' }

/** A provider that only publishes its documents, because the tokens come from its SDK. */
const { url: issuer, server } = await serve(t)
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
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(documents[request.url ?? ''] ?? {}))
})
const { url: quiet, server: silent } = await serve(t)
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

t.test('a client signs in with the token from a provider’s own SDK', async (t) => {
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
  t.equal(again.data.user?.id, data.user?.id, 'the same user at the next sign-in')
  t.equal((await grant({ issuer, client_id: 'app', id_token: await idToken() })).status, 200, 'found by issuer')
  t.same((await acts(app)).slice(0, 2).map(({ action, details }) => [action, details]),
    [['utente_creato', { role: 'pending', provider: 'kit' }], ['accesso', { method: 'oauth', provider: 'kit' }]])
})

t.test('a token with another key, client, time or nonce is refused', async (t) => {
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
    ['not yet valid', { id_token: await idToken({ nbf: NOW + 3600 }) }, 'Bad ID token'],
    ['without an end', { id_token: await idToken({ exp: undefined }) }, 'Bad ID token'],
    ['without a person', { id_token: await idToken({ sub: undefined }) }, 'Bad ID token'],
    ['with another nonce', { id_token: await idToken({ nonce: hashed }), nonce: 'due' }, 'Nonces mismatch'],
    ['with the hash for the nonce', { id_token: await idToken({ nonce: 'uno' }), nonce: 'uno' }, 'Nonces mismatch'],
    ['with a nonce that is not given', { id_token: await idToken({ nonce: hashed }) },
      'Passed nonce and nonce in id_token should either both exist or not.'],
    ['without the nonce that is given', { id_token: await idToken(), nonce: 'uno' },
      'Passed nonce and nonce in id_token should either both exist or not.'],
    ['with another access token', { id_token: await idToken({ at_hash: 'x' }), access_token: 'a' }, 'Bad ID token'],
    ['not there', {}, 'id_token required']
  ]
  for (const [name, body, msg] of cases) {
    t.strictSame(await grant({ provider: 'kit', ...body }),
      { status: 400, body: { code: 400, error_code: 'validation_failed', msg } }, name)
  }
  t.match((await grant({ id_token: 'x' })).body, { msg: 'provider or client_id and issuer required' })
  const unproven = await grant({ provider: 'kit', id_token: await idToken({ sub: 'b', email_verified: false }) })
  t.match(unproven, { status: 422, body: { error_code: 'provider_email_needs_verification' } })
  t.match(await grant({ provider: 'kit', id_token: await idToken({ sub: 'b', email: undefined }) }), { status: 400 })
  t.equal(await app.db.$count(sessions), before)
})

t.test('a provider that is not configured, or has no such tokens, is refused as disabled', async (t) => {
  const id_token = await idToken()
  const unknown = { client_id: 'app', issuer: 'https://x.example' }
  for (const named of [{ provider: 'apple' }, { provider: 'github' }, unknown]) {
    const { status, body } = await grant({ ...named, id_token })
    t.match({ status, ...body }, { status: 400, error_code: 'provider_disabled', msg: /not enabled/ })
  }
  t.match(await grant({ provider: 'lontano', id_token: 'x' }), { status: 400 }, 'malformed: not asked')
  t.match(await grant({ provider: 'lontano', id_token }), { status: 503, body: { error_code: 'unexpected_failure' } })
})

t.test('an identity is added only to the account of the signed-in person', async (t) => {
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

t.test('a person with a second factor links an identity only after proving the factor', async (t) => {
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
