import { hash, randomBytes } from 'node:crypto'
import t from 'tap'
import { build } from '#test/helper.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { browser } from '#test/identity/oauth/browser.ts'
import { setting } from '#test/identity/oauth/setting.ts'
import { as } from '#test/identity/requests.ts'
import { visitorBrowser, type VisitorBrowser } from './visitor.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const NEW_KEY = '/auth/account/chiavi/nuova'

t.test('the page of a person’s account', async (t) => {
  const { app, token } = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
  const service = await token({ service: true })
  const signedIn = async (email: string, role = 'operator') => {
    const payload = { email, password: PASSWORD, email_confirm: true, app_metadata: { role } }
    t.equal((await as(app, service, 'POST', '/auth/v1/admin/users', payload)).statusCode, 200)
    const browser = await visitorBrowser(app).open('/auth/accedi')
    return await browser.submit('/auth/accedi', { email, password: PASSWORD })
  }

  t.test('makes an API key with a name, scopes and an end, shows it this once, and revokes it', async (t) => {
    const browser = await signedIn('anna@example.org')
    t.match(browser.page().body, `href="${NEW_KEY}"`)
    await browser.open(NEW_KEY)
    t.notMatch(browser.page().body, 'name="amministrazione"', 'an operator has nothing to administer')
    await browser.submit(NEW_KEY, { name: 'portatile', days: '30', scrittura: '1' })
    const { statusCode, headers, body } = browser.page()
    t.match({ statusCode, headers }, { statusCode: 200, headers: { 'cache-control': 'no-store' } })
    const key = /<code>(lcd_[^<]+)<\/code>/.exec(body)![1]!
    const asks = (method: 'GET' | 'POST', url: string) =>
      app.inject({ method, url, headers: { 'x-api-key': key }, ...(method === 'POST' && { payload: {} }) })
    t.equal((await asks('GET', '/api/v1/prenotazioni')).statusCode, 200)
    const keys = await app.sql`
      select name, array_to_json(scopes) as scopes, expires_at::date - created_at::date as days from api_keys`
    t.match(keys, [{ name: 'portatile', scopes: ['lettura', 'scrittura'], days: 30 }])
    await browser.open('/auth/account')
    t.match(browser.page().body, /<strong>portatile<\/strong><br>Leggere, Scrivere e modificare<br>scade il /)
    t.notMatch(browser.page().body, key)
    await browser.submit('/auth/account/chiavi/revoca')
    t.equal((await asks('GET', '/api/v1/prenotazioni')).statusCode, 401)
  })

  t.test('refuses a key without scopes, and one without a good end, and makes none', async (t) => {
    const browser = await signedIn('bice@example.org', 'admin')
    await browser.open(NEW_KEY)
    t.match(browser.page().body, 'name="amministrazione"')
    const headers = { cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded' }
    const none = await app.inject({ method: 'POST', url: NEW_KEY, headers, payload: 'name=x&days=30' })
    t.equal(none.statusCode, 400)
    t.match(none.body, 'role="alert">Scegli almeno una cosa')
    await browser.submit(NEW_KEY, { name: 'sempre', days: '1000' })
    t.equal(browser.page().statusCode, 400)
    t.match(browser.page().body, 'role="alert">Controlla il nome')
    t.match(browser.page().body, 'value="sempre"', 'what was written need not be written again')
    t.same(await app.sql`select 1 from api_keys where name in ('x', 'sempre')`, [])
  })
})

t.test('with REQUIRE_RECENT_MFA a person without a second factor is told to add one', async (t) => {
  const { app, token } = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000', REQUIRE_RECENT_MFA: 'true' })
  const email = 'ciro@example.org'
  const payload = { email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'operator' } }
  await as(app, await token({ service: true }), 'POST', '/auth/v1/admin/users', payload)
  const browser = await visitorBrowser(app).open('/auth/accedi')
  await browser.submit('/auth/accedi', { email, password: PASSWORD })
  await browser.open(NEW_KEY)
  await browser.submit(NEW_KEY, { name: 'portatile', days: '30', lettura: '1' })
  t.match(browser.page().body, 'Per continuare serve un secondo fattore: aggiungine uno.')
  await browser.submit('/auth/account/fattori/nuovo')
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
  await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
  await forgetCodes(app)
  await browser.open(NEW_KEY)
  await browser.submit(NEW_KEY, { name: 'portatile', days: '30', lettura: '1' })
  t.match(browser.page().body, /<code>lcd_/)
})

const APP = 'https://app.example/benvenuto?da=locanda'

t.test('a front end sends people to the page to sign in', async (t) => {
  const { app, token } = await build(t, {
    CORS_ORIGINS: 'https://app.example', REDIRECT_URLS: 'com.example.app://auth', RATE_LIMIT_LOGIN_MAX: '1000'
  })
  const service = await token({ service: true })
  const person = async (email: string) => {
    const payload = { email, password: PASSWORD, email_confirm: true, app_metadata: { role: 'operator' } }
    return (await as(app, service, 'POST', '/auth/v1/admin/users', payload)).json<{ id: string }>().id
  }
  const secretOf = () => randomBytes(32).toString('base64url')
  const pageFor = (verifier: string, redirect_to = APP) => '/auth/accedi?' + new URLSearchParams({
    redirect_to, code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 's256'
  }).toString()
  const backOf = (browser: VisitorBrowser) => {
    const [, address = ''] = /^0;url=(.*)$/.exec(String(browser.page().headers.refresh)) ?? []
    t.ok(browser.page().body.includes(`<a href="${address.replaceAll('&', '&amp;')}">`), 'a link leads there, too')
    return new URL(address)
  }
  const exchange = async (url: URL, code_verifier: string) => await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=pkce',
    payload: { auth_code: url.searchParams.get('code'), code_verifier }
  })
  const claimsOf = (access: string) =>
    JSON.parse(Buffer.from(access.split('.')[1]!, 'base64url').toString()) as { aal: string, session_id: string }

  t.test('the code that comes back is exchanged for a session by that front end alone', async (t) => {
    const id = await person('anna@example.org')
    const verifier = secretOf()
    const browser = await visitorBrowser(app).open(pageFor(verifier))
    await browser.submit('/auth/accedi', { email: 'anna@example.org', password: 'sbagliata' })
    t.equal(browser.page().statusCode, 400)
    await browser.submit('/auth/accedi', { email: 'anna@example.org', password: PASSWORD })
    t.match(browser.page().headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    const back = backOf(browser)
    t.match(back, { origin: 'https://app.example', pathname: '/benvenuto', search: /^\?da=locanda&code=[\w-]+$/ })
    t.match((await exchange(back, secretOf())).json(), { error_code: 'bad_code_verifier' })
    t.match((await exchange(back, verifier)).json(), { error_code: 'flow_state_not_found' }, 'the code is used up')

    await browser.open(pageFor(verifier))
    t.match(browser.page().body, 'L’applicazione app.example chiede di farti entrare con questo account.')
    t.equal((await app.sql`select 1 from flow_states`).length, 0, 'the address alone makes no code')
    await browser.submit('/auth/accedi/continua')
    const answer = await exchange(backOf(browser), verifier)
    t.match(answer.json(), { user: { id, email: 'anna@example.org' }, refresh_token: String })
    t.equal((await app.sql`select 1 from sessions where user_id = ${id}`).length, 2, 'one of the pages, one of its own')
    t.same(await app.sql`select details from audit_log where action = 'accesso' order by id desc limit 1`,
      [{ details: { method: 'pages', provider: 'email' } }])
    t.equal((await browser.open('/auth/accedi')).page().path, '/auth/account', 'and not a second time by itself')
  })

  t.test('the proof of a second factor on the pages counts for the front end as well', async (t) => {
    const id = await person('bice@example.org')
    const browser = await visitorBrowser(app).open('/auth/accedi')
    await browser.submit('/auth/accedi', { email: 'bice@example.org', password: PASSWORD })
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    await browser.open('/auth/account')
    await browser.submit('/auth/esci')
    const verifier = secretOf()
    await browser.open(pageFor(verifier))
    await browser.submit('/auth/accedi', { email: 'bice@example.org', password: PASSWORD })
    t.equal(browser.page().path, '/auth/verifica', 'the password alone leads nowhere')
    await forgetCodes(app)
    await browser.submit('/auth/verifica', { code: codeOf(secret) })
    const back = backOf(browser)
    const { access_token: access } = (await exchange(back, verifier)).json<{ access_token: string }>()
    t.equal(claimsOf(access).aal, 'aal2')
    t.equal((await as(app, access, 'GET', '/api/v1/prenotazioni')).statusCode, 200)
    const sessions = await app.sql`select created_at, not_after, factor_id, amr from sessions where user_id = ${id}`
    t.equal(sessions.length, 2)
    t.same(sessions[0], sessions[1], 'it is as old, and ends with the one on the pages')
  })

  t.test('a code is void after the person has signed out on the pages', async (t) => {
    await person('ciro@example.org')
    const verifier = secretOf()
    const browser = await visitorBrowser(app).open(pageFor(verifier))
    await browser.submit('/auth/accedi', { email: 'ciro@example.org', password: PASSWORD })
    const back = backOf(browser)
    await browser.open('/auth/account')
    await browser.submit('/auth/esci')
    t.match((await exchange(back, verifier)).json(), { error_code: 'flow_state_not_found' })
  })

  t.test('an address that is not allowed, or a missing challenge, is refused', async (t) => {
    const browser = visitorBrowser(app, 'en')
    const wrong = [
      pageFor(secretOf(), 'https://evil.example/'), pageFor(secretOf(), 'https://app.example@evil.example/'),
      pageFor(secretOf(), 'com.example.app://altro'), pageFor(secretOf(), 'x'),
      `/auth/accedi?redirect_to=${encodeURIComponent(APP)}`,
      `/auth/accedi?redirect_to=${encodeURIComponent(APP)}&code_challenge=x&code_challenge_method=s256`
    ]
    for (const url of wrong) {
      await browser.open(url)
      t.equal(browser.page().statusCode, 400, url)
      t.match(browser.page().body, 'The application that has sent you here is not allowed')
      t.notMatch(browser.cookie(), 'locanda_app=')
    }
    const forged = Buffer.from(JSON.stringify({
      redirect_to: 'https://evil.example/', code_challenge: 'x'.repeat(43), code_challenge_method: 's256'
    })).toString('base64url')
    const answer = await app.inject({
      method: 'POST',
      url: '/auth/accedi',
      headers: {
        cookie: `locanda_form=1; locanda_app=${forged}`,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded'
      },
      payload: new URLSearchParams({ email: 'anna@example.org', password: PASSWORD }).toString()
    })
    t.match(answer, { statusCode: 303, headers: { location: '/auth/account' } }, 'a cookie that others have written')
    await browser.open(pageFor(secretOf(), 'com.example.app://auth'))
    t.equal(browser.page().statusCode, 200)
  })

  t.test('the official client opens the pages as the provider custom:locanda', async (t) => {
    const verifier = secretOf()
    const query = new URLSearchParams({ provider: 'custom:locanda', redirect_to: APP })
    const refused = await app.inject(`/auth/v1/authorize?${query.toString()}`)
    t.match(refused.headers.location, /^https:\/\/app\.example\/benvenuto\?.*error_code=validation_failed/)
    query.set('code_challenge', hash('sha256', verifier, 'base64url'))
    query.set('code_challenge_method', 's256')
    const { statusCode, headers } = await app.inject(`/auth/v1/authorize?${query.toString()}`)
    t.equal(statusCode, 302)
    const { pathname, search } = new URL(String(headers.location))
    const browser = await visitorBrowser(app).open(pathname + search)
    await browser.submit('/auth/accedi', { email: 'anna@example.org', password: PASSWORD })
    t.equal((await exchange(backOf(browser), verifier)).statusCode, 200)
  })
})

t.test('the pages of a person who signs in through a provider', async (t) => {
  const { app, base, call, token, provider } = await setting(t, {
    SIGNUP_ENABLED: 'true', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'Locanda <noreply@example.org>'
  })
  provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true, name: 'Anna Bianchi' }
  const form = (code: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code }).toString()
  })

  t.test('lead to the provider and back, and a button ends the sign-in in the same browser alone', async (t) => {
    t.match((await call('GET', '/auth/accedi')).body, '<a href="/auth/accedi/con/google">Accedi con Google</a>')
    const own = browser('/auth/accedi/ritorno')
    const codeOf = ({ url }: { url: URL }) => url.searchParams.get('code')!
    const back = await own.go(`${base}/auth/accedi/con/google`)
    const page = await own.ask(back.url.href)
    t.equal(page.status, 200)
    t.match(await page.text(), 'Premi il pulsante per finire l’accesso')
    t.same(await app.sql`select id from sessions`, [], 'the address alone takes nothing')
    const other = browser('')
    await other.ask(`${base}/auth/accedi`)
    t.equal((await other.ask(`${base}/auth/accedi/ritorno`, form(codeOf(back)))).status, 400)

    const code = codeOf(await own.go(`${base}/auth/accedi/con/google`))
    await own.ask(`${base}/auth/accedi`)
    const signedIn = await own.ask(`${base}/auth/accedi/ritorno`, form(code))
    t.equal(signedIn.status, 303)
    t.equal(signedIn.headers.get('location'), '/auth/account')
    t.match(await (await own.ask(`${base}/auth/account`)).text(), '<strong>google</strong>')
    const twice = await own.ask(`${base}/auth/accedi/ritorno`, form(code))
    t.equal(twice.status, 400)
    t.match(await twice.text(), 'L’accesso con l’altro servizio non è riuscito')
  })

  t.test('link another provider to the account that is signed in, and unlink it, by buttons', async (t) => {
    const payload = { email: 'bice@example.org', password: PASSWORD, email_confirm: true }
    const made = await as(app, await token({ service: true }), 'POST', '/auth/v1/admin/users', payload)
    const { id } = made.json<{ id: string }>()
    const bicesBrowser = async () => {
      const own = browser('/auth/account/collegamenti/ritorno')
      const send = async (path: string, fields: Record<string, string>) => await own.ask(`${base}${path}`, {
        ...form(''), body: new URLSearchParams(fields).toString()
      })
      await own.ask(`${base}/auth/accedi`)
      t.equal((await send('/auth/accedi', { email: 'bice@example.org', password: PASSWORD })).status, 303)
      return { own, send, account: async () => await (await own.ask(`${base}/auth/account`)).text() }
    }
    const { own: another } = await bicesBrowser()
    const taken = await another.go(`${base}/auth/account/collegamenti/con/google`)
    t.match(await (await another.ask(taken.url.href)).text(), 'già collegato a un altro account')

    const { own, send, account } = await bicesBrowser()
    t.match(await account(), '<a href="/auth/account/collegamenti/con/google">Collega Google</a>')
    const sessions = () => app.sql`select id from sessions where user_id = ${id} order by id`
    const before = await sessions()
    provider.person = { sub: 'bice-1', email: 'bice@altrove.example', email_verified: true }
    const back = await own.go(`${base}/auth/account/collegamenti/con/google`)
    t.match(await (await own.ask(back.url.href)).text(), 'Premi il pulsante per collegarlo al tuo account')
    const linked = () => app.sql`select provider from identities where user_id = ${id} order by provider`
    t.same(await linked(), [{ provider: 'email' }], 'the address alone links nothing')
    const code = back.url.searchParams.get('code')!
    const done = await send('/auth/account/collegamenti/ritorno', { code })
    t.equal(done.headers.get('location'), '/auth/account?esito=fatto')
    t.same(await linked(), [{ provider: 'email' }, { provider: 'google' }])
    t.same(await sessions(), before, 'the session of the page goes on, and no other begins')

    const page = await account()
    t.notMatch(page, 'Collega Google')
    const [, identity = ''] = /collegamenti\/scollega">\n<input type="hidden" name="id" value="([^"]+)"/.exec(page)!
    t.equal((await send('/auth/account/collegamenti/scollega', { id: identity })).status, 303)
    t.same(await linked(), [{ provider: 'email' }])
    const stranger = await call('GET', '/auth/account/collegamenti/con/google')
    t.match(stranger, { statusCode: 303, headers: { location: '/auth/accedi' } })
  })
})
