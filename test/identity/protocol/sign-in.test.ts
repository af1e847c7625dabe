import t from 'tap'
import type { MintedKey } from '#schemas/api-key.ts'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { callAs, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { type Client, PASSWORD, provider, requests, tokensOf } from './client.ts'

const server = await provider(t)
const { app, url, open, person, signedIn, token } = server
const anna = await person({ user_metadata: { name: 'Anna' } })
const { backendKey } = app.identity.directory.clientConfig

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
  t.equal(exchanges.length, 1, 'the client does not request a session that it has')
  t.notMatch(exchanges[0]!.answer, /password|hash|argon2/)
})

t.test('a wrong password, an unknown address and an account without a password get the same response', async (t) => {
  const without = await person({ password: undefined })
  const gone = await person()
  const service = open({ key: await server.token({ service: true }) })
  t.equal((await service.auth.admin.deleteUser(gone.id, true)).error, null)
  const answers = new Set<string>()
  for (const [email, password] of [
    [anna.email, `${PASSWORD}x`], ['nessuno@example.org', PASSWORD], [without.email, ''], [gone.email, PASSWORD],
    [anna.email, '']
  ] as const) {
    const { auth, exchanges } = open()
    const { data, error } = await auth.signInWithPassword({ email, password })
    t.same(data, { user: null, session: null })
    t.match(error,
      { name: 'AuthApiError', status: 400, code: 'invalid_credentials', message: 'Invalid login credentials' })
    answers.add(exchanges[0]!.answer)
  }
  t.equal(answers.size, 1)
})

t.test('any spelling of the address signs in, and unconfirmed or banned accounts get their own errors', async (t) => {
  for (const email of [anna.email.toUpperCase(), ` ${anna.email} `]) {
    t.equal((await open().auth.signInWithPassword({ email, password: PASSWORD })).error, null, email)
  }
  const unconfirmed = await person({ email_confirm: false })
  const banned = await person({ ban_duration: '24h' })
  for (const [{ email }, code] of [[unconfirmed, 'email_not_confirmed'], [banned, 'user_banned']] as const) {
    t.match((await open().auth.signInWithPassword({ email, password: PASSWORD })).error, { status: 400, code })
    t.match((await open().auth.signInWithPassword({ email, password: 'sbagliata' })).error,
      { code: 'invalid_credentials' })
  }
})

t.test('getUser returns the signed-in person, by the client’s own token or by a given one', async (t) => {
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

t.test('refreshSession continues the same session with new tokens', async (t) => {
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
  t.equal((await open().auth.getUser(before.access)).error, null,
    'the earlier access token is valid until it expires')
})

t.test('getClaims verifies with the published keys only, and fetches them once', async (t) => {
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

const letIn = async (access: string) => await isLetIn(app, { authorization: `Bearer ${access}` })

/** Whether the server accepts a client as signed in. */
async function isIn ({ auth }: Client): Promise<boolean> {
  const { data, error } = await auth.getUser()
  if (error && error.name !== 'AuthSessionMissingError') throw error
  return data.user !== null
}

/** Three devices of one person, and one device of another person. */
async function devices () {
  const anna = await person()
  return [await signedIn(anna), await signedIn(anna), await signedIn(anna), await signedIn(await person())] as const
}

t.test('signing out locally ends only this session, and its tokens at once', async (t) => {
  const [here, there, , somebody] = await devices()
  const { access, refresh } = await tokensOf(here)
  t.equal(await letIn(access), 200)
  t.same(await here.auth.signOut({ scope: 'local' }), { error: null })
  t.match(here.exchanges, [{ request: 'POST /logout?scope=local', sent: '', status: 204, answer: '' }])
  t.equal((await here.auth.getSession()).data.session, null)
  t.equal(await letIn(access), 401)
  t.match((await open().auth.getUser(access)).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error,
    { status: 400, code: 'refresh_token_not_found' })
  t.same([await isIn(there), await isIn(somebody)], [true, true])
})

t.test('signing out the others keeps only this session, and without a scope it ends all', async (t) => {
  for (const scope of ['others', undefined] as const) {
    const [here, there, elsewhere, somebody] = await devices()
    const tokens = await Promise.all((scope ? [there, elsewhere] : [here, there, elsewhere]).map(tokensOf))
    t.same(await here.auth.signOut(scope && { scope }), { error: null })
    t.same(requests(here), [`POST /logout?scope=${scope ?? 'global'}`])
    for (const { access } of tokens) t.equal(await letIn(access), 401)
    const isOwnKept = scope === 'others'
    t.same(await Promise.all([here, there, elsewhere, somebody].map(isIn)), [isOwnKept, false, false, true])
  }
})

const withKey = (apiKey: string) => ({ 'x-api-key': apiKey })

t.test('data is merged into the metadata of a person, and null removes a key', async (t) => {
  const client = await signedIn(await person({ user_metadata: { name: 'Anna', surname: 'Bianchi', city: 'Roma' } }))
  const { data, error } = await client.auth.updateUser({ data: { city: null, name: 'Nina', tags: ['mare'] } })
  t.equal(error, null)
  t.same(data.user?.user_metadata, { name: 'Nina', surname: 'Bianchi', tags: ['mare'] })
  t.same((await client.auth.getUser()).data.user?.user_metadata, data.user?.user_metadata)
  t.match(client.exchanges[0], {
    request: 'PUT /user',
    sent: '{"data":{"city":null,"name":"Nina","tags":["mare"]},"code_challenge":null,"code_challenge_method":null}'
  })
  t.same((await client.auth.refreshSession()).data.user?.user_metadata, data.user?.user_metadata)
  t.same((await client.auth.getClaims()).data?.claims.user_metadata, data.user?.user_metadata,
    'the next token has the new metadata')
})

t.test('a new password replaces the old one and ends every other session', async (t) => {
  const anna = await person()
  const [here, there, elsewhere] = [await signedIn(anna), await signedIn(anna), await signedIn(anna)]
  const refresh = (await tokensOf(elsewhere)).refresh
  t.equal((await here.auth.updateUser({ password: 'un’altra frase lunga' })).error, null)
  t.equal((await here.auth.getUser()).error, null)
  t.equal((await here.auth.refreshSession()).error, null)
  t.match((await there.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error,
    { status: 400, code: 'refresh_token_not_found' })
  t.match((await open().auth.signInWithPassword({ email: anna.email, password: PASSWORD })).error,
    { code: 'invalid_credentials' })
  t.equal((await open().auth.signInWithPassword({ email: anna.email, password: 'un’altra frase lunga' })).error, null)
})

t.test('a new password revokes API keys on request, and always if an administrator sets it', async (t) => {
  const anna = await person()
  const { access } = await tokensOf(await signedIn(anna))
  const mint = async () => withKey((await callAs(app, access, 'GET', '/api/cli/auth/key')).json<MintedKey>().apiKey)
  const change = async (body: object) => (await callAs(app, access, 'PUT', '/auth/v1/user', body)).statusCode
  const [first, second] = [await mint(), await mint()]
  t.equal(await change({ password: 'una frase lunga e nuova' }), 200)
  t.same([await isLetIn(app, first), await isLetIn(app, second)], [200, 200])
  t.equal(await change({ password: 'una frase ancora più lunga', revoca_chiavi: true }), 200)
  t.same([await isLetIn(app, first), await isLetIn(app, second)], [401, 401])
  const third = await mint()
  const password = 'una frase scelta da altri'
  const service = await token({ service: true })
  t.equal((await callAs(app, service, 'PUT', `/auth/v1/admin/users/${anna.id}`, { password })).statusCode, 200)
  t.equal(await isLetIn(app, third), 401)
})

t.test('the same password again is refused, and nothing changes', async (t) => {
  const anna = await person()
  const [here, there] = [await signedIn(anna), await signedIn(anna)]
  t.match((await here.auth.updateUser({ password: PASSWORD, data: { name: 'Nina' } })).error,
    { status: 422, code: 'same_password' })
  t.same((await here.auth.getUser()).data.user?.user_metadata, {})
  t.equal((await there.auth.getUser()).error, null)
})

t.test('a person with several identities can unlink one, but not the last one', async (t) => {
  const anna = await person()
  await app.db.transaction(async (tx) => {
    await addIdentity(tx, anna.id, {
      provider: 'google', provider_id: '1234', identity_data: { sub: '1234', email: anna.email, email_verified: true }
    })
    await updateProviders(tx, anna.id)
  })
  const client = await signedIn(anna)
  const { data } = await client.auth.getUserIdentities()
  t.match(data?.identities,
    [{ provider: 'email', id: anna.id, user_id: anna.id }, { provider: 'google', id: '1234', user_id: anna.id }])
  const [email, google] = data!.identities
  t.match((await client.auth.getUser()).data.user?.app_metadata, { provider: 'email', providers: ['email', 'google'] })
  client.exchanges.length = 0
  t.same(await client.auth.unlinkIdentity(google!), { data: {}, error: null })
  t.match(client.exchanges,
    [{ request: `DELETE /user/identities/${google!.identity_id}`, sent: '', status: 200, answer: '{}' }])
  t.match((await client.auth.getUser()).data.user?.app_metadata,
    { provider: 'email', providers: ['email'], role: 'operator' })
  t.match((await client.auth.unlinkIdentity(email!)).error, { status: 422, code: 'single_identity_not_deletable' })
  t.same((await client.auth.getUserIdentities()).data?.identities.map(({ provider }) => provider), ['email'])
  t.equal((await open().auth.signInWithPassword({ email: anna.email, password: PASSWORD })).error, null)
})

t.test('a person cannot unlink another person’s identity', async (t) => {
  const [anna, piero] = [await person(), await person()]
  const theirs = (await (await signedIn(piero)).auth.getUserIdentities()).data!.identities[0]!
  await addIdentity(app.db, anna.id, { provider: 'google', provider_id: '5678', identity_data: {} })
  const client = await signedIn(anna)
  t.match((await client.auth.unlinkIdentity(theirs)).error, { status: 422, code: 'identity_not_found' })
  t.equal((await (await signedIn(piero)).auth.getUserIdentities()).data!.identities.length, 1)
  t.same(requests(client).length, 1)
})
