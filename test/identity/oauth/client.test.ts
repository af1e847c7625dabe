import t from 'tap'
import { findUser } from '#src/identity/people/find-users.ts'
import { createUser } from '#src/identity/people/users.ts'
import { anew, fragment, FRONT_END, LANDING, setting, SIGNUP } from './setting.ts'

const ANNA = {
  sub: 'anna-1',
  email: 'Anna@Example.org',
  email_verified: true,
  name: 'Anna Bianchi',
  preferred_username: 'annab',
  picture: 'https://img.example/a.png'
}

const PASSWORD = 'una-frase-lunga-e-mia'

/** Where people may sign up, and where they may not. */
const open = await setting(t, SIGNUP)
const closed = await setting(t)

t.test(
  'the official client signs in through a provider with PKCE, and the second time it is the same person',
  async (t) => {
    const { client, browser, provider } = open
    const done = await anew(open)
    provider.person = ANNA
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
      t.equal(url.searchParams.get('pagina'), '1', 'the address is kept as it was')
      t.equal(url.hash, '', 'no token in the address')
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
      t.ok(again.error, 'a code is good once')
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
  }
)

t.test('without PKCE the official client takes its session from the fragment', async (t) => {
  const { client, browser, provider } = open
  const done = await anew(open)
  provider.person = ANNA
  const supabase = client('implicit')
  const { data } = await supabase.auth.signInWithOAuth({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  const { url } = await browser().go(data.url!)
  const tokens = fragment(url)
  t.equal(url.searchParams.size, 1, 'nothing secret in the query')
  t.strictSame([...tokens.keys()].sort(), [
    'access_token',
    'expires_at',
    'expires_in',
    'provider_token',
    'refresh_token',
    'sb',
    'token_type'
  ])
  t.match(Object.fromEntries(tokens), { token_type: 'bearer', expires_in: '3600', sb: '' })

  // A browser, as far as the client looks for one.
  const page = { location: { href: url.href, hash: url.hash }, history: { replaceState () {} }, addEventListener () {} }
  Object.assign(globalThis, { window: page, document: { visibilityState: 'visible', addEventListener () {} } })
  t.teardown(() => { for (const name of ['window', 'document']) Reflect.deleteProperty(globalThis, name) })
  const inBrowser = client('implicit', { detectSessionInUrl: true, persistSession: false, storageKey: 'pagina' })
  t.equal((await inBrowser.auth.initialize()).error, null)
  t.equal((await inBrowser.auth.getSession()).data.session?.user.email, 'anna@example.org')
  t.equal((await inBrowser.auth.getUser()).error, null)
  t.strictSame((await done()).map(({ action }) => action), ['utente_creato', 'accesso'])
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
  provider.person = { ...ANNA, sub: 'piero-altrove', email: 'altro@example.org' }
  const supabase = client('pkce')
  t.equal((await supabase.auth.signInWithPassword({ email: 'piero@example.org', password: PASSWORD })).error, null)

  const linking = await supabase.auth.linkIdentity({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  t.equal(linking.error, null)
  t.ok(linking.data.url?.startsWith(`${provider.issuer}/auth?`), 'straight to the provider')
  const { url } = await browser().go(linking.data.url!)
  t.equal((await supabase.auth.exchangeCodeForSession(url.searchParams.get('code')!)).error, null)

  const { data: { user } } = await supabase.auth.getUser()
  t.equal(user?.email, 'piero@example.org', 'the account keeps its address')
  t.strictSame(user?.app_metadata, { role: 'operator', provider: 'email', providers: ['email', 'google'] })
  t.strictSame(user?.user_metadata, { name: 'Piero', surname: 'Neri' }, 'and its names')
  const identities = (await supabase.auth.getUserIdentities()).data!.identities
  t.strictSame(
    identities.map((each) => [each.provider, each.identity_data?.email]),
    [
      ['email', 'piero@example.org'],
      ['google', 'altro@example.org']
    ]
  )
  t.equal(identities[1]!.id, 'piero-altrove')

  const again = await supabase.auth.linkIdentity({
    provider: 'google',
    options: { redirectTo: LANDING, skipBrowserRedirect: true }
  })
  const { url: refused } = await browser().go(again.data.url!)
  for (const found of [refused.searchParams, fragment(refused)]) {
    t.match(Object.fromEntries(found), {
      error: 'server_error',
      error_code: 'identity_already_exists',
      error_description: 'Identity is already linked'
    })
  }

  t.equal((await supabase.auth.unlinkIdentity(identities[1]!)).error, null)
  t.strictSame(
    (await findUser(app.db, { email: 'piero@example.org' }))?.identities.map((each) => each.provider),
    ['email']
  )
  t.strictSame((await supabase.auth.getUserIdentities()).data!.identities.map((each) => each.provider), ['email'])
  t.strictSame(
    (await done()).map(({ action }) => action),
    ['accesso', 'identita_collegata', 'accesso', 'identita_scollegata']
  )
})

t.test('linking without a session is refused', async (t) => {
  const { base, client, token } = closed
  t.ok((await client().auth.linkIdentity({ provider: 'google', options: { skipBrowserRedirect: true } })).error)
  t.equal((await fetch(`${base}/auth/v1/user/identities/authorize?provider=google`)).status, 401)
  const headers = { authorization: `Bearer ${await token({ service: true })}` }
  const { status } = await fetch(`${base}/auth/v1/user/identities/authorize?provider=google`, { headers })
  t.equal(status, 403, 'a machine is no account')
})
