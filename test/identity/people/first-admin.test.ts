import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { readConfig, type Config } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/people/first-admin.ts'
import { createUser } from '#src/identity/people/users.ts'
import { build, signIn } from '#test/helper.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const EMAIL = 'direzione@example.org'
const PASSWORD = 'una-frase-lunga-e-mia'

const { app, dataDir } = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })

/** The application as it is before anybody is made. */
async function installation () {
  await app.sql.unsafe(`delete from users;
    alter table audit_log disable trigger user; delete from audit_log; alter table audit_log enable trigger user`)
  const config = (environ: Record<string, string> = {}) => readConfig({ DATA_DIR: dataDir, ...environ })
  return {
    config,
    chosen: (password = PASSWORD, email = EMAIL) => config({ ADMIN_EMAIL: email, ADMIN_PASSWORD: password })
  }
}

/** The status of signing in with a password, and who that is. */
async function enter (app: FastifyInstance, email: string, password: string) {
  const answer = await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=password',
    payload: { email, password }
  })
  const { access_token: token = '', user } = answer.json()
  const admin =
    answer.statusCode === 200
      ? (await app.inject({ url: '/api/users', headers: bearer(token) })).statusCode === 200
      : false
  return { status: answer.statusCode, admin, user }
}

const people = async (app: FastifyInstance) =>
  (await app.sql`select email, app_metadata ->> 'role' as role from users where deleted_at is null order by email`).map(
    (row) => ({ ...row })
  )
const acts = async (app: FastifyInstance) =>
  (await app.sql`select actor, action, object, details, ip from audit_log order by id`).map((row) => ({ ...row }))
const idOf = async (app: FastifyInstance, email: string) =>
  String((await app.sql`select id from users where email = ${email} and deleted_at is null`)[0]?.id)

t.test('the administrator of the settings can sign in and administer', async (t) => {
  const { chosen } = await installation()
  t.equal(
    await firstAdministrator(app, chosen(PASSWORD, ' Direzione@Example.org'.trim())),
    undefined,
    'there is nothing to tell'
  )
  const { status, admin, user } = await enter(app, EMAIL, PASSWORD)
  t.same([status, admin], [200, true])
  t.match(user, { email: EMAIL, email_confirmed_at: String, app_metadata: { role: 'admin', provider: 'email' } })
  t.same(await people(app), [{ email: EMAIL, role: 'admin' }])
  t.match((await acts(app))[0], {
    actor: 'sistema',
    action: 'utente_creato',
    object: `user:${user.id}`,
    details: { role: 'admin' },
    ip: null
  })
})

t.test('without settings an administrator with a random password is made, and the password works', async (t) => {
  const { config } = await installation()
  const made = await firstAdministrator(app, config())
  t.match(made, { email: 'admin@locanda.local', password: /^([a-km-np-z2-9]{4}-){5}[a-km-np-z2-9]{4}$/ })
  t.same(await people(app), [{ email: 'admin@locanda.local', role: 'admin' }])
  t.match(await enter(app, made!.email, made!.password), { status: 200, admin: true })
  t.match((await acts(app))[0], { actor: 'sistema', action: 'utente_creato', details: { role: 'admin' } })

  await installation()
  t.not((await firstAdministrator(app, config()))?.password, made!.password, 'elsewhere it is another')
})

t.test('the administrator is made once, also when the settings change later', async (t) => {
  const { config, chosen } = await installation()
  await firstAdministrator(app, chosen())
  const before = await acts(app)
  for (const later of [
    chosen(),
    chosen('un-altra-frase-lunga'),
    chosen(PASSWORD, 'altra@example.org'),
    chosen('password'),
    config()
  ]) {
    t.equal(await firstAdministrator(app, later), undefined)
  }
  t.same(await people(app), [{ email: EMAIL, role: 'admin' }])
  t.match(await enter(app, EMAIL, PASSWORD), { status: 200, admin: true })
  t.equal((await enter(app, EMAIL, 'un-altra-frase-lunga')).status, 400)
  t.same((await acts(app)).slice(0, before.length), before)
  t.equal((await acts(app)).filter(({ actor }) => actor === 'sistema').length, 1)
})

t.test('none is made where there is an administrator already', async (t) => {
  for (const app_metadata of [{ role: 'admin' }, { roles: ['operator', 'admin'] }]) {
    const { config, chosen } = await installation()
    await app.db.transaction(
      async (tx) => await createUser(tx, { email: 'anna@example.org', confirmed: true, app_metadata })
    )
    t.equal(await firstAdministrator(app, config()), undefined)
    t.equal(await firstAdministrator(app, chosen()), undefined)
    t.same((await people(app)).map(({ email }) => email), ['anna@example.org'])
    t.same(await acts(app), [])
  }
})

t.test('claims of being an administrator in user_metadata do not count', async (t) => {
  const { chosen } = await installation()
  await app.db.transaction(
    async (tx) =>
      await createUser(tx, {
        email: 'anna@example.org',
        confirmed: true,
        app_metadata: { role: 'operator', roles: 'admin' },
        user_metadata: { role: 'admin' }
      })
  )
  await firstAdministrator(app, chosen())
  t.same((await people(app)).map(({ email }) => email), ['anna@example.org', EMAIL])
})

t.test(
  'a weak password or a bad address stops the start with the name of the variable, and makes no account',
  async (t) => {
    const { chosen } = await installation()
    const refused = async (config: Config, message: RegExp) => {
      await t.rejects(firstAdministrator(app, config), { name: 'ConfigError', message })
    }
    await refused(chosen('password'), /^ADMIN_PASSWORD: è troppo facile da indovinare$/)
    await refused(chosen(EMAIL), /^ADMIN_PASSWORD: /)
    await refused(chosen('con\u0007campana'), /^ADMIN_PASSWORD: /)
    await refused(chosen(PASSWORD, '(direzione)@example.org'), /^ADMIN_EMAIL: non è un indirizzo e-mail$/)
    t.same(await people(app), [])
    t.same(await acts(app), [])
  }
)

t.test('a confirmed account with that address becomes the administrator and keeps its password', async (t) => {
  const { chosen } = await installation()
  const password_hash = await app.identity.passwords.hash('la-mia-di-sempre')
  const account = {
    email: EMAIL,
    password_hash,
    confirmed: true,
    app_metadata: { role: 'operator', piano: 'terra' },
    user_metadata: { name: 'Ada' }
  }
  const { id } = await app.db.transaction(async (tx) => await createUser(tx, account))
  await app.sql`update users set banned_until = now() + interval '1 hour'`
  // Weak, but nobody's.
  t.equal(await firstAdministrator(app, chosen('password')), undefined)
  const { status, admin, user } = await enter(app, EMAIL, 'la-mia-di-sempre')
  t.same([status, admin, user.id], [200, true, id])
  t.match(user, { app_metadata: { role: 'admin', piano: 'terra' }, user_metadata: { name: 'Ada' } })
  t.equal((await enter(app, EMAIL, 'password')).status, 400)
  t.match((await acts(app))[0], {
    actor: 'sistema',
    action: 'utente_modificato',
    object: `user:${id}`,
    details: { role: 'admin' }
  })
})

t.test('an unconfirmed account with that address does not become the administrator', async (t) => {
  const { chosen } = await installation()
  const password_hash = await app.identity.passwords.hash('di-chi-si-spaccia')
  const { id } = await app.db.transaction(
    async (tx) =>
      await createUser(tx, { email: EMAIL, password_hash, confirmed: false, app_metadata: { role: 'pending' } })
  )
  const { access_token: theirs } = await signIn(app, 'direzione', 'pending')
  await firstAdministrator(app, chosen())
  t.match(await enter(app, EMAIL, PASSWORD), { status: 200, admin: true })
  t.equal((await enter(app, EMAIL, 'di-chi-si-spaccia')).status, 400)
  t.equal(await isLetIn(app, bearer(theirs)), 401)
  t.not(await idOf(app, EMAIL), id)
  t.same(await people(app), [{ email: EMAIL, role: 'admin' }])
})

t.test('with an external provider no administrator is made', async (t) => {
  const { config } = await installation()
  t.equal(await firstAdministrator(app, config({ IDP_URL: 'https://accesso.example', IDP_ANON_KEY: 'x' })), undefined)
  t.same(await people(app), [])
})

t.test('of servers that start together only one makes the administrator, and prints it', async (t) => {
  const [{ app, dataDir }, { app: other }] = await twoServers(t)
  const config = readConfig({ DATA_DIR: dataDir })
  const made = await Promise.all([app, other, app, other].map((each) => firstAdministrator(each, config)))
  const told = made.filter((account) => account !== undefined)
  t.equal(told.length, 1)
  t.same(await people(app), [{ email: 'admin@locanda.local', role: 'admin' }])
  t.match(await enter(other, told[0]!.email, told[0]!.password), { status: 200, admin: true })
  t.equal((await acts(app)).filter(({ action }) => action === 'utente_creato').length, 1)
})
