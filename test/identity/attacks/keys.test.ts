import t from 'tap'
import { signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const MINT = '/api/cli/auth/key'

interface Minted { apiKey: string, id: string }

const [{ app }, { app: other }] = await twoServers(t)

t.test('only the GET that shows a key makes one', async (t) => {
  const { access_token } = await signIn(app, 'anna', 'operator')
  for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT'] as const) {
    const { statusCode } = await app.inject({ method, url: MINT, headers: bearer(access_token) })
    t.ok(statusCode === 405 || statusCode === 404, `${method}: ${statusCode}`)
  }
  t.same(await app.sql`select id from api_keys`, [])
})

t.test('a revoked key administers nothing from then on, also on a server that has not heard of it', async (t) => {
  const { access_token } = await signIn(app, 'ada', 'admin')
  const { apiKey, id } = (await as(app, access_token, 'GET', MINT)).json<Minted>()
  const administers = async () =>
    (await other.inject({ url: '/api/users', headers: { 'x-api-key': apiKey } })).statusCode
  t.equal(await administers(), 200)
  await app.sql.begin(async (tx) => {
    await tx`alter table api_keys disable trigger api_keys_changed`
    await tx`update api_keys set revoked_at = now() where id = ${id}`
    await tx`alter table api_keys enable trigger api_keys_changed`
  })
  t.equal(await isLetIn(other, { 'x-api-key': apiKey }), 200, 'it is remembered')
  t.equal(await administers(), 403)
  t.equal((await other.inject({ url: '/api/v1/keys?tutte=true', headers: { 'x-api-key': apiKey } })).statusCode, 403)
})

t.test('the key of another person is answered like a missing one, to every caller', async (t) => {
  const { access_token: owner } = await signIn(app, 'carla', 'operator')
  const { access_token: stranger } = await signIn(app, 'bruno', 'operator')
  const { id } = (await as(app, owner, 'GET', MINT)).json<Minted>()
  const { apiKey } = (await as(app, stranger, 'GET', MINT)).json<Minted>()
  const told = async (method: 'GET' | 'DELETE', id: string, headers: Record<string, string>) => {
    const {
      statusCode,
      json,
      headers: { 'x-request-id': _id, date: _date, 'ratelimit-remaining': _left, ...rest }
    } = await app.inject({ method, url: `/api/v1/keys/${id}`, headers })
    return { statusCode, body: { ...json<object>(), requestId: '' }, rest }
  }
  for (const headers of [bearer(stranger), { 'x-api-key': apiKey }, { 'x-api-key': 'chiave-di-prova-0123456789' }]) {
    for (const method of ['GET', 'DELETE'] as const) {
      t.same(await told(method, id, headers), await told(method, '0'.repeat(16), headers))
    }
  }
  t.match(await app.sql`select revoked_at from api_keys where id = ${id}`, [{ revoked_at: null }])
})
