import { eq } from 'drizzle-orm'
import t from 'tap'
import { users } from '#drizzle/tables/identity.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import { site } from '#test/identity/mail/mailbox.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { PASSWORD, provider, requests, tokensOf } from './client.ts'

const server = await provider(t)
const { app, open, person, signedIn } = server
const service = open({ key: await server.token({ service: true }) })
const { auth: { admin } } = service

t.test('a new account can sign in after its address is confirmed', async (t) => {
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
  t.match((await admin.createUser({ ...attributes, email: 'PIERO@example.ORG' })).error,
    { status: 422, code: 'email_exists' })
  t.match((await admin.createUser({ ...attributes, email: 'altro@example.org', password: 'corta' })).error,
    { name: 'AuthWeakPasswordError', reasons: ['length'] })
  t.match((await admin.createUser({ ...attributes, email: 'nessun indirizzo' })).error,
    { status: 400, code: 'validation_failed' })
})

t.test('an account created without a password gets a random one that is not shown', async (t) => {
  const { data: { user } } = await admin.createUser({ email: 'senza@example.org', email_confirm: true })
  const [row] = await app.db.select().from(users).where(eq(users.id, user!.id))
  t.match(row?.password_hash, /^\$argon2id\$/)
  t.match((await open().auth.signInWithPassword({ email: 'senza@example.org', password: '' })).error,
    { code: 'invalid_credentials' })
})

t.test('a password hash from another system is accepted', async (t) => {
  const password_hash = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'
  const {
    data: { user }
  } = await admin.createUser({ email: 'portata@example.org', password_hash, email_confirm: true })
  t.equal((await open().auth.signInWithPassword({ email: 'portata@example.org', password: 'U*U' })).error, null)
  const [row] = await app.db.select().from(users).where(eq(users.id, user!.id))
  t.match(row?.password_hash, /^\$argon2id\$/, 'the password is rehashed at the sign-in')
  t.equal((await open().auth.signInWithPassword({ email: 'portata@example.org', password: 'U*U' })).error, null)
})

t.test('all users are listed, newest first, in pages with their number and links', async (t) => {
  await app.sql`delete from users`
  const emails: string[] = []
  for (let n = 0; n < 7; n++) emails.unshift((await person({ password: undefined })).email)
  const list = open({ key: await server.token({ service: true }) })
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

t.test('an account is found by its id, and a missing one is answered with a 404', async (t) => {
  const anna = await person()
  t.match((await admin.getUserById(anna.id)).data.user,
    { id: anna.id, email: anna.email, identities: [{ provider: 'email' }] })
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

t.test('a ban locks a person out at once until it ends', async (t) => {
  const anna = await person()
  const client = await signedIn(anna)
  const { access, refresh } = await tokensOf(client)
  const { data: { user } } = await admin.updateUserById(anna.id, { ban_duration: '24h' })
  const hours = (Date.parse(user!.banned_until!) - Date.now()) / 3_600_000
  t.ok(hours > 23 && hours <= 24, `${hours} h`)
  t.match((await client.auth.getUser()).error, { status: 403, code: 'user_banned' })
  t.equal(await isLetIn(app, { authorization: `Bearer ${access}` }), 401)
  t.match((await open().auth.refreshSession({ refresh_token: refresh })).error, { status: 400, code: 'user_banned' })
  t.match((await open().auth.signInWithPassword({ ...anna, password: PASSWORD })).error,
    { status: 400, code: 'user_banned' })
  t.equal((await admin.updateUserById(anna.id, { ban_duration: 'none' })).data.user?.banned_until, undefined)
  t.equal((await client.auth.getUser()).error, null)
  t.equal((await open().auth.refreshSession({ refresh_token: refresh })).error, null)
  t.match((await admin.updateUserById(anna.id, { ban_duration: 'un giorno' })).error,
    { status: 400, code: 'validation_failed' })
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
  t.match((await admin.updateUserById(anna.id, { password: 'password' })).error,
    { name: 'AuthWeakPasswordError', reasons: ['pwned'] })
})

t.test('a deleted account has no sessions, and its address is free', async (t) => {
  const anna = await person()
  const client = await signedIn(anna)
  service.exchanges.length = 0
  const { data, error } = await admin.deleteUser(anna.id)
  t.equal(error, null)
  t.match(data.user, { id: anna.id, email: anna.email }, 'unchanged')
  t.same(service.exchanges.map(({ request, sent }) => [request, sent]),
    [[`GET /admin/users/${anna.id}`, ''], [`DELETE /admin/users/${anna.id}`, '{"should_soft_delete":false}']])
  t.match((await client.auth.getUser()).error, { name: 'AuthSessionMissingError' })
  t.same(await app.db.select().from(users).where(eq(users.id, anna.id)), [])
  t.match((await open().auth.signInWithPassword({ email: anna.email, password: PASSWORD })).error,
    { code: 'invalid_credentials' })
  t.match((await admin.createUser({ email: anna.email, password: PASSWORD })).data.user, { email: anna.email })
})

t.test('signOut ends a person\'s sessions by the token of one of them', async (t) => {
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

t.test('details of Supabase Auth that clients can see', async (t) => {
  const ID = '7c0e1f8a-53a4-4d0c-9c1e-2f6b8a4d9e01'
  const place = await site(t, { REDIRECT_URLS: 'com.example.locanda://auth/*, https://*.anteprime.example/**' })
  const { app, client, letter, person, administrator } = place
  const { auth: { admin } } = await administrator()
  const service = await place.token({ service: true })

  const post = async (url: string, payload: object) =>
    await app.inject({ method: 'POST', url: `/auth/v1${url}`, headers: bearer(service), payload })
  const refusal = (message: string) => ({ status: 400, code: 'validation_failed', message })

  t.test('an administrator chooses an account\'s id, which can be used once', async (t) => {
    const { data: { user } } = await admin.createUser({ id: ID.toUpperCase(), email: 'con-id@example.org' })
    t.match(user, { id: ID, identities: [{ id: ID, user_id: ID, identity_data: { sub: ID } }] })
    t.match((await admin.getUserById(ID)).data.user, { email: 'con-id@example.org' })
    t.match((await admin.createUser({ id: ID, email: 'altra@example.org' })).error,
      { status: 422, code: 'user_already_exists' })
    t.match(
      (await admin.createUser({ id: '00000000-0000-0000-0000-000000000000', email: 'nessuno@example.org' })).error,
      refusal('ID cannot be a nil uuid')
    )
    t.match((await admin.createUser({ id: 'uno', email: 'nessuno@example.org' })).error, { code: 'validation_failed' })
    t.notOk((await admin.listUsers()).data.users.some(({ email }) => email === 'altra@example.org'))
  })

  t.test('an app with its own scheme gets no tokens in a fragment', async (t) => {
    await person('telefono@example.org')
    const redirectTo = 'com.example.locanda://auth/arrivo'
    const { data: { properties } } = await admin.generateLink({
      type: 'magiclink', email: 'telefono@example.org', options: { redirectTo }
    })
    const { pathname, search } = new URL(properties!.action_link)
    const { headers: { location = '' } } = await app.inject(pathname + search)
    t.match(location, `${redirectTo}?error=access_denied`)
    t.notMatch(location, /token/)
  })

  t.test('another role or audience is refused, and not ignored', async (t) => {
    const id = await person('ruolo@example.org')
    for (const fields of [{ role: 'service_role' }, { aud: 'altri' }]) {
      for (const url of ['/admin/users', `/admin/users/${id}`]) {
        const method = url === '/admin/users' ? 'POST' : 'PUT'
        const payload = { email: 'senza-ruolo@example.org', ...fields }
        const response = await app.inject({ method, url: `/auth/v1${url}`, headers: bearer(service), payload })
        t.match(response.json(), { code: 400, error_code: 'validation_failed', msg: /app_metadata.role|authenticated/ })
      }
    }
    t.match((await admin.updateUserById(id, { role: 'authenticated' })).data.user, { role: 'authenticated' })
  })

  t.test('the list of users is sorted as requested, and its links keep the order', async (t) => {
    const list = async (query: string) => {
      const response = await app.inject({ url: `/auth/v1/admin/users?${query}`, headers: bearer(service) })
      const { users, msg } = response.json<{ users?: AuthUser[], msg?: string }>()
      return { emails: users?.map(({ email }) => email), msg, link: String(response.headers.link) }
    }
    for (const name of ['uno', 'due', 'tre']) await person(`${name}@ordine.example`)
    const newest = ['tre', 'due', 'uno'].map((name) => `${name}@ordine.example`)
    const filter = 'filter=@ordine.example'
    for (const sort of ['', '&sort=', '&sort=created_at', '&sort=created_at%20desc', '&sort=created_at+DESC']) {
      t.same((await list(filter + sort)).emails, newest, sort)
    }
    t.same((await list(`${filter}&sort=created_at asc`)).emails, newest.toReversed())
    const first = await list(`page=1&per_page=2&${filter}&sort=created_at%20asc`)
    t.same(first.emails, ['uno@ordine.example', 'due@ordine.example'])
    const next = /<[^>]*\?([^>]*)>; rel="next"/.exec(first.link)?.[1] ?? ''
    t.same((await list(next)).emails, ['tre@ordine.example'])
    t.equal((await list('sort=email')).msg, "Bad Sort Parameters: bad field for sort 'email'")
    t.equal((await list('sort=created_at%20su')).msg,
      "Bad Sort Parameters: bad direction for sort 'su', only 'asc' and 'desc' allowed")
  })

  t.test('an administrator’s change of address confirms the new address only on request', async (t) => {
    const id = await person('non-provata@example.org', { email_confirm: false })
    const changed = await admin.updateUserById(id, { email: 'nuova@example.org' })
    t.match(changed.data.user, { email: 'nuova@example.org', email_confirmed_at: undefined })
    t.match((await client().auth.signInWithPassword({ email: 'nuova@example.org', password: PASSWORD })).error,
      { code: 'email_not_confirmed' })
    t.match((await admin.updateUserById(id, { email: 'terza@example.org', email_confirm: true })).data.user,
      { email: 'terza@example.org', email_confirmed_at: String })
    const proven = await person('provata@example.org')
    t.match((await admin.updateUserById(proven, { email: 'provata-2@example.org' })).data.user,
      { email_confirmed_at: String })
  })

  t.test('a refused change of address does not count toward the limit of mails', async (t) => {
    for (const name of ['cambia', 'occupata']) await person(`${name}@example.org`)
    const { auth } = client()
    await auth.signInWithPassword({ email: 'cambia@example.org', password: PASSWORD })
    t.match((await auth.updateUser({ email: 'occupata@example.org' })).error, { code: 'email_exists' })
    const weak = await auth.updateUser({ email: 'cambiata@example.org', password: 'corta' })
    t.match(weak.error, { code: 'weak_password' })
    t.equal((await auth.updateUser({ email: 'cambiata@example.org' })).error, null)
    await letter()
    await letter()
    const again = (await auth.updateUser({ email: 'cambiata@example.org' })).error
    t.match(again, { status: 429, code: 'over_email_send_rate_limit', message: /only request this after \d+ seconds/ })
  })

  t.test('a weak password is refused with the protocol’s texts, and all reasons', async (t) => {
    const weak = async (password: string) => (await post('/admin/users', { email: 'p@example.org', password })).json<{
      msg: string
      weak_password: { reasons: string[] }
    }>()
    const guessed = 'Password is known to be weak and easy to guess, please choose a different one.'
    t.match(await weak('corta'),
      { msg: 'Password should be at least 8 characters.', weak_password: { reasons: ['length'] } })
    t.match(await weak('password'), { msg: guessed, weak_password: { reasons: ['pwned'] } })
    t.match(await weak('p'), {
      msg: `Password should be at least 8 characters. ${guessed}`,
      weak_password: { reasons: ['length', 'pwned'] }
    })
    t.match(await weak('x'.repeat(129)), { msg: 'Password cannot be longer than 128 characters' })
  })

  t.test('the settings name every provider and every feature, on or off', async (t) => {
    const settings = (await app.inject('/auth/v1/settings')).json<{ external: object }>()
    const { external, ...features } = settings
    t.strictSame(features, {
      disable_signup: false,
      mailer_autoconfirm: false,
      phone_autoconfirm: false,
      sms_provider: '',
      saml_enabled: false,
      saml_private_key_next_configured: false,
      passkeys_enabled: true
    })
    t.match(external, { email: true, phone: false, anonymous_users: false, google: false, github: false })
    t.equal(Object.keys(external).length, 26)
  })

  t.test('the discovery document names the issuer and its keys', async (t) => {
    const response = await app.inject('/auth/v1/.well-known/openid-configuration')
    const { issuer, jwks_uri: keys, ...rest } = response.json<Record<string, unknown>>()
    t.equal(response.statusCode, 200)
    t.equal(response.headers['cache-control'], 'public, max-age=600')
    t.same([issuer, keys], ['https://locanda.example/auth/v1', 'https://locanda.example/auth/v1/.well-known/jwks.json'])
    t.match(rest, { response_types_supported: ['code'], id_token_signing_alg_values_supported: ['ES256'] })
    const { auth } = client()
    await person('emittente@example.org')
    await auth.signInWithPassword({ email: 'emittente@example.org', password: PASSWORD })
    t.equal((await auth.getClaims()).data?.claims.iss, issuer)
  })
})
