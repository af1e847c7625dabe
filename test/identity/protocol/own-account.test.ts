import t from 'tap'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import type { MintedKey } from '#schemas/api-key.ts'
import { as, isLetIn } from '#test/identity/requests.ts'
import { PASSWORD, provider, requests, tokensOf } from './client.ts'

const { app, open, person, signedIn, token } = await provider(t)

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
  t.same(
    (await client.auth.getClaims()).data?.claims.user_metadata,
    data.user?.user_metadata,
    'and the next token says so'
  )
})

t.test('a new password replaces the old one and ends every other session', async (t) => {
  const anna = await person()
  const [here, there, elsewhere] = [await signedIn(anna), await signedIn(anna), await signedIn(anna)]
  const refresh = (await tokensOf(elsewhere)).refresh
  t.equal((await here.auth.updateUser({ password: 'un’altra frase lunga' })).error, null)
  t.equal((await here.auth.getUser()).error, null)
  t.equal((await here.auth.refreshSession()).error, null)
  t.match((await there.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error, {
    status: 400,
    code: 'refresh_token_not_found'
  })
  t.match((await open().auth.signInWithPassword({ email: anna.email, password: PASSWORD })).error, {
    code: 'invalid_credentials'
  })
  t.equal((await open().auth.signInWithPassword({ email: anna.email, password: 'un’altra frase lunga' })).error, null)
})

t.test('a new password revokes the API keys when that is asked for, an administrator’s one in any case', async (t) => {
  const anna = await person()
  const { access } = await tokensOf(await signedIn(anna))
  const mint = async () => withKey((await as(app, access, 'GET', '/api/cli/auth/key')).json<MintedKey>().apiKey)
  const change = async (body: object) => (await as(app, access, 'PUT', '/auth/v1/user', body)).statusCode
  const [first, second] = [await mint(), await mint()]
  t.equal(await change({ password: 'una frase lunga e nuova' }), 200)
  t.same([await isLetIn(app, first), await isLetIn(app, second)], [200, 200])
  t.equal(await change({ password: 'una frase ancora più lunga', revoca_chiavi: true }), 200)
  t.same([await isLetIn(app, first), await isLetIn(app, second)], [401, 401])
  const third = await mint()
  const password = 'una frase scelta da altri'
  const service = await token({ service: true })
  t.equal((await as(app, service, 'PUT', `/auth/v1/admin/users/${anna.id}`, { password })).statusCode, 200)
  t.equal(await isLetIn(app, third), 401)
})

t.test('the same password again is refused and changes nothing', async (t) => {
  const anna = await person()
  const [here, there] = [await signedIn(anna), await signedIn(anna)]
  t.match((await here.auth.updateUser({ password: PASSWORD, data: { name: 'Nina' } })).error, {
    status: 422,
    code: 'same_password'
  })
  t.same((await here.auth.getUser()).data.user?.user_metadata, {})
  t.equal((await there.auth.getUser()).error, null)
})

t.test('a weak password is refused with the reasons', async (t) => {
  const anna = await person()
  const { auth } = await signedIn(anna)
  for (const [password, reasons] of [
    ['corta', ['length']],
    ['x'.repeat(129), ['length']],
    ['password', ['pwned']],
    [anna.email, ['pwned']],
    ['con\tun tabulatore', ['characters']],
    ['', ['length']]
  ] as const) {
    const { error } = await auth.updateUser({ password })
    t.match(error, { name: 'AuthWeakPasswordError', status: 422, code: 'weak_password' }, password)
    t.same(error && 'reasons' in error ? error.reasons : undefined, reasons, password)
  }
})

t.test('a person cannot give themselves rights', async (t) => {
  const { auth } = await signedIn(await person())
  const promotion = { data: { name: 'Nina' }, app_metadata: { role: 'admin' } }
  t.match((await auth.updateUser(promotion)).error, { status: 403, code: 'not_admin' })
  const { data: { user } } = await auth.getUser()
  t.match(user, { app_metadata: { role: 'operator' }, user_metadata: {} })
  const claim = {
    data: { role: 'admin', app_metadata: { role: 'admin' } },
    role: 'service_role',
    aud: 'admin',
    id: '00000000-0000-4000-8000-000000000000'
  }
  t.equal((await auth.updateUser(claim)).error, null, 'what a person says of themselves is theirs to say')
  t.match((await auth.refreshSession()).data.user, {
    id: user!.id,
    role: 'authenticated',
    aud: 'authenticated',
    app_metadata: { role: 'operator' }
  })
  t.match((await auth.getClaims()).data?.claims, { role: 'authenticated', app_metadata: { role: 'operator' } })
})

t.test('a person with several identities can unlink one, but not the last one', async (t) => {
  const anna = await person()
  await app.db.transaction(async (tx) => {
    await addIdentity(tx, anna.id, {
      provider: 'google',
      provider_id: '1234',
      identity_data: { sub: '1234', email: anna.email, email_verified: true }
    })
    await updateProviders(tx, anna.id)
  })
  const client = await signedIn(anna)
  const { data } = await client.auth.getUserIdentities()
  t.match(data?.identities, [
    { provider: 'email', id: anna.id, user_id: anna.id },
    { provider: 'google', id: '1234', user_id: anna.id }
  ])
  const [email, google] = data!.identities
  t.match((await client.auth.getUser()).data.user?.app_metadata, { provider: 'email', providers: ['email', 'google'] })
  client.exchanges.length = 0
  t.same(await client.auth.unlinkIdentity(google!), { data: {}, error: null })
  t.match(client.exchanges, [
    { request: `DELETE /user/identities/${google!.identity_id}`, sent: '', status: 200, answer: '{}' }
  ])
  t.match((await client.auth.getUser()).data.user?.app_metadata, {
    provider: 'email',
    providers: ['email'],
    role: 'operator'
  })
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
