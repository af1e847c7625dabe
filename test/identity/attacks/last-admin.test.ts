import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { addIdentity } from '#src/identity/people/identity-rows.ts'
import { signIn } from '#test/helper.ts'
import { as } from '#test/identity/requests.ts'
import { held } from './held.ts'

const put = (app: FastifyInstance, token: string, id: string, body: object) =>
  as(app, token, 'PUT', `/auth/v1/admin/users/${id}`, body)

t.test('the last administrator is the last one who can sign in', async (t) => {
  const { app, token, sql, person } = await held(t)
  const service = await token({ service: true })
  const { user: { id, identities: [own] }, access_token } = await signIn(app, 'anna', 'admin')

  t.test('an administrator with an unconfirmed address does not count as another one', async (t) => {
    const waiting = await person('mai-confermata@example.org', {
      email_confirm: false,
      app_metadata: { role: 'admin' }
    })
    for (const body of [{ app_metadata: { role: 'operator' } }, { ban_duration: '24h' }]) {
      t.match((await put(app, service, id, body)).json(), { error_code: 'last_admin' })
    }
    t.match((await as(app, service, 'DELETE', `/auth/v1/admin/users/${id}`)).json(), { error_code: 'last_admin' })
    t.equal(
      (await put(app, service, waiting, { app_metadata: { role: 'operator' } })).statusCode,
      200,
      'who is not in can be removed'
    )
  })

  t.test('roles of any JSON type are read in the same way in the database and in the code', async (t) => {
    const ROLES: unknown[] = [
      ['admin'],
      'Admin',
      'admin ',
      { admin: true },
      0,
      true,
      '',
      ' ',
      'operator',
      ['operator', 'admin']
    ]
    for (const role of ROLES) {
      t.match(
        (await put(app, service, id, { app_metadata: { role } })).json(),
        { error_code: 'last_admin' },
        JSON.stringify(role)
      )
    }
    for (const roles of [['admin'], ['operator', 'admin']]) {
      t.equal(
        (await put(app, service, id, { app_metadata: { roles, role: 'operator' } })).statusCode,
        200,
        JSON.stringify(roles)
      )
    }
    for (const roles of ['admin', ['Admin'], [['admin']], { 0: 'admin' }, [], null]) {
      t.match(
        (await put(app, service, id, { app_metadata: { roles } })).json(),
        { error_code: 'last_admin' },
        JSON.stringify(roles)
      )
    }
    t.equal((await put(app, service, id, { app_metadata: { role: 'admin', roles: null } })).statusCode, 200)
  })

  t.test('the last administrator keeps the confirmed address, until another one is confirmed', async (t) => {
    const other = await addIdentity(app.db, id, {
      provider: 'google',
      provider_id: '1',
      identity_data: { email: 'altrove@example.org', email_verified: false }
    })
    const address = async () =>
      [...await sql`select email from users where id = ${id} and email_confirmed_at is not null`]
    const unlink = async () =>
      (await as(app, access_token, 'DELETE', `/auth/v1/user/identities/${own!.identity_id}`)).statusCode
    t.equal(await unlink(), 200)
    t.match(await address(), [{ email: 'anna@example.org' }])
    await sql`update identities set identity_data = identity_data || '{"email_verified":true}' where id = ${other.id}`
    await sql`
      insert into identities (id, user_id, provider, provider_id, identity_data)
      values (${own!.identity_id}, ${id}, 'email', ${id}, '{"email":"anna@example.org","email_verified":true}')`
    t.equal(await unlink(), 200)
    t.match(await address(), [{ email: 'altrove@example.org' }], 'one that is confirmed takes its place')
  })
})
