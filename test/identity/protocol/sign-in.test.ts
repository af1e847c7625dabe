import { once, EventEmitter } from 'node:events'
import t from 'tap'
import { claimsOf } from '#test/identity/token-parts.ts'
import { PASSWORD, provider, requests, tokensOf, type Client } from './client.ts'

const server = await provider(t)
const { app, url, open, person, signedIn } = server
const anna = await person({ user_metadata: { name: 'Anna' } })
const { backendKey } = app.identity.directory.clientConfig

/** Leaves the client's session only these seconds to live. */
function hasten ({ storage }: Client, seconds: number): void {
  const kept = JSON.parse(storage.get('session')!) as { expires_at: number }
  storage.set('session', JSON.stringify({ ...kept, expires_at: Math.floor(Date.now() / 1000) + seconds }))
}

t.test('a right password gives a session and the user, without internal fields', async (t) => {
  const { auth, exchanges } = open()
  const { data, error } = await auth.signInWithPassword({ email: anna.email, password: PASSWORD })
  t.equal(error, null)
  t.match(data.session, {
    access_token: /^ey[^.]+\.[^.]+\.[^.]+$/,
    refresh_token: /^[A-Za-z0-9_-]{51,56}$/,
    expires_in: 3600,
    token_type: 'bearer'
  })
  const claims = claimsOf(data.session!.access_token)
  t.equal(claims.exp, data.session!.expires_at)
  t.match(claims, {
    iss: `${url}/auth/v1`,
    sub: anna.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: anna.email,
    phone: '',
    aal: 'aal1',
    is_anonymous: false,
    app_metadata: { provider: 'email', providers: ['email'], role: 'operator' },
    user_metadata: { name: 'Anna' },
    session_id: /^[0-9a-f-]{36}$/
  })
  t.match(claims.amr, [{ method: 'password', timestamp: Number }])
  t.match(data.user, {
    id: anna.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: anna.email,
    phone: '',
    is_anonymous: false,
    user_metadata: { name: 'Anna' },
    email_confirmed_at: String,
    last_sign_in_at: String,
    identities: [{ provider: 'email', id: anna.id, user_id: anna.id, identity_id: /^[0-9a-f-]{36}$/ }]
  })
  t.same((await auth.getSession()).data.session, data.session)
  t.equal(exchanges.length, 1, 'a session that is at hand is not asked for')
  t.notMatch(exchanges[0]!.answer, /password|hash|argon2/)
})

t.test(
  'a wrong password, an unknown address and an account without a password get the same answer',
  async (t) => {
    const without = await person({ password: undefined })
    const gone = await person()
    const service = open({ key: await server.token({ service: true }) })
    t.equal((await service.auth.admin.deleteUser(gone.id, true)).error, null)
    const answers = new Set<string>()
    for (const [email, password] of [
      [anna.email, `${PASSWORD}x`],
      ['nessuno@example.org', PASSWORD],
      [without.email, ''],
      [gone.email, PASSWORD],
      [anna.email, '']
    ] as const) {
      const { auth, exchanges } = open()
      const { data, error } = await auth.signInWithPassword({ email, password })
      t.same(data, { user: null, session: null })
      t.match(error, {
        name: 'AuthApiError',
        status: 400,
        code: 'invalid_credentials',
        message: 'Invalid login credentials'
      })
      answers.add(exchanges[0]!.answer)
    }
    t.equal(answers.size, 1)
  }
)

t.test(
  'an address is the same in any spelling, and after a right password an unconfirmed or banned account says so',
  async (t) => {
    for (const email of [anna.email.toUpperCase(), ` ${anna.email} `]) {
      t.equal((await open().auth.signInWithPassword({ email, password: PASSWORD })).error, null, email)
    }
    const unconfirmed = await person({ email_confirm: false })
    const banned = await person({ ban_duration: '24h' })
    for (const [{ email }, code] of [
      [unconfirmed, 'email_not_confirmed'],
      [banned, 'user_banned']
    ] as const) {
      t.match((await open().auth.signInWithPassword({ email, password: PASSWORD })).error, { status: 400, code })
      t.match((await open().auth.signInWithPassword({ email, password: 'sbagliata' })).error, {
        code: 'invalid_credentials'
      })
    }
  }
)

t.test('getUser returns the person who is signed in, by the client’s own token or by a given one', async (t) => {
  const client = await signedIn(anna)
  const { data: { user } } = await client.auth.getUser()
  t.match(user, { id: anna.id, email: anna.email })
  const { access } = await tokensOf(client)
  const other = open()
  t.same((await other.auth.getUser(access)).data.user, user)
  t.same([...requests(client), ...requests(other)], ['GET /user', 'GET /user'])
  t.match((await open().auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.getUser(`${access.slice(0, -8)}AAAAAAAA`)).error, { status: 403, code: 'bad_jwt' })
})

t.test('setSession carries a session over to another client', async (t) => {
  const { access, refresh } = await tokensOf(await signedIn(anna))
  const other = open()
  const { data, error } = await other.auth.setSession({ access_token: access, refresh_token: refresh })
  t.equal(error, null)
  t.equal(data.user?.id, anna.id)
  t.same(requests(other), ['GET /user'])
  t.equal((await other.auth.getUser()).data.user?.id, anna.id)
  t.match((await open().auth.setSession({ access_token: `${access}x`, refresh_token: refresh })).error, {
    status: 403,
    code: 'bad_jwt'
  })
})

t.test('setSession with an expired token refreshes it', async (t) => {
  const { access, refresh } = await tokensOf(await signedIn(anna))
  const [header, claims, signature] = access.split('.')
  const past = Buffer.from(
    JSON.stringify({ ...(JSON.parse(Buffer.from(claims!, 'base64url').toString()) as object), exp: 1 })
  ).toString('base64url')
  const client = open()
  const { data, error } = await client.auth.setSession({
    access_token: [header, past, signature].join('.'),
    refresh_token: refresh
  })
  t.equal(error, null)
  t.same(requests(client), ['POST /token?grant_type=refresh_token'])
  t.not(data.session?.refresh_token, refresh)
})

t.test('refreshSession goes on with the same session under new tokens', async (t) => {
  const client = await signedIn(anna)
  const before = await tokensOf(client)
  const { data, error } = await client.auth.refreshSession()
  t.equal(error, null)
  t.not(data.session!.refresh_token, before.refresh)
  t.equal(claimsOf(data.session!.access_token).session_id, claimsOf(before.access).session_id)
  t.match(data.user, { id: anna.id })
  const [asked] = client.exchanges
  t.equal(asked?.request, 'POST /token?grant_type=refresh_token')
  t.equal(asked?.headers.get('authorization'), `Bearer ${backendKey}`)
  t.same(JSON.parse(asked!.sent), { refresh_token: before.refresh })
  t.equal((await client.auth.getUser()).error, null)
  t.equal(
    (await open().auth.getUser(before.access)).error,
    null,
    'the access token before it is good until it runs out'
  )
})

t.test('a session that is about to expire is refreshed by itself, once for all callers', async (t) => {
  const client = await signedIn(anna)
  const before = await tokensOf(client)
  hasten(client, 60)
  const sessions = await Promise.all([
    client.auth.getSession(),
    client.auth.getSession(),
    client.auth.getUser().then(() => client.auth.getSession())
  ])
  t.same(requests(client), ['POST /token?grant_type=refresh_token', 'GET /user'])
  t.equal(new Set(sessions.map(({ data }) => data.session?.refresh_token)).size, 1)
  t.not(sessions[0]?.data.session?.refresh_token, before.refresh)

  hasten(client, 60)
  const bell = new EventEmitter()
  const { data: { subscription } } = client.auth.onAuthStateChange((event) => { bell.emit(event) })
  t.teardown(() => subscription.unsubscribe())
  const refreshed = once(bell, 'TOKEN_REFRESHED')
  await client.auth.startAutoRefresh()
  await refreshed
  await client.auth.stopAutoRefresh()
  t.equal(requests(client).filter((request) => request.startsWith('POST /token')).length, 2)
})

t.test('getClaims verifies with the published keys alone, and fetches them once', async (t) => {
  const client = await signedIn(anna)
  const { data, error } = await client.auth.getClaims()
  t.equal(error, null)
  t.match(data?.claims, { sub: anna.id, role: 'authenticated', session_id: String })
  t.match(data?.header, { alg: 'ES256', typ: 'JWT', kid: String })
  const { access } = await tokensOf(client)
  t.equal((await client.auth.getClaims(access)).data?.claims.sub, anna.id)
  t.same(requests(client), ['GET /.well-known/jwks.json'])

  const [header, claims, signature] = access.split('.')
  const promoted = Buffer.from(JSON.stringify({ ...data?.claims, app_metadata: { role: 'admin' } })).toString(
    'base64url'
  )
  t.not(promoted, claims)
  t.match((await client.auth.getClaims([header, promoted, signature].join('.'))).error, { name: 'AuthInvalidJwtError' })
  t.equal(client.exchanges.length, 1)
})

t.test('after the signing key was replaced getClaims fetches the keys once more', async (t) => {
  const client = await signedIn(anna)
  t.equal((await client.auth.getClaims()).error, null)
  const { kid } = await app.identity.signer.signingKeys.rotate(true)
  await app.identity.waitForListeners()
  t.equal((await client.auth.refreshSession()).error, null)
  client.exchanges.length = 0
  t.match((await client.auth.getClaims()).data, { header: { kid }, claims: { sub: anna.id } })
  t.same(requests(client), ['GET /.well-known/jwks.json'])
})
