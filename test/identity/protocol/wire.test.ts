import t from 'tap'
import type { AuthUser } from '#schemas/auth/user.ts'
import { build } from '#test/helper.ts'
import { bearer, callAs } from '#test/identity/requests.ts'
import { PASSWORD } from '#test/identity/shared-password.ts'

const { app, token } = await build(t, { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'prova@example.org' })
const service = await token({ service: true })

const ask = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) => {
  const response = await callAs(app, service, method, `/auth/v1${path}`, body)
  return { status: response.statusCode, body: response.json<AuthUser & { users: AuthUser[] }>() }
}

t.test('booleans may be strings, and a page size above the maximum is reduced to it', async (t) => {
  const { body: anna } = await ask('POST', '/admin/users', {
    email: 'anna@example.org', password: PASSWORD, email_confirm: 'true', phone_confirm: 'false'
  })
  t.match(anna, { email_confirmed_at: String })
  t.equal((await ask('GET', '/admin/users?per_page=1000000&page=1')).status, 200)
  const literal = await app.inject({
    method: 'POST',
    url: '/api/sessions/revoke-all',
    headers: bearer(await token({ name: 'anna' })),
    payload: { revoca_chiavi: 'false' }
  })
  t.equal(literal.statusCode, 400, 'the API of this product stays literal')
})

t.test('a soft-deleted user is found by id, and can still be deleted', async (t) => {
  const { body: { id } } = await ask('POST', '/admin/users', { email: 'andata@example.org', email_confirm: true })
  t.equal((await ask('DELETE', `/admin/users/${id}`, { should_soft_delete: 'true' })).status, 200)
  const found = await ask('GET', `/admin/users/${id}`)
  t.equal(found.status, 200)
  t.match(found.body, { id, deleted_at: String, app_metadata: {}, user_metadata: {} })
  t.same((await ask('GET', '/admin/users')).body.users.filter((user) => user.id === id), [])
  t.equal((await ask('PUT', `/admin/users/${id}`, { user_metadata: { a: 1 } })).status, 404)
  t.equal((await ask('DELETE', `/admin/users/${id}`, { should_soft_delete: true })).status, 404, 'not twice')
  t.equal((await ask('DELETE', `/admin/users/${id}`, {})).status, 200)
  t.equal((await ask('GET', `/admin/users/${id}`)).status, 404)
})

t.test('a second invitation or link without data keeps the metadata of the first', async (t) => {
  const metadata = { name: 'Ida', lingua: 'de' }
  for (const [email, send] of [
    ['ida@example.org', (body: object) => ask('POST', '/invite', { email: 'ida@example.org', ...body })],
    ...(['invite', 'signup', 'magiclink'] as const).map((type) => {
      const email = `${type}@example.org`
      return [email, (body: object) =>
        ask('POST', '/admin/generate_link', { type, email, password: PASSWORD, ...body })] as const
    })
  ] as const) {
    await send({ data: metadata })
    const { status, body } = await send({})
    t.equal(status, 200, email)
    t.match(body, { email, user_metadata: metadata, app_metadata: { role: 'operator' } })
  }
  const { body } = await ask('POST', '/invite', { email: 'ida@example.org', data: { lingua: 'it', surname: 'Neri' } })
  t.same(body.user_metadata, { name: 'Ida', lingua: 'it', surname: 'Neri' })
})
