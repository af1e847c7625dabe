import { hash, randomBytes } from 'node:crypto'
import t from 'tap'
import { build } from '#test/helper.ts'
import { as } from '#test/identity/requests.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { visitorBrowser, type VisitorBrowser } from './visitor.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
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

  t.test('who come back with a code, which that front end alone exchanges for a session', async (t) => {
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
    t.same(await app.sql`select details from audit_log where action = 'accesso' order by id desc limit 1`, [
      { details: { method: 'pages', provider: 'email' } }
    ])
    t.equal((await browser.open('/auth/accedi')).page().path, '/auth/account', 'and not a second time by itself')
  })

  t.test('with the second factor, whose proof is the front end’s as well', async (t) => {
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

  t.test('and gets nothing with a code after the person has signed out on the pages', async (t) => {
    await person('ciro@example.org')
    const verifier = secretOf()
    const browser = await visitorBrowser(app).open(pageFor(verifier))
    await browser.submit('/auth/accedi', { email: 'ciro@example.org', password: PASSWORD })
    const back = backOf(browser)
    await browser.open('/auth/account')
    await browser.submit('/auth/esci')
    t.match((await exchange(back, verifier)).json(), { error_code: 'flow_state_not_found' })
  })

  t.test('but not from an address that is not allowed, nor without a challenge', async (t) => {
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

  t.test('by the official client’s own words, which know the pages as a provider', async (t) => {
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
