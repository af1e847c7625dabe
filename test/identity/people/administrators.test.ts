import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { type Config, readConfig } from '#src/config/config.ts'
import { firstAdministrator } from '#src/identity/people/first-admin.ts'
import { addIdentity } from '#src/identity/people/identity-rows.ts'
import { createUser } from '#src/identity/people/users.ts'
import { signIn } from '#test/helper.ts'
import { appWithLocks } from '#test/identity/attacks/lock-waits.ts'
import { callAs, bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const EMAIL = 'direzione@example.org'
const PASSWORD = 'una-frase-lunga-e-mia'

const [{ app, dataDir, token }, { app: other }] = await twoServers(t, { RATE_LIMIT_LOGIN_MAX: '1000' })

/** Resets the application to the state before any account exists. */
async function installation () {
  await app.sql.unsafe(`delete from users;
    alter table audit_log disable trigger user; delete from audit_log; alter table audit_log enable trigger user`)
  const config = (environ: Record<string, string> = {}) => readConfig({ DATA_DIR: dataDir, ...environ })
  return {
    config,
    chosen: (password = PASSWORD, email = EMAIL) => config({ ADMIN_EMAIL: email, ADMIN_PASSWORD: password })
  }
}

/** Signs in with a password. Returns the status, the user, and whether the user is an administrator. */
async function enter (app: FastifyInstance, email: string, password: string) {
  const response = await app.inject({
    method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email, password }
  })
  const { access_token: token = '', user } = response.json()
  const admin =
    response.statusCode === 200
      ? (await app.inject({ url: '/api/users', headers: bearer(token) })).statusCode === 200
      : false
  return { status: response.statusCode, admin, user }
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
  t.equal(await firstAdministrator(app, chosen(PASSWORD, ' Direzione@Example.org'.trim())), undefined,
    'there is nothing to tell')
  const { status, admin, user } = await enter(app, EMAIL, PASSWORD)
  t.same([status, admin], [200, true])
  t.match(user, { email: EMAIL, email_confirmed_at: String, app_metadata: { role: 'admin', provider: 'email' } })
  t.same(await people(app), [{ email: EMAIL, role: 'admin' }])
  t.match((await acts(app))[0],
    { actor: 'sistema', action: 'utente_creato', object: `user:${user.id}`, details: { role: 'admin' }, ip: null })
})

t.test('without settings an administrator with a random password is created', async (t) => {
  const { config } = await installation()
  const made = await firstAdministrator(app, config())
  t.match(made, { email: 'admin@locanda.local', password: /^([a-km-np-z2-9]{4}-){5}[a-km-np-z2-9]{4}$/ })
  t.same(await people(app), [{ email: 'admin@locanda.local', role: 'admin' }])
  t.match((await acts(app))[0], { actor: 'sistema', action: 'utente_creato', details: { role: 'admin' } })

  await installation()
  t.not((await firstAdministrator(app, config()))?.password, made!.password, 'another installation differs')
})

t.test('with the printed password an administrator can only choose another password', async (t) => {
  const { config } = await installation()
  const { email = '', password = '' } = await firstAdministrator(app, config()) ?? {}
  const signIn = async (password: string) =>
    await app.inject({ method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email, password } })
  const session = (await signIn(password)).json()
  t.match(session, { user: { email }, weak_password: { message: String, reasons: ['pwned'] } })
  const ask = async (server: FastifyInstance, method: 'GET' | 'POST' | 'PUT', url: string, body?: object) => {
    const response = await callAs(server, session.access_token, method, url, body)
    return [response.statusCode, response.json().codice ?? response.json().error_code]
  }
  t.same(await ask(app, 'GET', '/api/users'), [403, 'PASSWORD_DA_CAMBIARE'])
  t.same(await ask(other, 'GET', '/api/v1/paesi'), [403, 'PASSWORD_DA_CAMBIARE'])
  t.same(await ask(app, 'GET', '/auth/v1/admin/users'), [403, 'weak_password'])
  t.same(await ask(app, 'GET', '/storage/v1/bucket'), [403, undefined])
  t.same(await ask(app, 'PUT', '/auth/v1/user', { data: { name: 'Ada' } }), [403, 'weak_password'])
  t.same(await ask(app, 'POST', '/auth/v1/factors', { factor_type: 'totp' }), [403, 'weak_password'])
  t.same(await ask(app, 'PUT', '/auth/v1/user', { password }), [422, 'same_password'])
  t.same(await ask(app, 'GET', '/auth/v1/user'), [200, undefined], 'the client can restore the session')

  t.same(await ask(app, 'PUT', '/auth/v1/user', { password: PASSWORD }), [200, undefined])
  for (const server of [app, other]) t.equal((await ask(server, 'GET', '/api/users'))[0], 200, 'at once')
  t.equal((await signIn(password)).statusCode, 400)
  t.notOk((await signIn(PASSWORD)).json().weak_password)
  t.match(await enter(app, email, PASSWORD), { status: 200, admin: true })
})

t.test('after the service key replaces the printed password, the new password is accepted', async (t) => {
  const { config } = await installation()
  const { email = '' } = await firstAdministrator(app, config()) ?? {}
  const url = `/auth/v1/admin/users/${await idOf(app, email)}`
  t.equal((await callAs(app, await token({ service: true }), 'PUT', url, { password: PASSWORD })).statusCode, 200)
  t.match(await enter(app, email, PASSWORD), { status: 200, admin: true })
})

t.test('the administrator is created once, even when the settings change later', async (t) => {
  const { config, chosen } = await installation()
  await firstAdministrator(app, chosen())
  const before = await acts(app)
  for (const later of [
    chosen(), chosen('un-altra-frase-lunga'), chosen(PASSWORD, 'altra@example.org'), chosen('password'), config()
  ]) {
    t.equal(await firstAdministrator(app, later), undefined)
  }
  t.same(await people(app), [{ email: EMAIL, role: 'admin' }])
  t.match(await enter(app, EMAIL, PASSWORD), { status: 200, admin: true })
  t.equal((await enter(app, EMAIL, 'un-altra-frase-lunga')).status, 400)
  t.same((await acts(app)).slice(0, before.length), before)
  t.equal((await acts(app)).filter(({ actor }) => actor === 'sistema').length, 1)
})

t.test('no administrator is created when one already exists', async (t) => {
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

t.test('a weak password or an invalid address prevents the start and names the variable', async (t) => {
  const { chosen } = await installation()
  const refused = async (config: Config, message: RegExp) => {
    await t.rejects(firstAdministrator(app, config), { name: 'ConfigError', message })
  }
  await refused(chosen('password'), /^ADMIN_PASSWORD: è troppo facile da indovinare$/)
  await refused(chosen(EMAIL), /^ADMIN_PASSWORD: /)
  await refused(chosen('con\u0007campana'), /^ADMIN_PASSWORD: /)
  await refused(chosen(PASSWORD, '(direzione)@example.org'), /^ADMIN_EMAIL: deve essere un indirizzo e-mail, per/)
  t.same(await people(app), [])
  t.same(await acts(app), [])
})

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
  // Weak, but it is not used.
  t.equal(await firstAdministrator(app, chosen('password')), undefined)
  const { status, admin, user } = await enter(app, EMAIL, 'la-mia-di-sempre')
  t.same([status, admin, user.id], [200, true, id])
  t.match(user, { app_metadata: { role: 'admin', piano: 'terra' }, user_metadata: { name: 'Ada' } })
  t.equal((await enter(app, EMAIL, 'password')).status, 400)
  t.match((await acts(app))[0],
    { actor: 'sistema', action: 'utente_modificato', object: `user:${id}`, details: { role: 'admin' } })
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

t.test('with an external provider no administrator is created', async (t) => {
  const { config } = await installation()
  t.equal(await firstAdministrator(app, config({ IDP_URL: 'https://accesso.example', IDP_ANON_KEY: 'x' })), undefined)
  t.same(await people(app), [])
})

t.test('one of several servers that start together creates the administrator, and prints it', async (t) => {
  const { config: read } = await installation()
  const config = read()
  const made = await Promise.all([app, other, app, other].map((each) => firstAdministrator(each, config)))
  const printed = made.filter((account) => account !== undefined)
  t.equal(printed.length, 1)
  t.same(await people(app), [{ email: 'admin@locanda.local', role: 'admin' }])
  t.match(await enter(other, printed[0]!.email, printed[0]!.password), { status: 200, user: { email: String } })
  t.equal((await acts(app)).filter(({ action }) => action === 'utente_creato').length, 1)
})

/** Each kind of removal is once the first one and once the second one of a round. */
const ROUNDS = 5

/** The changes that remove an administrator's rights. */
const REMOVALS: Record<
  string,
  (app: FastifyInstance, token: string, id: string) => Promise<{ statusCode: number; json: () => unknown }>
> = {
  demoted: (app, token, id) =>
    callAs(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { app_metadata: { role: 'operator' } }),
  'left without a role': (app, token, id) =>
    callAs(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { app_metadata: { role: null } }),
  banned: (app, token, id) => callAs(app, token, 'PUT', `/auth/v1/admin/users/${id}`, { ban_duration: '24h' }),
  deleted: (app, token, id) => callAs(app, token, 'DELETE', `/auth/v1/admin/users/${id}`),
  'softly deleted': (app, token, id) =>
    callAs(app, token, 'DELETE', `/auth/v1/admin/users/${id}`, { should_soft_delete: true })
}

/** Accounts that can sign in as administrators. */
const admins = async (app: FastifyInstance) =>
  (
    await app.sql`
      select id from users
      where deleted_at is null and (banned_until is null or banned_until <= now())
        and app_metadata ->> 'role' = 'admin'`
  ).map(({ id }) => String(id))

t.test('the last administrator', async (t) => {
  await app.sql`delete from users`
  const service = await token({ service: true })
  const { user: { id }, access_token: own } = await signIn(app, 'anna', 'admin')
  await signIn(app, 'piero', 'operator')

  t.test('the last administrator cannot be demoted, banned or deleted, by any caller', async (t) => {
    for (const [name, remove] of Object.entries(REMOVALS)) {
      for (const [who, by] of Object.entries({ themselves: own, 'the service key': service })) {
        const response = await remove(app, by, id)
        t.equal(response.statusCode, 422, `${name} by ${who}`)
        t.match(response.json(), { error_code: 'last_admin', msg: 'The last administrator cannot be removed' })
        t.same(await admins(app), [id])
        t.equal((await callAs(other, own, 'GET', '/api/users')).statusCode, 200, 'the last administrator keeps access')
      }
    }
  })

  t.test('banned, deleted and self-declared administrators do not count', async (t) => {
    const { user: banned } = await signIn(app, 'bandita', 'admin')
    const { user: deleted } = await signIn(app, 'eliminata', 'admin')
    const { user: pretender } = await signIn(app, 'furbo', 'operator')
    t.equal((await REMOVALS.banned!(app, service, banned.id)).statusCode, 200)
    t.equal((await REMOVALS['softly deleted']!(app, service, deleted.id)).statusCode, 200)
    await app.sql`update users set user_metadata = '{"role":"admin"}' where id = ${pretender.id}`
    for (const [name, remove] of Object.entries(REMOVALS)) {
      t.equal((await remove(app, service, id)).statusCode, 422, name)
    }
    await app.sql`update users set banned_until = now() where id = ${banned.id}`
    t.equal((await REMOVALS.demoted!(app, service, id)).statusCode, 200, 'after the ban there is another administrator')
    t.same(await admins(app), [banned.id])
  })
})

t.test('when two servers concurrently remove the last two administrators, one of them remains', async (t) => {
  const service = await token({ service: true })
  const ways = Object.entries(REMOVALS)
  const removeBoth = async (round: number, first: string, second: string, by: [string, string]) => {
    const [[nameOne, one], [nameTwo, two]] = [ways[round % ways.length]!, ways[(round * 2 + 1) % ways.length]!]
    const responses = await Promise.all([one(app, by[0], first), two(other, by[1], second)])
    return { how: `${nameOne}, ${nameTwo}`, statuses: responses.map(({ statusCode }) => statusCode).sort() }
  }

  t.test('one remains when the service key removes both', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await app.sql`delete from users`
      const [a, b] = [await signIn(app, `a${round}`, 'admin'), await signIn(app, `b${round}`, 'admin')]
      const { how, statuses } = await removeBoth(round, a.user.id, b.user.id, [service, service])
      t.same(statuses, [200, 422], how)
      t.equal((await admins(app)).length, 1)
    }
  })

  t.test('one remains when they remove each other', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await app.sql`delete from users`
      const [a, b] = [await signIn(app, `a${round}`, 'admin'), await signIn(app, `b${round}`, 'admin')]
      const { how, statuses } = await removeBoth(round, b.user.id, a.user.id, [a.access_token, b.access_token])
      // The second one may be refused as the last one, or because that person is not an administrator any more.
      t.equal(statuses[0], 200, how)
      t.ok([401, 403, 422].includes(statuses[1]!), `${how}: ${statuses[1]}`)
      t.equal((await admins(app)).length, 1)
    }
  })
})

t.test('a concurrent change of the same account does not undo a demotion', async (t) => {
  const service = await token({ service: true })
  await app.sql`delete from users`
  await signIn(app, 'anna', 'admin')
  for (let round = 0; round < ROUNDS; round++) {
    const { user: { id } } = await signIn(app, `a${round}`, 'admin')
    const change = (on: FastifyInstance, body: object) => callAs(on, service, 'PUT', `/auth/v1/admin/users/${id}`, body)
    const responses = await Promise.all([
      change(app, { app_metadata: { role: 'operator' } }),
      change(other, { app_metadata: { piano: 'primo' } }),
      change(app, { user_metadata: { name: 'Anna' } })
    ])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 200, 200])
    const [user] = await app.sql`select app_metadata, user_metadata from users where id = ${id}`
    t.match({ ...user }, { app_metadata: { role: 'operator', piano: 'primo' }, user_metadata: { name: 'Anna' } })
  }
})

const put = (app: FastifyInstance, token: string, id: string, body: object) =>
  callAs(app, token, 'PUT', `/auth/v1/admin/users/${id}`, body)

t.test('the last administrator means the last one who can sign in', async (t) => {
  const { app, token, sql, person } = await appWithLocks(t)
  const service = await token({ service: true })
  const { user: { id, identities: [own] }, access_token } = await signIn(app, 'anna', 'admin')

  t.test('an administrator with an unconfirmed address does not count', async (t) => {
    const waiting = await person('mai-confermata@example.org', {
      email_confirm: false,
      app_metadata: { role: 'admin' }
    })
    for (const body of [{ app_metadata: { role: 'operator' } }, { ban_duration: '24h' }]) {
      t.match((await put(app, service, id, body)).json(), { error_code: 'last_admin' })
    }
    t.match((await callAs(app, service, 'DELETE', `/auth/v1/admin/users/${id}`)).json(), { error_code: 'last_admin' })
    t.equal((await put(app, service, waiting, { app_metadata: { role: 'operator' } })).statusCode, 200,
      'an account that cannot sign in can be removed')
  })

  t.test('the last administrator keeps the confirmed address until another one is confirmed', async (t) => {
    const other = await addIdentity(app.db, id, {
      provider: 'google', provider_id: '1', identity_data: { email: 'altrove@example.org', email_verified: false }
    })
    const address = async () =>
      [...await sql`select email from users where id = ${id} and email_confirmed_at is not null`]
    const unlink = async () =>
      (await callAs(app, access_token, 'DELETE', `/auth/v1/user/identities/${own!.identity_id}`)).statusCode
    t.equal(await unlink(), 200)
    t.match(await address(), [{ email: 'anna@example.org' }])
    await sql`update identities set identity_data = identity_data || '{"email_verified":true}' where id = ${other.id}`
    await sql`
      insert into identities (id, user_id, provider, provider_id, identity_data)
      values (${own!.identity_id}, ${id}, 'email', ${id}, '{"email":"anna@example.org","email_verified":true}')`
    t.equal(await unlink(), 200)
    t.match(await address(), [{ email: 'altrove@example.org' }], 'another confirmed administrator suffices')
  })
})
