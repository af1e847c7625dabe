import t from 'tap'
import type { ApiKey, MintedKey } from '#schemas/api-key.ts'
import { addIdentity, updateProviders } from '#src/identity/people/identity-rows.ts'
import { provider, tokensOf, type Client, type Provider } from '#test/identity/protocol/client.ts'
import { bearer } from '#test/identity/requests.ts'
import { enrolApp } from './authenticator.ts'

const KEYS = '/api/v1/keys'
const REFUSED = { status: 403, codice: 'SECONDO_FATTORE_RICHIESTO' }

const mint = async ({ app }: Provider, client: Client) =>
  (await app.inject({ url: '/api/cli/auth/key', headers: bearer((await tokensOf(client)).access) })).json<MintedKey>()
const withKey = ({ apiKey }: MintedKey) => ({ 'x-api-key': apiKey })

/** Somebody with two identities, and a key from before the second factor and one from after. */
async function setting (server: Provider) {
  const person = await server.person()
  await server.app.db.transaction(async (tx) => {
    const identity_data = { sub: '1234', email: 'altrove@example.org', email_verified: true }
    await addIdentity(tx, person.id, { provider: 'google', provider_id: '1234', identity_data })
    await updateProviders(tx, person.id)
  })
  const client = await server.signedIn(person)
  const [before, another] = [await mint(server, client), await mint(server, client)]
  await enrolApp(client)
  return { client, person, before, another, after: await mint(server, client) }
}

t.test('a key made with the password alone unlinks nothing once its person has a second factor', async (t) => {
  const server = await provider(t)
  const { app } = server
  const { person, client, before, after } = await setting(server)
  const unlink = async (key: MintedKey, provider: string) =>
    await app.inject({ method: 'POST', url: '/api/auth/unlink', headers: withKey(key), payload: { provider } })
  const account = async () => (await app.sql`
    select email, password_hash is not null as has_password,
           (select count(*)::int from identities where user_id = users.id) as identities
    from users where id = ${person.id}`)[0]
  for (const each of ['email', 'google']) t.match((await unlink(before, each)).json(), REFUSED, each)
  t.same({ ...await account() }, { email: person.email, has_password: true, identities: 2 })
  t.equal((await unlink(after, 'google')).statusCode, 200, 'one that was made with the factor does')
  t.equal((await client.auth.getUserIdentities()).data?.identities.length, 1)
})

t.test('a key unlinks a provider while its person has no second factor', async (t) => {
  const server = await provider(t)
  const person = await server.person()
  await addIdentity(server.app.db, person.id, { provider: 'google', provider_id: '1234', identity_data: {} })
  const key = await mint(server, await server.signedIn(person))
  const payload = { provider: 'google' }
  const answer = await server.app.inject({ method: 'POST', url: '/api/auth/unlink', headers: withKey(key), payload })
  t.equal(answer.statusCode, 200)
})

t.test('a key made with the password alone revokes itself and no other, once there is a second factor', async (t) => {
  const server = await provider(t)
  const { app } = server
  const { client, before, another, after } = await setting(server)
  const revoke = async (headers: Record<string, string>, { id }: MintedKey) =>
    await app.inject({ method: 'DELETE', url: `${KEYS}/${id}`, headers })
  const live = async () => {
    const headers = bearer((await tokensOf(client)).access)
    const { data } = (await app.inject({ url: KEYS, headers })).json<{ data: ApiKey[] }>()
    return data.filter(({ revoked_at }) => revoked_at === null).map(({ id }) => id).sort()
  }
  for (const each of [after, another]) t.match((await revoke(withKey(before), each)).json(), REFUSED)
  t.same(await live(), [before.id, another.id, after.id].sort())
  t.equal((await revoke(withKey(before), before)).statusCode, 200)
  t.equal((await revoke(withKey(after), another)).statusCode, 200)
  t.equal((await revoke(bearer((await tokensOf(client)).access), after)).statusCode, 200)
  t.same(await live(), [])
})
