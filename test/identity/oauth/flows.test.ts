import { eq } from 'drizzle-orm'
import t from 'tap'
import { audit_log } from '#drizzle/tables/audit.ts'
import { flow_states, users } from '#drizzle/tables/identity.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import { findUser } from '#src/identity/people/find-users.ts'
import { createUser } from '#src/identity/people/users.ts'
import { deleteOldFlows } from '#src/identity/sign-in/flow-states.ts'
import { testDatabase } from '#test/database.ts'
import { extraRoutes, signIn } from '#test/helper.ts'
import { startGitHub } from './github.ts'
import { anew, fragment, FRONT_END, LANDING, setting, SIGNUP } from './setting.ts'

const WAY = `/auth/v1/authorize?provider=google&redirect_to=${encodeURIComponent(LANDING)}`
const ANNA = { sub: 'anna-1', email: 'anna@example.org', email_verified: true, name: 'Anna Bianchi' }

let waits = 0
const counting = extraRoutes(({ identity }) => {
  const { waitForListeners } = identity
  identity.waitForListeners = async () => {
    waits++
    await waitForListeners()
  }
})
const github = await startGitHub(t)
const APP = 'com.example.locanda://auth/arrivo'
/** `open` allows sign-up, `closed` does not. */
const open = await setting(t, { ...SIGNUP, REDIRECT_URLS: APP }, { providers: [github.settings] })
const closed = await setting(t, {}, { prepare: counting })

t.test('a malformed authorization request is refused at once', async (t) => {
  const { app, base, token } = closed
  await anew(closed)
  const authorization = `Bearer ${await token()}`
  const verifier = 'a'.repeat(43)
  for (const path of ['/authorize', '/user/identities/authorize']) {
    const ask = async (query: string) =>
      await fetch(`${base}/auth/v1${path}?${query}`, { redirect: 'manual', headers: { authorization } })
    for (const provider of [
      '', 'provider=', 'provider=github', 'provider=Google', 'provider=__proto__', 'provider=constructor',
      'provider=email'
    ]) {
      const response = await ask(provider)
      t.equal(response.status, 400, provider)
      const { error_code: code, msg } = (await response.json()) as { error_code: string; msg: string }
      t.equal(code, 'validation_failed')
      t.match(msg, /^Unsupported provider: /)
    }
    for (const pkce of [
      `code_challenge=${verifier}`, 'code_challenge_method=s256',
      `code_challenge=${verifier}&code_challenge_method=md5`, 'code_challenge=corto&code_challenge_method=s256'
    ]) {
      t.equal((await ask(`provider=google&${pkce}`)).status, 400, pkce)
    }
    for (const twice of [
      'provider=google&provider=github', 'provider=google&redirect_to=a&redirect_to=b',
      `provider=google&redirect_to=${'x'.repeat(2001)}`
    ]) {
      t.equal((await ask(twice)).status, 400)
    }
    t.equal((await ask('provider=google&prompt=a&login_hint=a&login_hint=b')).status, 302,
      'unusable optional parameters are omitted')
  }
  t.equal((await app.inject({ method: 'HEAD', url: WAY })).statusCode, 405, 'a HEAD starts no flow')
  t.equal(await app.db.$count(flow_states), 2)
})

t.test('no claim of a provider gives a right', async (t) => {
  const { app, provider, visit } = open
  await anew(open)
  const greedy = { role: 'admin', roles: ['admin'], is_admin: true, app_metadata: { role: 'admin', roles: ['admin'] } }
  provider.person = { ...ANNA, ...greedy }
  for (const time of ['made', 'known']) {
    const bearer = { authorization: `Bearer ${fragment((await visit(WAY)).url).get('access_token')}` }
    const { app_metadata, user_metadata } = (await app.inject({ url: '/auth/v1/user', headers: bearer })).json()
    t.strictSame(app_metadata, { role: 'pending', provider: 'google', providers: ['google'] }, time)
    for (const key of Object.keys(greedy)) t.notOk(key in user_metadata, key)
    t.equal((await app.inject({ url: '/api/operators', headers: bearer })).statusCode, 403)
    t.equal((await app.inject({ url: '/auth/v1/admin/users', headers: bearer })).statusCode, 403)
  }
})

t.test('when the owner’s callback gets its response, the sessions of an unconfirmed account have ended', async (t) => {
  const { app, provider, visit } = closed
  const done = await anew(closed)
  const { access_token: planted, user } = await signIn(app, 'anna', 'operator')
  await app.db.update(users).set({ email_confirmed_at: null }).where(eq(users.id, user.id))
  const bearer = { authorization: `Bearer ${planted}` }
  t.equal((await app.inject({ url: '/auth/v1/user', headers: bearer })).statusCode, 200, 'remembered')
  provider.person = ANNA
  waits = 0
  const tokens = fragment((await visit(WAY)).url)
  t.equal(waits, 1, 'every process knows it')
  t.equal((await app.inject({ url: '/auth/v1/user', headers: bearer })).statusCode, 403)
  t.equal((await app.inject({ url: '/api/sessions', headers: bearer })).statusCode, 401)
  const mine = (
    await app.inject({ url: '/auth/v1/user', headers: { authorization: `Bearer ${tokens.get('access_token')}` } })
  ).json()
  t.equal(mine.id, user.id)
  t.strictSame(mine.identities.map(({ provider }: { provider: string }) => provider), ['google'])
  t.strictSame((await done()).map(({ action, details }) => [action, details]), [
    ['identita_collegata', { provider: 'google', automatic: true }],
    ['sessioni_revocate', { provider: 'google', reason: 'address_proven' }],
    ['accesso', { method: 'oauth', provider: 'google' }]
  ])
})

t.test('an account never gets an unverified address, and an invitation to it gives a stranger no role', async (t) => {
  const { app, base, browser, provider, token } = open
  await anew(open)
  const { access_token: mallory, user } = await signIn(app, 'mallory', 'pending')
  const headers = { authorization: `Bearer ${mallory}` }
  const ask = async (method: 'DELETE' | 'GET', url: string) => await app.inject({ method, url, headers })
  provider.person = { sub: 'mallory-1', email: 'collega@example.org', email_verified: false }
  const { url } = await browser().go(`${base}/auth/v1/user/identities/authorize?provider=google`, { headers })
  t.ok(fragment(url).get('access_token'))
  const mine = (await ask('GET', '/auth/v1/user')).json<AuthUser>().identities
  t.strictSame(mine.map(({ provider }) => provider), ['email', 'google'])
  t.equal((await ask('DELETE', `/auth/v1/user/identities/${mine[0]!.identity_id}`)).statusCode, 200)
  t.match((await ask('GET', '/auth/v1/user')).json(),
    { email: 'mallory@example.org', email_confirmed_at: /^2/, app_metadata: { role: 'pending' } })

  const service = { authorization: `Bearer ${await token({ service: true })}` }
  const payload = { type: 'invite', email: 'collega@example.org' }
  const link = await app.inject({ method: 'POST', url: '/auth/v1/admin/generate_link', headers: service, payload })
  t.equal(link.statusCode, 200)
  t.not(link.json<AuthUser>().id, user.id)
  t.equal((await ask('GET', '/api/v1/prenotazioni')).statusCode, 403, 'still pending')
})

t.test('a stranger who opens a person\'s linking URL links no identity to that person\'s account', async (t) => {
  const { app, base, browser, client, provider } = open
  await anew(open)
  const { access_token, refresh_token, user } = await signIn(app, 'mallory', 'operator')
  const identities = async () => {
    const rows = await app.sql`select provider from identities where user_id = ${user.id} order by 1`
    return rows.map(({ provider }) => provider)
  }
  provider.person = ANNA
  const supabase = client('pkce')
  await supabase.auth.setSession({ access_token, refresh_token })
  const link = async () => (await supabase.auth.linkIdentity({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })).data.url!

  const plain = await fetch(`${base}/auth/v1/user/identities/authorize?provider=google&skip_http_redirect=true`, {
    headers: { authorization: `Bearer ${access_token}` }
  })
  const { url: refused } = await browser().go((await plain.json() as { url: string }).url)
  t.equal(fragment(refused).get('error_code'), 'bad_oauth_state')
  const { url: landed } = await browser().go(await link())
  t.ok(landed.searchParams.get('code'), 'the stranger’s browser cannot exchange the code')
  t.strictSame(await identities(), ['email'])
  t.ok((await client('pkce').auth.exchangeCodeForSession(landed.searchParams.get('code')!)).error)
  t.strictSame(await identities(), ['email'])

  const { url: own } = await browser().go(await link())
  t.equal((await supabase.auth.exchangeCodeForSession(own.searchParams.get('code')!)).error, null)
  t.strictSame(await identities(), ['email', 'google'])
})

t.test('the client receives the provider’s refresh token, and no token, code or address is logged', async (t) => {
  const { app, base, provider, browser, logs } = await setting(t, { ...SIGNUP, LOG_LEVEL: 'trace' }, {
    providers: [{ name: 'google', scopes: 'openid email profile offline_access' }]
  })
  provider.person = ANNA
  const visitor = browser()
  const tokens = fragment((await visitor.go(`${base}${WAY}&prompt=consent`)).url)
  t.ok(tokens.get('provider_refresh_token'))
  provider.refuses = true
  await visitor.go(`${base}${WAY}`)
  await visitor.go(`${base}/auth/v1/callback?state=inventato-123456&code=codice-123456`)
  const values = visitor.visited.flatMap((address) => [...new URL(address).searchParams])
    .filter(([name]) => ['state', 'code', 'nonce', 'code_challenge'].includes(name))
  const secrets = [
    ...values.map(([, value]) => value),
    ...[...tokens].filter(([name]) => name.endsWith('token')).map(([, value]) => value),
    'anna@example.org',
    'app.example/arrivo'
  ]
  t.ok(secrets.length >= 10)
  const written = JSON.stringify(logs)
  t.ok(written.includes('/auth/v1/callback'))
  t.strictSame(secrets.filter((secret) => written.includes(secret)), [])
  const audit = JSON.stringify(await app.db.select().from(audit_log))
  t.strictSame(secrets.filter((secret) => audit.includes(secret)), [], 'the audit log contains no secret')
})

t.test('when the audit log cannot be written, no account is created or linked', async (t) => {
  const { app, provider, visit, logs } = open
  await anew(open)
  provider.person = ANNA
  await app.sql`alter table audit_log rename to audit_log_altrove`
  const problem = fragment((await visit(WAY)).url)
  t.match(Object.fromEntries(problem), { error: 'server_error', error_code: 'unexpected_failure' })
  t.equal(await app.db.$count(users), 0)
  t.ok(logs.some(({ msg, level }) => msg === 'request failed' && level === 50))
  await app.sql`alter table audit_log_altrove rename to audit_log`
  t.ok(fragment((await visit(WAY)).url).has('access_token'))
})

t.test('unfinished flows are deleted after ten minutes, and flows of mails after two days', async (t) => {
  const { db } = await testDatabase(t)
  const now = Date.now()
  const before = (minutes: number) => new Date(now - minutes * 60_000)
  const flow = { redirect_to: 'https://app.example', authentication_method: 'oauth' }
  const secrets = Buffer.from('x')
  await db.insert(flow_states).values([
    { ...flow, provider: 'begun', provider_secrets: secrets, created_at: before(9) },
    { ...flow, provider: 'left', provider_secrets: secrets, created_at: before(11) },
    { ...flow, provider: 'granted', created_at: before(14), authenticated_at: before(9) },
    { ...flow, provider: 'not fetched', created_at: before(14), authenticated_at: before(11) },
    { ...flow, provider: 'mail', created_at: before(47 * 60) },
    { ...flow, provider: 'old mail', created_at: before(49 * 60) }
  ])
  await deleteOldFlows(db)
  t.strictSame((await db.select().from(flow_states)).map(({ provider }) => provider).sort(),
    ['begun', 'granted', 'mail'])
})

const WHOLE_ANNA = {
  sub: 'anna-1',
  email: 'Anna@Example.org',
  email_verified: true,
  name: 'Anna Bianchi',
  preferred_username: 'annab',
  picture: 'https://img.example/a.png'
}

const PASSWORD = 'una-frase-lunga-e-mia'

t.test('the official client signs in through a provider with PKCE, twice as the same person', async (t) => {
  const { client, browser, provider } = open
  const done = await anew(open)
  provider.person = WHOLE_ANNA
  const ids: (string | undefined)[] = []
  for (const time of [1, 2]) {
    const supabase = client('pkce')
    const { data, error } = await supabase.auth.signInWithOAuth({
      provider: 'google',
      options: { redirectTo: LANDING, skipBrowserRedirect: true }
    })
    t.equal(error, null)
    const { url } = await browser().go(data.url!)
    t.equal(url.origin + url.pathname, `${FRONT_END}/arrivo`)
    t.equal(url.searchParams.get('pagina'), '1', 'the address is unchanged')
    t.equal(url.hash, '', 'the URL contains no token')
    const exchanged = await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)
    t.equal(exchanged.error, null, `time ${time}`)
    t.type(exchanged.data.session?.provider_token, 'string')
    t.equal(exchanged.data.user?.email, 'anna@example.org')
    const user = await supabase.auth.getUser()
    t.equal(user.error, null)
    ids.push(user.data.user?.id)
    t.strictSame(user.data.user?.user_metadata, {
      iss: provider.issuer,
      sub: 'anna-1',
      provider_id: 'anna-1',
      email: 'anna@example.org',
      email_verified: true,
      phone_verified: false,
      name: 'Anna Bianchi',
      full_name: 'Anna Bianchi',
      user_name: 'annab',
      preferred_username: 'annab',
      avatar_url: 'https://img.example/a.png',
      picture: 'https://img.example/a.png'
    })
    t.strictSame(user.data.user?.app_metadata, { role: 'pending', provider: 'google', providers: ['google'] })
    t.ok(user.data.user?.email_confirmed_at)
    const again = await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)
    t.ok(again.error, 'a code works once')
  }
  t.equal(ids[0], ids[1])
  t.strictSame(
    (await done()).map(({ action, details }) => ({ action, details })),
    [
      { action: 'utente_creato', details: { role: 'pending', provider: 'google' } },
      { action: 'accesso', details: { method: 'oauth', provider: 'google' } },
      { action: 'accesso', details: { method: 'oauth', provider: 'google' } }
    ]
  )
})

t.test('without PKCE the official client reads its session from the fragment', async (t) => {
  const { client, browser, provider } = open
  const done = await anew(open)
  provider.person = WHOLE_ANNA
  const supabase = client('implicit')
  const { data } = await supabase.auth.signInWithOAuth({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  const { url } = await browser().go(data.url!)
  const tokens = fragment(url)
  t.equal(url.searchParams.size, 1, 'the query contains no secret')
  t.strictSame([...tokens.keys()].sort(),
    ['access_token', 'expires_at', 'expires_in', 'provider_token', 'refresh_token', 'sb', 'token_type'])
  t.match(Object.fromEntries(tokens), { token_type: 'bearer', expires_in: '3600', sb: '' })

  // The parts of a browser that the client uses.
  const page = { location: { href: url.href, hash: url.hash }, history: { replaceState () {} }, addEventListener () {} }
  Object.assign(globalThis, { window: page, document: { visibilityState: 'visible', addEventListener () {} } })
  t.teardown(() => { for (const name of ['window', 'document']) Reflect.deleteProperty(globalThis, name) })
  const inBrowser = client('implicit', { detectSessionInUrl: true, persistSession: false, storageKey: 'pagina' })
  t.equal((await inBrowser.auth.initialize()).error, null)
  t.equal((await inBrowser.auth.getSession()).data.session?.user.email, 'anna@example.org')
  t.equal((await inBrowser.auth.getUser()).error, null)
  t.strictSame((await done()).map(({ action }) => action), ['utente_creato', 'accesso'])
})

t.test('an app with a private URL scheme must use PKCE, and its URL never contains a token', async (t) => {
  const { base, client, browser, provider, token } = open
  await anew(open)
  provider.person = ANNA
  const headers = { authorization: `Bearer ${await token()}` }
  for (const path of ['/authorize', '/user/identities/authorize']) {
    const query = new URLSearchParams({ provider: 'google', redirect_to: APP })
    const response = await fetch(`${base}/auth/v1${path}?${query}`, { redirect: 'manual', headers })
    t.equal(response.status, 400, path)
    t.match(await response.json(), { error_code: 'validation_failed', msg: /^PKCE flow is required/ })
  }
  const supabase = client('pkce')
  const { data } = await supabase.auth.signInWithOAuth({
    provider: 'google', options: { redirectTo: APP, skipBrowserRedirect: true }
  })
  const { url } = await browser().go(data.url!)
  t.match(url.href, /^com\.example\.locanda:\/\/auth\/arrivo\?code=[^&#]+$/)
  t.equal((await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)).error, null)

  provider.person = { ...ANNA, email: 'altra@example.org', sub: 'altra-1', email_verified: false }
  const refused = await browser().go((await client('pkce').auth.signInWithOAuth({
    provider: 'google', options: { redirectTo: APP, skipBrowserRedirect: true }
  })).data.url!)
  t.match(refused.url.href, /^com\.example\.locanda:\/\/auth\/arrivo\?error=/)
  t.notMatch(refused.url.href, /token|[?&#]code=/)
})

t.test('the official client links a provider to an account, lists the identities, and unlinks one', async (t) => {
  const { app, client, browser, provider } = closed
  const done = await anew(closed)
  const password_hash = await app.identity.passwords.hash(PASSWORD)
  const account = {
    email: 'piero@example.org',
    password_hash,
    confirmed: true,
    app_metadata: { role: 'operator' },
    user_metadata: { name: 'Piero', surname: 'Neri' }
  }
  await app.db.transaction(async (tx) => await createUser(tx, account))
  provider.person = { ...WHOLE_ANNA, sub: 'piero-altrove', email: 'altro@example.org' }
  const supabase = client('pkce')
  t.equal((await supabase.auth.signInWithPassword({ email: 'piero@example.org', password: PASSWORD })).error, null)

  const linking = await supabase.auth.linkIdentity({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  t.equal(linking.error, null)
  t.ok(linking.data.url?.startsWith(`${provider.issuer}/auth?`), 'directly to the provider')
  const { url } = await browser().go(linking.data.url!)
  t.equal((await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)).error, null)

  const { data: { user } } = await supabase.auth.getUser()
  t.equal(user?.email, 'piero@example.org', 'the account keeps its address')
  t.strictSame(user?.app_metadata, { role: 'operator', provider: 'email', providers: ['email', 'google'] })
  t.strictSame(user?.user_metadata, { name: 'Piero', surname: 'Neri' }, 'the account keeps its names')
  const identities = (await supabase.auth.getUserIdentities()).data!.identities
  t.strictSame(identities.map((each) => [each.provider, each.identity_data?.email]),
    [['email', 'piero@example.org'], ['google', 'altro@example.org']])
  t.equal(identities[1]!.id, 'piero-altrove')

  const again = await supabase.auth.linkIdentity({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  const { url: refused } = await browser().go(again.data.url!)
  for (const found of [refused.searchParams, fragment(refused)]) {
    t.match(Object.fromEntries(found), {
      error: 'server_error', error_code: 'identity_already_exists', error_description: 'Identity is already linked'
    })
  }

  t.equal((await supabase.auth.unlinkIdentity(identities[1]!)).error, null)
  t.strictSame((await findUser(app.db, { email: 'piero@example.org' }))?.identities.map((each) => each.provider),
    ['email'])
  t.strictSame((await supabase.auth.getUserIdentities()).data!.identities.map((each) => each.provider), ['email'])
  t.strictSame((await done()).map(({ action }) => action),
    ['accesso', 'identita_collegata', 'accesso', 'identita_scollegata'])
})

const GITHUB_WAY = `/auth/v1/authorize?provider=github&redirect_to=${encodeURIComponent(LANDING)}`

t.test('GitHub: the person and their primary, verified address are read from its API', async (t) => {
  const { app, base, client, browser, visit } = open
  await anew(open)
  github.emails = [
    { email: 'vecchia@example.org', primary: false, verified: true },
    { email: 'Rosa@example.org', primary: true, verified: true },
    { email: 'rosa@users.noreply.example', primary: false, verified: true }
  ]
  const supabase = client('pkce')
  const { data } = await supabase.auth.signInWithOAuth({
    provider: 'github',
    options: { redirectTo: LANDING, scopes: 'repo', skipBrowserRedirect: true }
  })
  const visitor = browser()
  const { url } = await visitor.go(data.url!)
  const asked = new URL(visitor.visited[1]!).searchParams
  t.equal(asked.get('scope'), 'read:user user:email repo')
  t.equal(asked.get('redirect_uri'), `${base}/auth/v1/callback`)
  const { data: { session, user }, error } = await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)
  t.equal(error, null)
  t.match(session?.provider_token, /^gho_/)
  t.equal(user?.email, 'rosa@example.org')
  t.strictSame(user?.app_metadata, { role: 'pending', provider: 'github', providers: ['github'] })
  t.match(user?.user_metadata, {
    user_name: 'rosa',
    preferred_username: 'rosa',
    full_name: 'Rosa Verdi',
    avatar_url: 'https://avatars.example/u/583231',
    sub: '583231',
    provider_id: '583231',
    email_verified: true
  })
  t.strictSame(github.asked, ['/user', '/user/emails'])

  github.emails = undefined
  const again = fragment((await visit(GITHUB_WAY)).url)
  t.ok(again.get('access_token'), 'a known user needs no address')
  t.match(again.get('provider_token'), /^gho_/)
  t.strictSame(
    (await findUser(app.db, { email: 'rosa@example.org' }))?.identities.map(({ provider_id }) => provider_id),
    ['583231']
  )
})

t.test('GitHub: without a verified primary address no account is created', async (t) => {
  const { visit } = open
  await anew(open)
  const problem = async () => Object.fromEntries(fragment((await visit(GITHUB_WAY)).url))
  github.emails = [
    { email: 'rosa@example.org', primary: true, verified: false },
    { email: 'b@example.org', primary: false, verified: true }
  ]
  t.match(await problem(), { error: 'access_denied', error_code: 'provider_email_needs_verification' })
  for (const emails of [[], undefined, [{ email: 'b@example.org', primary: false, verified: true }], [{}]]) {
    github.emails = emails
    t.match(await problem(),
      { error: 'server_error', error_description: 'Error getting user email from external provider' })
  }
  github.emails = [{ email: 'rosa@example.org', primary: true, verified: true }]
  for (const user of [{}, { id: '583231' }, { id: null, login: 'rosa' }]) {
    github.user = user
    t.match(await problem(), { error: 'server_error', error_description: 'Unable to exchange external code' })
  }
})

t.test('GitHub: a wrong code is an error, although the status is 200', async (t) => {
  const { base, browser } = open
  const { ask } = browser()
  const leave = async (path: string) => new URL((await ask(`${base}${path}`)).headers.get('location')!)
  const state = (await leave(GITHUB_WAY)).searchParams.get('state')!
  t.match(Object.fromEntries((await leave(`/auth/v1/callback?state=${state}&code=inventato`)).searchParams),
    { error: 'server_error', error_code: 'unexpected_failure' })
})
