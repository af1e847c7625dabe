import t from 'tap'
import type { Metadata } from '#drizzle/tables/identity.ts'
import { build, signIn } from '#test/helper.ts'
import { bearer, callAs, isLetIn } from '#test/identity/requests.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { until } from '#test/alloggiati/stand-in.ts'

const server = await build(t, { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'prova@example.org' })
const { app, token } = server
const service = await token({ service: true })

/** Metadata in every spelling, and whether they give rights. */
const SPELLINGS: [metadata: Metadata, gives: boolean][] = [
  ...['admin', 'operator'].flatMap((role): [Metadata, boolean][] => [
    [{ role }, true],
    [{ roles: [role] }, true],
    [{ roles: ['editor', role] }, true],
    [{ role: 'editor', roles: [role] }, true],
    [{ role: [role] }, false],
    [{ roles: role }, false],
    [{ roles: [[role]] }, false],
    [{ roles: { [role]: true } }, false],
    [{ role: role.toUpperCase() }, false],
    [{ role: `${role[0]!.toUpperCase()}${role.slice(1)}` }, false],
    [{ role: ` ${role}` }, false],
    [{ role: JSON.stringify(role) }, false],
    [{ Role: role }, false],
    [{ app_metadata: { role } }, false]
  ]),
  ...['pending', 'editor', 'disabled', 'authenticated', 'service_role', '', null, true, 1, {}, [], undefined]
    .map((role): [Metadata, boolean] => [role === undefined ? {} : { role }, false])
]

t.test('GET /api/operators lists exactly the people whom the guard accepts', async (t) => {
  const people: { id: string, said: string, gives: boolean, access_token: string }[] = []
  for (const [at, [app_metadata, gives]] of SPELLINGS.entries()) {
    const { access_token, user: { id } } = await signIn(app, `grafia${at}`, 'operator')
    const said = JSON.stringify(app_metadata)
    await app.sql`update users set app_metadata = ${said}::text::jsonb where id = ${id}`
    people.push({ id, said, gives, access_token })
  }
  const listed = new Set((await callAs(app, service, 'GET', '/api/operators')).json<{ id: string }[]>()
    .map(({ id }) => id))
  for (const { id, said, gives, access_token } of people) {
    const expected = gives ? 200 : 403
    await until(async () => await isLetIn(app, bearer(access_token)) === expected)
    t.equal(listed.has(id), gives, said)
  }
})

t.test('a person whom an administrator creates or invites without a role becomes an operator at once', async (t) => {
  const roleOf = async (email: string): Promise<unknown> =>
    (await app.sql`select app_metadata -> 'role' as role from users where email = ${email}`)[0]?.role
  const post = async (url: string, body: object) => {
    t.equal((await callAs(app, service, 'POST', `/auth/v1${url}`, body)).statusCode, 200, url)
  }
  await createPerson(server, 'creata@example.org', { app_metadata: {} })
  t.equal(await roleOf('creata@example.org'), 'operator')
  await createPerson(server, 'vuota@example.org', { app_metadata: { role: null, reparto: 'cucina' } })
  t.equal(await roleOf('vuota@example.org'), 'operator')
  await createPerson(server, 'altra@example.org', { app_metadata: { role: 'editor' } })
  t.equal(await roleOf('altra@example.org'), 'editor', 'a role of another program stays')
  for (const type of ['signup', 'invite', 'magiclink']) {
    await post('/admin/generate_link', { type, email: `${type}@example.org`, password: PASSWORD })
    t.equal(await roleOf(`${type}@example.org`), 'operator', type)
  }
  await post('/invite', { email: 'invitata@example.org' })
  t.equal(await roleOf('invitata@example.org'), 'operator')
})

t.test('a removed or misspelt role gives no rights', async (t) => {
  const { access_token, user: { id } } = await signIn(app, 'ex', 'operator')
  for (const role of [null, 'disabled', 'Operator']) {
    await callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { app_metadata: { role } })
    const refused = await callAs(app, access_token, 'GET', '/api/v1/paesi')
    t.equal(refused.statusCode, 403, String(role))
    t.match(refused.json(), { codice: 'ACCOUNT_IN_ATTESA' })
  }
})
