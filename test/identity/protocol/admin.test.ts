import t from 'tap'
import { eq } from 'drizzle-orm'
import { users } from '#drizzle/tables/identity.ts'
import { isLetIn } from '#test/identity/requests.ts'
import { PASSWORD, provider, requests, tokensOf } from './client.ts'

const server = await provider(t)
/** Where all people are those of one test. */
const own = await provider(t)
const { app, open, person, signedIn } = server
const service = open({ key: await server.token({ service: true }) })
const { auth: { admin } } = service

t.test('a created account can sign in once its address is confirmed', async (t) => {
  const attributes = {
    email: 'Piero@Example.org',
    password: PASSWORD,
    user_metadata: { name: 'Piero' },
    app_metadata: { role: 'operator' }
  }
  const { data: { user }, error } = await admin.createUser(attributes)
  t.equal(error, null)
  t.match(user, {
    email: 'piero@example.org',
    user_metadata: { name: 'Piero' },
    app_metadata: { role: 'operator', provider: 'email', providers: ['email'] }
  })
  t.equal(user?.email_confirmed_at, undefined)
  t.match((await open().auth.signInWithPassword(attributes)).error, { code: 'email_not_confirmed' })
  t.match((await admin.updateUserById(user!.id, { email_confirm: true })).data.user, { email_confirmed_at: String })
  t.equal((await open().auth.signInWithPassword(attributes)).error, null)
  t.match((await admin.createUser({ ...attributes, email: 'PIERO@example.ORG' })).error, {
    status: 422,
    code: 'email_exists'
  })
  t.match((await admin.createUser({ ...attributes, email: 'altro@example.org', password: 'corta' })).error, {
    name: 'AuthWeakPasswordError',
    reasons: ['length']
  })
  t.match((await admin.createUser({ ...attributes, email: 'nessun indirizzo' })).error, {
    status: 400,
    code: 'validation_failed'
  })
})

t.test('an account created without a password gets a random one that is not shown', async (t) => {
  const { data: { user } } = await admin.createUser({ email: 'senza@example.org', email_confirm: true })
  const [row] = await app.db.select().from(users).where(eq(users.id, user!.id))
  t.match(row?.password_hash, /^\$argon2id\$/)
  t.match((await open().auth.signInWithPassword({ email: 'senza@example.org', password: '' })).error, {
    code: 'invalid_credentials'
  })
})

t.test('a password hash from another system is accepted', async (t) => {
  const password_hash = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
  const {
    data: { user }
  } = await admin.createUser({ email: 'portata@example.org', password_hash, email_confirm: true })
  t.equal((await open().auth.signInWithPassword({ email: 'portata@example.org', password: 'U*U' })).error, null)
  const [row] = await app.db.select().from(users).where(eq(users.id, user!.id))
  t.match(row?.password_hash, /^\$argon2id\$/, 'and hashed as ours are, when it is known')
  t.equal((await open().auth.signInWithPassword({ email: 'portata@example.org', password: 'U*U' })).error, null)
})

t.test('all users are listed, newest first, in pages with their number and links', async (t) => {
  const emails: string[] = []
  for (let n = 0; n < 7; n++) emails.unshift((await own.person({ password: undefined })).email)
  const list = own.open({ key: await own.token({ service: true }) })
  const { data: all } = await list.auth.admin.listUsers()
  t.same(requests(list), ['GET /admin/users?page=&per_page='])
  t.same(all.users.map(({ email }) => email), emails)
  t.match(all, { aud: 'authenticated', nextPage: null, lastPage: 1, total: 7 })
  const seen: (string | undefined)[] = []
  for (let page: number | null = 1; page !== null;) {
    const { data, error } = await list.auth.admin.listUsers({ page, perPage: 3 })
    if (error) throw error
    t.match(data, { lastPage: 3, total: 7 })
    seen.push(...data.users.map(({ email }) => email))
    page = data.nextPage
  }
  t.same(seen, emails)
  t.same((await list.auth.admin.listUsers({ page: 9, perPage: 3 })).data.users, [])
})

t.test('an account is found by its id, and a missing one is a 404', async (t) => {
  const anna = await person()
  t.match((await admin.getUserById(anna.id)).data.user, {
    id: anna.id,
    email: anna.email,
    identities: [{ provider: 'email' }]
  })
  const nobody = '00000000-0000-4000-8000-000000000000'
  const results = [
    await admin.getUserById(nobody),
    await admin.updateUserById(nobody, { password: PASSWORD }),
    await admin.deleteUser(nobody)
  ]
  for (const result of results) {
    t.match(result.error, { status: 404, code: 'user_not_found' })
  }
})

t.test('a role that is given or taken counts at once', async (t) => {
  const anna = await person()
  const { access } = await tokensOf(await signedIn(anna))
  const mayList = async () =>
    (await app.inject({ url: '/api/users', headers: { authorization: `Bearer ${access}` } })).statusCode
  t.equal(await mayList(), 403)
  t.match((await admin.updateUserById(anna.id, { app_metadata: { role: 'admin' } })).data.user?.app_metadata, {
    role: 'admin',
    providers: ['email']
  })
  t.equal(await mayList(), 200, 'by the token that was given before')
  await person({ app_metadata: { role: 'admin' } })
  t.equal((await admin.updateUserById(anna.id, { app_metadata: { role: 'operator' } })).error, null)
  t.equal(await mayList(), 403)
  t.equal(
    (await admin.updateUserById(anna.id, { app_metadata: { role: null } })).data.user?.app_metadata.role,
    undefined
  )
})

t.test('a ban refuses a person at once until it ends', async (t) => {
  const anna = await person()
  const client = await signedIn(anna)
  const { access, refresh } = await tokensOf(client)
  const { data: { user } } = await admin.updateUserById(anna.id, { ban_duration: '24h' })
  const hours = (Date.parse(user!.banned_until!) - Date.now()) / 3_600_000
  t.ok(hours > 23 && hours <= 24, `${hours} h`)
  t.match((await client.auth.getUser()).error, { status: 403, code: 'user_banned' })
  t.equal(await isLetIn(app, { authorization: `Bearer ${access}` }), 401)
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error, { status: 400, code: 'user_banned' })
  t.match((await open().auth.signInWithPassword({ ...anna, password: PASSWORD })).error, {
    status: 400,
    code: 'user_banned'
  })
  t.equal((await admin.updateUserById(anna.id, { ban_duration: 'none' })).data.user?.banned_until, undefined)
  t.equal((await client.auth.getUser()).error, null)
  t.equal((await open().auth.refreshSession({ refresh_token: refresh })).error, null)
  t.match((await admin.updateUserById(anna.id, { ban_duration: 'un giorno' })).error, {
    status: 400,
    code: 'validation_failed'
  })
})

t.test('an administrator’s new password ends every session, and a new address needs no confirmation', async (t) => {
  const [anna, piero] = [await person(), await person()]
  const client = await signedIn(anna)
  const { refresh } = await tokensOf(client)
  t.equal((await admin.updateUserById(anna.id, { password: 'un’altra frase lunga' })).error, null)
  t.match((await client.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error, { code: 'refresh_token_not_found' })
  const { data: { user } } = await admin.updateUserById(anna.id, { email: 'Nuova@example.org' })
  t.match(user, { email: 'nuova@example.org', identities: [{ provider: 'email', email: 'nuova@example.org' }] })
  t.equal(
    (await open().auth.signInWithPassword({ email: 'nuova@example.org', password: 'un’altra frase lunga' })).error,
    null
  )
  t.match((await admin.updateUserById(anna.id, { email: piero.email })).error, { status: 422, code: 'email_exists' })
  t.match((await admin.updateUserById(anna.id, { password: 'password' })).error, {
    name: 'AuthWeakPasswordError',
    reasons: ['pwned']
  })
})

t.test('a deleted account is gone with its sessions, and its address is free', async (t) => {
  const anna = await person()
  const client = await signedIn(anna)
  service.exchanges.length = 0
  const { data, error } = await admin.deleteUser(anna.id)
  t.equal(error, null)
  t.match(data.user, { id: anna.id, email: anna.email }, 'as it was')
  t.same(service.exchanges.map(({ request, sent }) => [request, sent]), [
    [`GET /admin/users/${anna.id}`, ''], [`DELETE /admin/users/${anna.id}`, '{"should_soft_delete":false}']
  ])
  t.match((await client.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.same(await app.db.select().from(users).where(eq(users.id, anna.id)), [])
  t.match((await open().auth.signInWithPassword({ email: anna.email, password: PASSWORD })).error, {
    code: 'invalid_credentials'
  })
  t.match((await admin.createUser({ email: anna.email, password: PASSWORD })).data.user, { email: anna.email })
})

t.test('a softly deleted account keeps its id and no personal data', async (t) => {
  const anna = await person({ user_metadata: { name: 'Anna' } })
  const client = await signedIn(anna)
  t.equal((await admin.deleteUser(anna.id, true)).error, null)
  t.match((await client.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  const [row] = await app.db.select().from(users).where(eq(users.id, anna.id))
  t.match(row, { id: anna.id, password_hash: null, user_metadata: {}, app_metadata: {}, deleted_at: Date })
  t.notMatch(JSON.stringify(row), /Anna|persona\d/)
  t.match((await admin.getUserById(anna.id)).error, { status: 404, code: 'user_not_found' })
  t.match((await admin.createUser({ email: anna.email, password: PASSWORD })).data.user, { email: anna.email })
})

t.test('signOut ends sessions by the token of one of them', async (t) => {
  const anna = await person()
  const [here, there] = [await signedIn(anna), await signedIn(anna)]
  const { access } = await tokensOf(here)
  t.equal((await admin.signOut(access, 'others')).error, null)
  t.match((await there.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.equal((await here.auth.getUser()).error, null)
  t.equal((await admin.signOut(access)).error, null)
  t.match((await here.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.match((await admin.signOut(access)).error, { name: 'AuthSessionMissingError' })
})

t.test('the last administrator cannot be deleted or demoted', async (t) => {
  const { auth: { admin } } = own.open({ key: await own.token({ service: true }) })
  const ada = await own.person({ app_metadata: { role: 'admin' } })
  for (const result of [
    await admin.deleteUser(ada.id),
    await admin.deleteUser(ada.id, true),
    await admin.updateUserById(ada.id, { app_metadata: { role: 'operator' } }),
    await admin.updateUserById(ada.id, { ban_duration: '1h' })
  ]) { t.match(result.error, { status: 422, code: 'last_admin' }) }
  t.match((await admin.getUserById(ada.id)).data.user, { app_metadata: { role: 'admin' } })
})

t.test('only the service key and administrators may administer', async (t) => {
  const [anna, ada] = [await person(), await person({ app_metadata: { role: 'admin' } })]
  const [operator, administrator] = [
    (await tokensOf(await signedIn(anna))).access,
    (await tokensOf(await signedIn(ada))).access
  ]
  const refused = [
    [open(), { status: 403, code: 'not_admin' }],
    [open({ key: 'sb_publishable_sbagliata' }), { status: 403, code: 'bad_jwt' }],
    [open({ authorization: `Bearer ${operator}` }), { status: 403, code: 'not_admin' }],
    [open({ key: operator }), { status: 403, code: 'not_admin' }]
  ] as const
  for (const [{ auth: { admin } }, error] of refused) {
    t.match((await admin.listUsers()).error, error)
    t.match((await admin.createUser({ email: 'intrusa@example.org', password: PASSWORD })).error, error)
    t.match((await admin.getUserById(anna.id)).error, error)
    t.match((await admin.updateUserById(anna.id, { app_metadata: { role: 'admin' } })).error, error)
    t.match((await admin.deleteUser(ada.id)).error, error)
  }
  t.match((await admin.getUserById(anna.id)).data.user?.app_metadata, { role: 'operator' })
  t.same(await app.db.select().from(users).where(eq(users.email, 'intrusa@example.org')), [])
  t.equal((await open({ authorization: `Bearer ${administrator}` }).auth.admin.getUserById(anna.id)).error, null)
})
