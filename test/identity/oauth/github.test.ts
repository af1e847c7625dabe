import t from 'tap'
import { findUser } from '#src/identity/people/find-users.ts'
import { startGitHub } from './github.ts'
import { fragment, LANDING, setting, SIGNUP } from './setting.ts'

const WAY = `/auth/v1/authorize?provider=github&redirect_to=${encodeURIComponent(LANDING)}`

t.test('GitHub: the person and their primary, verified address are read from its API', async (t) => {
  const github = await startGitHub(t)
  const { app, base, client, browser, visit } = await setting(t, SIGNUP, { providers: [github.settings] })
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
  const again = fragment((await visit(WAY)).url)
  t.ok(again.get('access_token'), 'a person who is known needs no address')
  t.match(again.get('provider_token'), /^gho_/)
  t.strictSame(
    (await findUser(app.db, { email: 'rosa@example.org' }))?.identities.map(({ provider_id }) => provider_id),
    ['583231']
  )
})

t.test('GitHub: without a verified primary address no account is created', async (t) => {
  const github = await startGitHub(t)
  const { visit } = await setting(t, SIGNUP, { providers: [github.settings] })
  const told = async () => Object.fromEntries(fragment((await visit(WAY)).url))
  github.emails = [
    { email: 'rosa@example.org', primary: true, verified: false },
    { email: 'b@example.org', primary: false, verified: true }
  ]
  t.match(await told(), { error: 'access_denied', error_code: 'provider_email_needs_verification' })
  for (const emails of [[], undefined, [{ email: 'b@example.org', primary: false, verified: true }], [{}]]) {
    github.emails = emails
    t.match(await told(), {
      error: 'server_error',
      error_description: 'Error getting user email from external provider'
    })
  }
  github.emails = [{ email: 'rosa@example.org', primary: true, verified: true }]
  for (const user of [{}, { id: '583231' }, { id: null, login: 'rosa' }]) {
    github.user = user
    t.match(await told(), { error: 'server_error', error_description: 'Unable to exchange external code' })
  }
})

t.test('GitHub: a wrong code is an error although its status is 200', async (t) => {
  const github = await startGitHub(t)
  const { base, browser } = await setting(t, SIGNUP, { providers: [github.settings] })
  const { ask } = browser()
  const leave = async (path: string) => new URL((await ask(`${base}${path}`)).headers.get('location')!)
  const state = (await leave(WAY)).searchParams.get('state')!
  t.match(Object.fromEntries((await leave(`/auth/v1/callback?state=${state}&code=inventato`)).searchParams), {
    error: 'server_error',
    error_code: 'unexpected_failure'
  })
})
