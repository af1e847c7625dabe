import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { twoServers } from '#test/identity/two-servers.ts'

/** Names under which rights are kept here or elsewhere. */
const RIGHTS: Readonly<Record<string, unknown>> = {
  role: 'admin',
  roles: ['admin'],
  admin: true,
  is_admin: true,
  is_super_admin: true,
  aud: 'admin',
  app_metadata: { role: 'admin' },
  raw_app_meta_data: { role: 'admin' },
  claims: { role: 'service_role' },
  id: '00000000-0000-4000-8000-000000000000',
  user_id: 'x',
  banned_until: null,
  email_confirmed_at: '2026-01-01',
  session_id: 'x',
  toJSON: 'x',
  hasOwnProperty: 1,
  valueOf: null,
  length: -1,
  then: {}
}
const POISON = [
  '{"data":{"__proto__":{"role":"admin"}}}',
  '{"__proto__":{"admin":true}}',
  '{"data":{"constructor":{"prototype":{"role":"admin"}}}}',
  '{"data":{"a":[{"__proto__":{"admin":true}}]}}'
]

async function rights (app: FastifyInstance, token: string) {
  const [users, list, user] = await Promise.all(
    ['/api/users', '/auth/v1/admin/users', '/auth/v1/user'].map((url) => app.inject({ url, headers: bearer(token) }))
  )
  return [
    users!.statusCode,
    list!.statusCode,
    user!.json<{ app_metadata: object; role: string }>().app_metadata,
    await isLetIn(app, bearer(token))
  ]
}

t.test('no field that a person writes about themselves gives a right', async (t) => {
  const [{ app }] = await twoServers(t)
  for (const [role, letIn] of [['operator', 200], ['pending', 403]] as const) {
    const { access_token, user } = await signIn(app, role, role)
    const put = (body: object) => as(app, access_token, 'PUT', '/auth/v1/user', body)
    const before = [403, 403, user.app_metadata, letIn]
    const { app_metadata: _app, ...rest } = RIGHTS
    const bodies = [
      { data: RIGHTS }, { data: { deeper: { data: RIGHTS } } }, rest, { user_metadata: RIGHTS },
      { data: { app_metadata: RIGHTS, user: { app_metadata: RIGHTS } } }
    ]
    for (const body of bodies) t.equal((await put(body)).statusCode, 200)
    for (const body of [RIGHTS, { app_metadata: {} }, { data: {}, app_metadata: { role: 'operator' } }]) {
      t.match((await put(body)).json(), { error_code: 'not_admin' })
    }
    for (const payload of POISON) {
      const answer = await app.inject({
        method: 'PUT',
        url: '/auth/v1/user',
        headers: { ...bearer(access_token), 'content-type': 'application/json' },
        payload
      })
      t.match([answer.statusCode, answer.json()], [400, { error_code: 'bad_json' }])
    }
    t.same(await rights(app, access_token), before)
    const { access_token: next } = await signIn(app, role, role)
    t.same(await rights(app, next), before, 'nor the next time')
    t.match(claimsOf(next), {
      role: 'authenticated',
      aud: 'authenticated',
      sub: user.id,
      app_metadata: user.app_metadata
    })
    const minted = await as(app, next, 'GET', '/api/cli/auth/key?scopes=lettura,amministrazione')
    t.equal(minted.statusCode, letIn, 'who waits for a role mints no key')
    if (letIn !== 200) continue
    const headers = { 'x-api-key': minted.json<{ apiKey: string }>().apiKey }
    t.equal((await app.inject({ url: '/api/users', headers })).statusCode, 403, 'nor by a key')
  }
  t.same(
    Object.keys({}).concat(
      Object.getOwnPropertyNames(Object.prototype).filter((name) => ['admin', 'role'].includes(name))
    ),
    []
  )
})
