import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { ApiKey, MintedKey } from '#schemas/api-key.ts'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { enrolApp } from '#test/identity/factors/authenticator.ts'
import { type Client, provider, type Provider, tokensOf } from '#test/identity/protocol/client.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const MINT = '/api/cli/auth/key'
const KEYS = '/api/v1/keys'
const DAY_MS = 86_400_000

const withKey = (apiKey: string) => ({ 'x-api-key': apiKey })
const mint = async (app: FastifyInstance, token: string, query = ''): Promise<MintedKey> =>
  (await callAs(app, token, 'GET', MINT + query)).json()
const list = async (app: FastifyInstance, headers: Record<string, string>, query = ''): Promise<ApiKey[]> =>
  (await app.inject({ url: KEYS + query, headers })).json().data

const [{ app, token, logs }, { app: other }] = await twoServers(t)

t.test('the list of keys', async (t) => {
  const [anna, piero, admin] = await Promise.all([
    token({ name: 'anna' }), token({ name: 'piero' }), token({ name: 'ada', role: 'admin' })
  ])
  const mine = [await mint(app, anna, '?name=prima'), await mint(app, anna, '?name=seconda&scopes=lettura')]
  const his = await mint(app, piero, '?name=sua')

  t.test('a person sees their own keys, latest first, without the secret', async (t) => {
    const keys = await list(app, bearer(anna))
    t.same(keys.map(({ id }) => id), mine.map(({ id }) => id).reverse())
    for (const key of keys) {
      t.same(Object.keys(key).sort(),
        ['created_at', 'expires_at', 'id', 'last_used_at', 'name', 'revoked_at', 'scopes', 'user_id'])
    }
    t.match(keys[0],
      { name: 'seconda', scopes: ['lettura'], user_id: claimsOf(anna).sub, last_used_at: null, revoked_at: null })
    t.match(keys[1], { scopes: ['lettura', 'scrittura', 'invio', 'amministrazione'] })
  })

  t.test('administrators see the keys of all persons on request', async (t) => {
    t.same((await list(app, bearer(admin), '?tutte=true')).map(({ id }) => id), [his.id, mine[1]!.id, mine[0]!.id])
    t.same(await list(app, bearer(admin)), [])
    for (const headers of [bearer(anna), withKey(API_KEY), withKey(mine[0]!.apiKey)]) {
      const response = await app.inject({ url: `${KEYS}?tutte=true`, headers })
      t.match([response.statusCode, response.json()], [403, { codice: 'NON_AUTORIZZATO' }])
    }
    t.equal((await app.inject({ url: KEYS })).statusCode, 401)
    t.same(await list(app, withKey(API_KEY)), [], 'the server key has no keys')
  })

  t.test('the list shows when a key was last used', async (t) => {
    t.equal(await isLetIn(app, withKey(his.apiKey)), 200)
    for (let used: string | null = null; used === null;) {
      used = (await list(app, bearer(piero)))[0]?.last_used_at ?? null
    }
    t.pass('it is noted, a little later')
  })
})

t.test('creating a key', async (t) => {
  const anna = await token({ name: 'amelia' })

  t.test('the response shows the key once, with its id and its expiry', async (t) => {
    const response = await callAs(app, anna, 'GET', MINT)
    t.equal(response.statusCode, 200)
    t.equal(response.headers['cache-control'], 'no-store')
    const { apiKey, id, created_at, expires_at } = response.json() as MintedKey
    t.same(Object.keys(response.json()).sort(), ['apiKey', 'created_at', 'expires_at', 'id'])
    t.match(apiKey, /^lcd_[0-9a-f]{16}_[0-9a-f]{64}_[0-9a-f]{12}$/)
    t.equal(apiKey.split('_')[1], id)
    t.equal(Date.parse(expires_at) - Date.parse(created_at), 90 * DAY_MS)
    t.equal(await isLetIn(app, withKey(apiKey)), 200)
    t.equal((await app.inject(`/api/v1/paesi?api_key=${apiKey}`)).statusCode, 200, 'the key is accepted in the query')
    const again = (await callAs(app, anna, 'GET', MINT)).json() as MintedKey
    t.not(again.apiKey, apiKey, 'another request creates another key')
    t.not(again.id, id)
    t.equal(await isLetIn(app, withKey(apiKey)), 200, 'besides the first')
  })

  t.test('the database stores only the hash of a key, and the log does not contain the secret', async (t) => {
    const { apiKey, id } = await mint(app, anna, '?name=portatile')
    t.equal(await isLetIn(app, withKey(apiKey)), 200)
    await app.inject(`/nulla?api_key=${apiKey}`)
    const [row] = await app.sql`select encode(secret_hash, 'hex') as hash from api_keys where id = ${id}`
    t.equal(row!.hash, hash('sha256', apiKey, 'hex'))
    const everything = await app.sql`
      select (select json_agg(k)::text from api_keys k) || (select json_agg(a)::text from audit_log a) as dump`
    const secret = apiKey.split('_')[2]!
    t.ok(String(everything[0]!.dump).includes(id))
    t.notOk(String(everything[0]!.dump).includes(secret))
    t.ok(logs.length > 3)
    t.notOk(JSON.stringify(logs).includes(secret))
    const [entry] = await app.sql`select actor, action, object from audit_log order by id desc limit 1`
    t.same({ ...entry }, { actor: `user:${claimsOf(anna).sub}`, action: 'chiave_creata', object: `key:${id}` })
  })

  t.test('a key may have a name, days and scopes, and no other field', async (t) => {
    const { id, created_at, expires_at } = await mint(
      app,
      anna,
      '?name=Portatile%20di%20Anna&days=365&scopes=invio,lettura'
    )
    t.equal(Date.parse(expires_at) - Date.parse(created_at), 365 * DAY_MS)
    t.match((await list(app, bearer(anna))).find((key) => key.id === id),
      { name: 'Portatile di Anna', scopes: ['invio', 'lettura'], expires_at })
    for (const query of [
      'days=0', 'days=366', 'days=molti', 'scopes=', 'scopes=tutto', 'scopes=lettura,', 'scopes=lettura;invio',
      `name=${'x'.repeat(101)}`, 'name=a%00b', 'user_id=1'
    ]) {
      t.equal((await callAs(app, anna, 'GET', `${MINT}?${query}`)).statusCode, 400, query)
    }
  })

  t.test('a person who waits for a role cannot create a key, and others have at most twenty valid ones', async (t) => {
    const pending = await callAs(app, await token({ name: 'nuova', role: 'pending' }), 'GET', MINT)
    t.match([pending.statusCode, pending.json()], [403, { codice: 'ACCOUNT_IN_ATTESA' }])
    const many = await token({ name: 'molte' })
    const responses = await Promise.all(Array.from({ length: 24 }, () => callAs(app, many, 'GET', MINT)))
    t.equal(responses.filter(({ statusCode }) => statusCode === 200).length, 20)
    const refused = responses.find(({ statusCode }) => statusCode !== 200)
    t.match([refused?.statusCode, refused?.json()], [409, { codice: 'TROPPE_CHIAVI' }])
    const [{ id }] = await list(app, bearer(many)) as [ApiKey]
    t.equal((await callAs(app, many, 'DELETE', `${KEYS}/${id}`)).statusCode, 200)
    t.equal((await callAs(app, many, 'GET', MINT)).statusCode, 200, 'a revoked key does not count')
  })

  t.test('no key is created when all sessions are revoked during the request', async (t) => {
    const late = await token({ name: 'tarda' })
    const { sub } = claimsOf(late)
    const { made } = await app.sql.begin(async (sql) => {
      await sql`select from users where id = ${sub} for update`
      const made = callAs(app, late, 'GET', MINT)
      const waiting = () =>
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      for (let rows = await waiting(); rows.length === 0;) rows = await waiting()
      await sql`delete from sessions where user_id = ${sub}`
      return { made }
    })
    t.match([(await made).statusCode, (await made).json()], [401, { codice: 'NON_AUTENTICATO' }])
    t.equal((await app.sql`select from api_keys where user_id = ${sub}`).length, 0)
  })

  t.test('an altered key and a key of another installation are refused', async (t) => {
    const { apiKey } = await mint(app, anna)
    const [prefix, id, secret, mac] = apiKey.split('_') as [string, string, string, string]
    const turned = (hex: string) => (hex[0] === '0' ? '1' : '0') + hex.slice(1)
    const { apiKey: other } = await mint(app, anna)
    const wrong = [
      [prefix, turned(id), secret, mac], [prefix, id, turned(secret), mac], [prefix, id, secret, turned(mac)],
      [prefix, id, other.split('_')[2], mac], [prefix, other.split('_')[1], secret, mac], ['sk', id, secret, mac],
      [prefix, id, secret], [prefix, id, secret, mac, ''], [prefix, id, secret.toUpperCase(), mac],
      [prefix, id, '', mac]
    ]
    for (const parts of wrong) t.equal(await isLetIn(app, withKey(parts.join('_'))), 401)
    t.equal(await isLetIn(app, bearer(apiKey)), 401, 'a key is not a bearer token')
    const elsewhere = await build(t)
    t.equal(await isLetIn(elsewhere.app, withKey(apiKey)), 401, 'another installation')
  })
})

t.test('revoking a key', async (t) => {
  const [anna, piero, admin] = await Promise.all([
    token({ name: 'anna' }), token({ name: 'piero' }), token({ name: 'ada', role: 'admin' })
  ])
  const both = (apiKey: string) => Promise.all([app, other].map((each) => isLetIn(each, withKey(apiKey))))
  const revoke = async (headers: Record<string, string>, id: string, on = app) =>
    await on.inject({ method: 'DELETE', url: `${KEYS}/${id}`, headers })

  t.test('when the revocation responds, every server refuses the key and accepts other keys', async (t) => {
    for (let round = 0; round < 4; round++) {
      const [gone, stays] = [await mint(app, anna), await mint(app, anna)]
      t.same([...await both(gone.apiKey), ...await both(stays.apiKey)], [200, 200, 200, 200])
      const response = await revoke(bearer(anna), gone.id, [app, other][round % 2])
      t.match([response.statusCode, response.json()], [200, { message: 'Chiave revocata', status: 200 }])
      t.same(await both(gone.apiKey), [401, 401])
      t.same(await both(stays.apiKey), [200, 200])
    }
    const [entry] =
      await app.sql`select actor, object from audit_log where action = 'chiave_revocata' order by id desc limit 1`
    t.match({ ...entry }, { actor: `user:${claimsOf(anna).sub}`, object: /^key:[0-9a-f]{16}$/ })
  })

  t.test('another person’s key is reported as missing, except to administrators', async (t) => {
    const { id, apiKey } = await mint(app, anna)
    const responses = [
      await revoke(bearer(piero), id),
      await revoke(bearer(piero), '0000000000000000'),
      await revoke(withKey(API_KEY), id)
    ]
    for (const response of responses) {
      t.match([response.statusCode, { ...response.json(), requestId: '' }],
        [404, { error: 'Chiave API non trovata', status: 404, codice: 'CHIAVE_NON_TROVATA', requestId: '' }])
    }
    t.same(await both(apiKey), [200, 200])
    t.equal((await revoke(bearer(admin), id)).statusCode, 200)
    t.same(await both(apiKey), [401, 401])
    t.equal((await revoke(bearer(admin), id)).statusCode, 404, 'it is already revoked')
    t.ok((await list(app, bearer(anna))).find((key) => key.id === id)?.revoked_at, 'it is still listed')
  })

  t.test('a key of any scope can revoke itself, and only the write scope can revoke other keys', async (t) => {
    const [reader, writer, victim] = [
      await mint(app, anna, '?scopes=lettura'),
      await mint(app, anna, '?scopes=lettura,scrittura'),
      await mint(app, anna)
    ]
    t.match((await revoke(withKey(reader.apiKey), victim.id)).json(), { status: 403, codice: 'AMBITO_INSUFFICIENTE' })
    t.equal((await revoke(withKey(writer.apiKey), victim.id)).statusCode, 200)
    t.equal((await revoke(withKey(reader.apiKey), reader.id)).statusCode, 200)
    t.same(await both(reader.apiKey), [401, 401])
  })
})

t.test('an expired key is refused, cached or not', async (t) => {
  const anna = await token({ name: 'carla' })
  const { id, apiKey } = await mint(app, anna)
  t.equal(await isLetIn(app, withKey(apiKey)), 200)
  await app.sql`update api_keys set expires_at = now() where id = ${id}`
  await app.identity.waitForListeners()
  t.same([await isLetIn(app, withKey(apiKey)), await isLetIn(other, withKey(apiKey))], [401, 401])

  const soon = await mint(app, anna)
  const end = Date.now() + 300
  await app.sql`update api_keys set expires_at = ${new Date(end).toISOString()}::timestamptz where id = ${soon.id}`
  await app.identity.waitForListeners()
  const late: number[] = []
  for (let status = 200; status === 200;) {
    const asked = Date.now()
    status = await isLetIn(app, withKey(soon.apiKey))
    if (status === 200 && asked >= end) late.push(asked - end)
  }
  t.same(late, [], 'it was valid until it expired')
})

t.test('a key has the current rights of its person', async (t) => {
  const service = await token({ service: true })
  const { user, access_token } = await signIn(app, 'anita', 'operator')
  const { apiKey } = await mint(app, access_token)
  const change = async (body: object) =>
    t.equal((await callAs(app, service, 'PUT', `/auth/v1/admin/users/${user.id}`, body)).statusCode, 200)
  const headers = withKey(apiKey)
  const status = async (url: string) =>
    await Promise.all([app, other].map(async (each) => (await each.inject({ url, headers })).statusCode))
  const users = () => status('/api/users')
  const countries = () => status('/api/v1/paesi')

  t.same([await countries(), await users()], [[200, 200], [403, 403]], 'as an operator')
  await change({ app_metadata: { role: 'admin' } })
  t.same([await countries(), await users()], [[200, 200], [200, 200]], 'promoted')
  await change({ app_metadata: { role: 'operator' } })
  t.same([await countries(), await users()], [[200, 200], [403, 403]], 'demoted')
  await change({ app_metadata: { role: 'pending' } })
  t.same([await countries(), await users()], [[403, 403], [403, 403]], 'as a user without a role')
  await change({ app_metadata: { role: 'operator' } })
  await change({ ban_duration: '1h' })
  t.same(await countries(), [401, 401], 'banned')
  await change({ ban_duration: 'none' })
  t.same(await countries(), [200, 200], 'after the unban')
  t.equal(
    (await callAs(app, service, 'DELETE', `/auth/v1/admin/users/${user.id}`, { should_soft_delete: true })).statusCode,
    200
  )
  t.same(await countries(), [401, 401], 'deleted')

  const { user: second, access_token: seconds } = await signIn(app, 'brunella', 'operator')
  const { apiKey: key } = await mint(app, seconds)
  t.equal(await isLetIn(other, withKey(key)), 200)
  t.equal((await callAs(app, service, 'DELETE', `/auth/v1/admin/users/${second.id}`)).statusCode, 200)
  t.same([await isLetIn(app, withKey(key)), await isLetIn(other, withKey(key))], [401, 401], 'after the deletion')
})

t.test('a revoked key stops administering at once, even on a server that was not notified', async (t) => {
  const { access_token } = await signIn(app, 'amministratrice', 'admin')
  const { apiKey, id } = (await callAs(app, access_token, 'GET', MINT)).json<MintedKey>()
  const administers = async () =>
    (await other.inject({ url: '/api/users', headers: { 'x-api-key': apiKey } })).statusCode
  t.equal(await administers(), 200)
  await app.sql.begin(async (tx) => {
    await tx`alter table api_keys disable trigger api_keys_changed`
    await tx`update api_keys set revoked_at = now() where id = ${id}`
    await tx`alter table api_keys enable trigger api_keys_changed`
  })
  t.equal(await isLetIn(other, { 'x-api-key': apiKey }), 200, 'it is cached')
  t.equal(await administers(), 403)
  t.equal((await other.inject({ url: '/api/v1/keys?tutte=true', headers: { 'x-api-key': apiKey } })).statusCode, 403)
})

const REFUSED = { status: 403, codice: 'SECONDO_FATTORE_RICHIESTO' }

const mintOf = async ({ app }: Provider, client: Client) => await mint(app, (await tokensOf(client)).access)

const server = await provider(t)

/** A person with two identities, and with keys from before and after the second factor. */
async function setting () {
  const person = await server.person()
  await server.app.db.transaction(async (tx) => {
    const identity_data = { sub: person.id, email: 'altrove@example.org', email_verified: true }
    await addIdentity(tx, person.id, { provider: 'google', provider_id: person.id, identity_data })
    await updateProviders(tx, person.id)
  })
  const client = await server.signedIn(person)
  const [before, another] = [await mintOf(server, client), await mintOf(server, client)]
  await enrolApp(client)
  return { client, person, before, another, after: await mintOf(server, client) }
}

t.test('a key created with only a password cannot unlink identities once its person has a second factor', async (t) => {
  const { app } = server
  const { person, client, before, after } = await setting()
  const unlink = async (key: MintedKey, provider: string) =>
    await app.inject({ method: 'POST', url: '/api/auth/unlink', headers: withKey(key.apiKey), payload: { provider } })
  const account = async () => (await app.sql`
    select email, password_hash is not null as has_password,
           (select count(*)::int from identities where user_id = users.id) as identities
    from users where id = ${person.id}`)[0]
  for (const each of ['email', 'google']) t.match((await unlink(before, each)).json(), REFUSED, each)
  t.same({ ...await account() }, { email: person.email, has_password: true, identities: 2 })
  t.equal((await unlink(after, 'google')).statusCode, 200, 'a key made with the factor does')
  t.equal((await client.auth.getUserIdentities()).data?.identities.length, 1)
})

t.test('a key created with only a password can revoke only itself once its person has a second factor', async (t) => {
  const { app } = server
  const { client, before, another, after } = await setting()
  const revoke = async (headers: Record<string, string>, { id }: MintedKey) =>
    await app.inject({ method: 'DELETE', url: `${KEYS}/${id}`, headers })
  const live = async () => {
    const headers = bearer((await tokensOf(client)).access)
    const { data } = (await app.inject({ url: KEYS, headers })).json<{ data: ApiKey[] }>()
    return data.filter(({ revoked_at }) => revoked_at === null).map(({ id }) => id).sort()
  }
  for (const each of [after, another]) t.match((await revoke(withKey(before.apiKey), each)).json(), REFUSED)
  t.same(await live(), [before.id, another.id, after.id].sort())
  t.equal((await revoke(withKey(before.apiKey), before)).statusCode, 200)
  t.equal((await revoke(withKey(after.apiKey), another)).statusCode, 200)
  t.equal((await revoke(bearer((await tokensOf(client)).access), after)).statusCode, 200)
  t.same(await live(), [])
})
