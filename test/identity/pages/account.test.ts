import { hash, randomBytes } from 'node:crypto'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { type Letter, read } from '#test/identity/mail/mailbox.ts'
import { browser } from '#test/identity/oauth/oauth-browser.ts'
import { setting } from '#test/identity/oauth/setting.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { callAs, bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { startSmtp } from '#test/smtp.ts'
import { errorOf, formsOf, visitorBrowser, type VisitorBrowser } from './visitor.ts'

const NEW_KEY = '/auth/account/chiavi/nuova'

t.test('the page of a person’s account', async (t) => {
  const server = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
  const { app } = server
  const signedIn = async (email: string, role = 'operator') => {
    await createPerson(server, email, { app_metadata: { role } })
    const browser = await visitorBrowser(app).open('/auth/accedi')
    return await browser.submit('/auth/accedi', { email, password: PASSWORD })
  }

  t.test('creates an API key with a name, scopes and an expiry, shows it once, and revokes it', async (t) => {
    const browser = await signedIn('anna@example.org')
    t.match(browser.page().body, `href="${NEW_KEY}"`)
    await browser.open(NEW_KEY)
    t.notMatch(browser.page().body, 'name="amministrazione"', 'an operator has no administration scope')
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

  t.test('opens the pages under /ad/ only for an administrator', async (t) => {
    const action = '/auth/account/amministrazione'
    const admin = await signedIn('ines@example.org', 'admin')
    await admin.submit(action)
    t.match(admin.page(), { path: '/ad/', statusCode: 200, body: /<h1>Amministrazione/ })
    const operator = await signedIn('ugo@example.org')
    t.notMatch(operator.page().body, action)
    const headers = { cookie: operator.cookie(), 'content-type': 'application/x-www-form-urlencoded' }
    const { statusCode, cookies } = await app.inject({ method: 'POST', url: action, headers, payload: '' })
    t.same([statusCode, cookies.filter(({ path }) => path === '/ad/')], [400, []], 'no cookie')
  })

  t.test('refuses a key without scopes, or without a valid expiry, and creates none', async (t) => {
    const browser = await signedIn('bice@example.org', 'admin')
    await browser.open(NEW_KEY)
    t.match(browser.page().body, 'name="amministrazione"')
    const headers = { cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded' }
    const none = await app.inject({ method: 'POST', url: NEW_KEY, headers, payload: 'name=x&days=30' })
    t.equal(none.statusCode, 400)
    t.match(none.body, 'role="alert">Scegliere almeno una cosa')
    await browser.submit(NEW_KEY, { name: 'sempre', days: '1000' })
    t.equal(browser.page().statusCode, 400)
    t.match(browser.page().body, 'role="alert">Controllare il nome')
    t.match(browser.page().body, 'value="sempre"', 'the form keeps its values')
    t.same(await app.sql`select 1 from api_keys where name in ('x', 'sempre')`, [])
  })
})

const APP = 'https://app.example/benvenuto?da=locanda'

t.test('a front end sends people to the sign-in page', async (t) => {
  const server = await build(t, {
    CORS_ORIGINS: 'https://app.example', REDIRECT_URLS: 'com.example.app://auth', RATE_LIMIT_LOGIN_MAX: '1000'
  })
  const { app } = server
  const person = async (email: string) => (await createPerson(server, email)).id
  const secretOf = () => randomBytes(32).toString('base64url')
  const pageFor = (verifier: string, redirect_to = APP) => '/auth/accedi?' + new URLSearchParams({
    redirect_to, code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 's256'
  }).toString()
  const backOf = (browser: VisitorBrowser) => {
    const [, address = ''] = /^0;url=(.*)$/.exec(String(browser.page().headers.refresh)) ?? []
    t.ok(browser.page().body.includes(`<a href="${address.replaceAll('&', '&amp;')}">`), 'a link also leads there')
    return new URL(address)
  }
  const exchange = async (url: URL, code_verifier: string) => await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=pkce',
    payload: { auth_code: url.searchParams.get('code'), code_verifier }
  })

  t.test('only that front end can exchange the returned code for a session', async (t) => {
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
    t.match((await exchange(back, verifier)).json(), { user: { id } }, 'a wrong verifier does not void the code')
    t.match((await exchange(back, verifier)).json(), { error_code: 'flow_state_not_found' }, 'its use does')

    await browser.open(pageFor(verifier))
    t.match(browser.page().body, 'L’applicazione app.example chiede l’accesso con questo account.')
    t.equal((await app.sql`select 1 from flow_states`).length, 0, 'the URL alone issues no code')
    await browser.submit('/auth/accedi/continua')
    const response = await exchange(backOf(browser), verifier)
    t.match(response.json(), { user: { id, email: 'anna@example.org' }, refresh_token: String })
    t.equal((await app.sql`select 1 from sessions where user_id = ${id}`).length, 3, 'pages, and the front end twice')
    t.same(await app.sql`select details from audit_log where action = 'accesso' order by id desc limit 1`,
      [{ details: { method: 'pages', provider: 'email' } }])
    t.equal((await browser.open('/auth/accedi')).page().path, '/auth/account', 'no automatic second sign-in')
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
    t.equal(browser.page().path, '/auth/verifica', 'the password alone returns no code')
    await forgetCodes(app)
    await browser.submit('/auth/verifica', { code: codeOf(secret) })
    const back = backOf(browser)
    const { access_token: access } = (await exchange(back, verifier)).json<{ access_token: string }>()
    t.equal(claimsOf(access).aal, 'aal2')
    t.equal((await callAs(app, access, 'GET', '/api/v1/prenotazioni')).statusCode, 200)
    const sessions = await app.sql`select created_at, not_after, factor_id, amr from sessions where user_id = ${id}`
    t.equal(sessions.length, 2)
    t.same(sessions[0], sessions[1], 'it has the age of the session on the pages, and ends with it')
  })

  t.test('a code becomes void when the person signs out on the pages', async (t) => {
    await person('ciro@example.org')
    const verifier = secretOf()
    const browser = await visitorBrowser(app).open(pageFor(verifier))
    await browser.submit('/auth/accedi', { email: 'ciro@example.org', password: PASSWORD })
    const back = backOf(browser)
    await browser.open('/auth/account')
    await browser.submit('/auth/esci')
    t.match((await exchange(back, verifier)).json(), { error_code: 'flow_state_not_found' })
  })

  t.test('a URL that is not allowed, or a missing challenge, is refused', async (t) => {
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
    const response = await app.inject({
      method: 'POST',
      url: '/auth/accedi',
      headers: {
        cookie: `locanda_form=1; locanda_app=${forged}`,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded'
      },
      payload: new URLSearchParams({ email: 'anna@example.org', password: PASSWORD }).toString()
    })
    t.match(response, { statusCode: 303, headers: { location: '/auth/account' } }, 'a forged cookie')
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
  const { app, base, call, provider } = await setting(t, {
    SIGNUP_ENABLED: 'true', SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'Locanda <noreply@example.org>'
  })
  provider.person = { sub: 'anna-1', email: 'anna@example.org', email_verified: true, name: 'Anna Bianchi' }
  const form = (code: string) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ code }).toString()
  })

  t.test('redirect to the provider and back, and a button in the same browser completes the sign-in', async (t) => {
    t.match((await call('GET', '/auth/accedi')).body, '<a href="/auth/accedi/con/google">Accedi con Google</a>')
    const own = browser('/auth/accedi/ritorno')
    const codeOf = ({ url }: { url: URL }) => url.searchParams.get('code')!
    const back = await own.go(`${base}/auth/accedi/con/google`)
    const page = await own.ask(back.url.href)
    t.equal(page.status, 200)
    t.match(await page.text(), 'Premere il pulsante per finire l’accesso')
    t.same(await app.sql`select id from sessions`, [], 'the URL alone links nothing')
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
})

const NEW = 'una-frase-del-tutto-nuova'
const HOME = 'https://app.example'

t.test('the pages of links in mails', async (t) => {
  const smtp = await startSmtp(t)
  const settings = { SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example', SIGNUP_ENABLED: 'true' }
  const site = async (more = {}) => {
    const { app, token } = await build(t, { ...settings, ...more })
    const service = await token({ service: true })
    const post = async (url: string, payload: object) => {
      const response = await app.inject({ method: 'POST', url, headers: bearer(service), payload })
      t.equal(response.statusCode, 200, response.body)
    }
    return { app, post }
  }
  const letter = async () => read(await smtp.next())
  const pathOf = ({ link }: Letter) => {
    const { pathname, search } = new URL(link)
    return pathname + search
  }
  const { app, post } = await site()
  const forget = async ({ sql }: FastifyInstance = app) => { await sql`delete from counters` }

  t.test('an invitation opens a page whose button accepts it, and then the choice of a password', async (t) => {
    await post('/auth/v1/invite', { email: 'anna@example.org' })
    const mail = await letter()
    t.match(new URL(mail.link), { pathname: '/auth/conferma' })
    for (const method of ['GET', 'HEAD', 'GET'] as const) await app.inject({ method, url: pathOf(mail) })
    const browser = await visitorBrowser(app).open(pathOf(mail))
    t.equal(browser.page().statusCode, 200)
    t.match(browser.page().body, '<h1>Invito a Locanda</h1>')
    t.match(browser.page().headers, { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    await browser.submit('/auth/conferma')
    t.equal(browser.page().path, '/auth/password', 'mail scanners have not used up the link')
    t.equal((await browser.open('/auth/')).page().path, '/auth/password', 'a password must be chosen first')
    await browser.submit('/auth/password', { password: NEW })
    t.equal(browser.page().path, '/auth/account?esito=password')
    const again = await visitorBrowser(app).open(pathOf(mail))
    await again.submit('/auth/conferma')
    t.equal(again.page().statusCode, 400)
    t.match(again.page().body, 'Il collegamento o il codice non è valido, o è scaduto.')
    t.match(again.page().body, 'href="/auth/recupera"')
  })

  t.test('a person who forgot the password gets a link, and strangers learn nothing about accounts', async (t) => {
    await forget()
    const browser = await visitorBrowser(app).open('/auth/recupera')
    await browser.submit('/auth/recupera', { email: 'non un indirizzo' })
    t.equal(errorOf(browser.page().body, 'email'), 'Indicare un indirizzo e-mail valido.')
    await browser.submit('/auth/recupera', { email: 'nessuno@example.org' })
    const response = browser.page()
    await browser.open('/auth/recupera')
    await browser.submit('/auth/recupera', { email: 'anna@example.org' })
    t.equal(browser.page().path, '/auth/recupera?esito=inviata')
    t.equal(browser.page().body, response.body)
    const mail = await letter()
    t.match(mail, { to: 'anna@example.org', link: '/auth/conferma?' })
    await browser.open('/auth/recupera')
    await browser.submit('/auth/recupera', { email: 'anna@example.org' })
    t.equal(browser.page().statusCode, 429)
    t.match(errorOf(browser.page().body, 'email'), /^Troppi tentativi/)
    await browser.open(pathOf(mail))
    await browser.submit('/auth/conferma')
    t.equal(browser.page().path, '/auth/password')
    await browser.submit('/auth/password', { password: `${NEW}-2` })
    t.equal(browser.page().path, '/auth/account?esito=password')
  })

  t.test('a recovery does not bypass the second factor', async (t) => {
    await forget()
    const browser = await visitorBrowser(app).open('/auth/accedi')
    await browser.submit('/auth/accedi', { email: 'anna@example.org', password: `${NEW}-2` })
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    const notices = [await smtp.next(), await smtp.next()].map(({ text }) => text).sort()
    t.match(notices, [/aggiunto un secondo fattore/, /nuovi codici di recupero/], 'the user gets a mail about both')
    await post('/auth/v1/recover', { email: 'anna@example.org' })
    const other = await visitorBrowser(app).open(pathOf(await letter()))
    await other.submit('/auth/conferma')
    t.equal(other.page().path, '/auth/verifica?dopo=password')
    await app.sql`update factors set last_step = null`
    await other.submit('/auth/verifica', { code: codeOf(secret) })
    t.equal(other.page().path, '/auth/password')
  })

  t.test('with a front end\'s URL or a code challenge, a mail links to the verification endpoint', async (t) => {
    const { app, post } = await site({ CORS_ORIGINS: HOME })
    const linkOf = async () => {
      await forget(app)
      return (await letter()).link
    }
    await post('/auth/v1/invite', { email: 'anna@example.org' })
    t.match(await linkOf(), '/auth/conferma?')
    await post(`/auth/v1/recover?redirect_to=${encodeURIComponent(`${HOME}/nuova`)}`, { email: 'anna@example.org' })
    t.match(await linkOf(), '/auth/v1/verify?')
    await post('/auth/v1/recover', {
      email: 'anna@example.org', code_challenge: 'x'.repeat(43), code_challenge_method: 'plain'
    })
    t.match(await linkOf(), '/auth/v1/verify?')
    await post('/auth/v1/otp', { email: 'anna@example.org' })
    t.match(await linkOf(), '/auth/v1/verify?', 'the front end gets the session')
  })

  t.test('the mails use the language in which the person chose the password, or one chosen later', async (t) => {
    await forget()
    await post('/auth/v1/invite', { email: 'frieda@example.org' })
    const invitation = await smtp.next()
    t.match(invitation.subject, 'Invito a Locanda', 'for a user without a language')
    const browser = await visitorBrowser(app, 'de').open(pathOf(read(invitation)))
    await browser.submit('/auth/conferma')
    await browser.submit('/auth/password', { password: NEW })
    await browser.open('/auth/account')
    const recovered = async () => {
      await forget()
      await post('/auth/v1/recover', { email: 'frieda@example.org' })
      return await smtp.next()
    }
    t.match(await recovered(), { subject: 'Passwort für Locanda zurücksetzen', html: '<html lang="de">' })
    await browser.submit('/auth/account/lingua', { lingua: 'fr' })
    t.equal(browser.page().path, '/auth/account?esito=fatto')
    t.match(browser.page().body, /<html lang="fr">.*Langue des pages et des e-mails/s)
    t.match((await recovered()).subject, 'Réinitialisez le mot de passe de Locanda')
    await post('/auth/v1/invite', { email: 'emma@example.org', data: { lingua: 'en' } })
    t.match((await smtp.next()).subject, 'Invitation to Locanda')
  })

  t.test('text from the URL is escaped on the page, and is not a link', async (t) => {
    const evil = '"><script>alert(1)</script>'
    const query = new URLSearchParams({ token: evil, type: evil, redirect_to: 'https://evil.example/' })
    const { body, statusCode } = await app.inject(`/auth/conferma?token=${encodeURIComponent(evil)}&type=x`)
    t.equal(statusCode, 200)
    t.notMatch(body, '<script>')
    t.match(formsOf(body), [{ action: '/auth/conferma' }])
    const urls = ['/auth/conferma', '/auth/accedi', '/auth/verifica', '/auth/recupera']
    const responses = await Promise.all(urls.map((url) => app.inject(`${url}?${query.toString()}`)))
    for (const { body, headers } of responses) {
      t.notMatch(body, /evil\.example|<script>/)
      t.notMatch(headers.location ?? '', 'evil')
    }
  })
})

const PATH = '/locanda'
const PUBLIC_URL = `https://host.example${PATH}`
const BOOKING = {
  nome_cognome: 'Maria Rossi', lingua: 'IT', paese_id: 380, check_in: '2026-12-01', numero_notti: 2, numero_ospiti: 1
}

/** The URLs and cookies of a response that are outside the path of `PUBLIC_URL`. */
function outside ({ body, headers, cookies }: LightMyRequestResponse): string[] {
  const isInside = (address: string) => [PATH, PUBLIC_URL].some((each) => address.startsWith(`${each}/`))
  const isPage = String(headers['content-type']).startsWith('text/html')
  const inPage = isPage ? [...body.matchAll(/ (?:href|action|src|data-options)="([^"]*)"/g)].map(([, at]) => at!) : []
  const inHeaders = [headers.location ?? [], /<(.*)>/.exec(String(headers.link))?.[1] ?? []].flat()
  return [
    // An `otpauth:` link opens an app, and `#` the same page.
    ...[...inPage, ...inHeaders].filter((each) => !isInside(each) && !/^(?:otpauth:|#)/.test(each)),
    ...cookies.filter(({ path = '/' }) => !`${path}/`.startsWith(`${PATH}/`)).map(({ name }) => `cookie ${name}`)
  ]
}

/** A proxy that removes the path, and forwards no request without it. */
function behindProxy (t: Test, app: FastifyInstance): { asks: Pick<FastifyInstance, 'inject'>, seen: Set<string> } {
  const seen = new Set<string>()
  const inject = async (options: InjectOptions | string) => {
    const asked = typeof options === 'string' ? { url: options } : options
    const url = String(asked.url)
    if (!url.startsWith(`${PATH}/`)) throw new Error(`${url} leaves the path`)
    const response = await app.inject({ ...asked, url: url.slice(PATH.length) })
    for (const each of outside(response)) t.fail(`${url} leads to ${each}`)
    seen.add(url.slice(PATH.length).split('?', 1)[0]!)
    return response
  }
  return { asks: { inject } as Pick<FastifyInstance, 'inject'>, seen }
}

t.test('with a path in PUBLIC_URL every link, form and cookie is below that path', async (t) => {
  const smtp = await startSmtp(t)
  const providers = [{ name: 'google', issuer: 'http://127.0.0.1:9/', client_id: 'x', client_secret: 'y' }]
  const { app, token, call } = await build(t, {
    PUBLIC_URL, SMTP_URL: smtp.url, MAIL_FROM: 'posta@host.example', OAUTH_PROVIDERS: JSON.stringify(providers)
  })
  const service = bearer(await token({ service: true }))
  const { asks, seen } = behindProxy(t, app)
  const at = (path: string) => PATH + path

  t.test('an invited person accepts, and manages the account', async (t) => {
    const invitation = { method: 'POST', url: '/auth/v1/invite', headers: service } as const
    t.equal((await app.inject({ ...invitation, payload: { email: 'anna@example.org' } })).statusCode, 200)
    const { link } = read(await smtp.next())
    t.ok(link.startsWith(`${PUBLIC_URL}/auth/conferma?`))
    const browser = await visitorBrowser(asks).open(link.slice(new URL(link).origin.length))
    await browser.submit(at('/auth/conferma'))
    t.equal(browser.page().path, at('/auth/password'))
    await browser.submit(at('/auth/password'), { password: 'una-frase-del-tutto-nuova' })
    t.equal(browser.page().path, at('/auth/account?esito=password'))
    t.match(browser.page().body, `src="${at('/auth/moduli.js')}"`)
    await browser.submit(at('/auth/account/fattori/nuovo'))
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit(at('/auth/account/fattori/conferma'), { code: codeOf(secret) })
    t.match(browser.page().body, 'class="codes"')
    await browser.open(at('/auth/account/chiavi/nuova'))
    t.equal(browser.page().statusCode, 200)
    await browser.open(at('/auth/account'))
    await browser.submit(at('/auth/esci'))
    t.equal(browser.page().path, at('/auth/accedi?esito=uscita'))
    await browser.submit(at('/auth/accedi'), { email: 'anna@example.org', password: 'una-frase-del-tutto-nuova' })
    t.equal(browser.page().path, at('/auth/verifica'))
    await app.sql`update factors set last_step = null`
    await browser.submit(at('/auth/verifica'), { code: codeOf(secret) })
    t.equal(browser.page().path, at('/auth/account'))
  })

  t.test('unknown and protected URLs redirect to existing pages', async (t) => {
    const browser = visitorBrowser(asks)
    for (const path of ['/', '/auth', '/auth/niente', '/auth/recupera', '/auth/conferma', '/auth/account/fattori/nuovo',
      '/auth/verifica', '/auth/accedi/con/google', '/errori', '/docs']) {
      await browser.open(at(path)).catch((err: Error) => t.equal(path, '/auth/accedi/con/google', err.message))
    }
    await browser.open(at('/auth'))
    t.equal(browser.page().path, at('/auth/accedi'))
    t.ok(seen.size > 15, [...seen].join(' '))
  })

  t.test('the administrators\' pages and cookies are also below that path', async (t) => {
    const granted = await asks.inject({
      method: 'POST', url: at('/api/admin/grant-cookie'), headers: bearer(await token({ role: 'admin' }))
    })
    t.same(granted.cookies.map(({ path }) => path), ['/locanda/ad/', '/locanda/ad/'])
    const cookie = granted.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const page = await asks.inject({ url: at('/ad/'), headers: { cookie } })
    t.match(page.body, 'href="/locanda/docs"')
  })

  t.test('a program gets a booking\'s location and the next page\'s link, even for a repeated request', async (t) => {
    const book = async () => await call('POST', '/api/v1/prenotazioni', BOOKING, { 'idempotency-key': 'una' })
    const [first, second] = [await book(), await book()]
    t.match(first.headers.location, /^\/locanda\/api\/v1\/prenotazioni\/\d+$/)
    t.equal(second.headers.location, first.headers.location)
    t.match(second.headers, { 'idempotency-replayed': 'true' })
    await call('POST', '/api/v1/prenotazioni', BOOKING)
    const list = await call('GET', '/api/v1/prenotazioni?limit=1')
    t.match(list.headers.link, /^<\/locanda\/api\/v1\/prenotazioni\?limit=1&/)
  })
})

t.test('cookies for a path are Secure, and none is set for the whole host', async (t) => {
  const { app } = await build(t, { PUBLIC_URL })
  const { headers } = await app.inject('/auth/accedi')
  t.match(headers['set-cookie'], /^__Secure-locanda_form=1; Path=\/locanda; HttpOnly; Secure; SameSite=Strict$/)
})
