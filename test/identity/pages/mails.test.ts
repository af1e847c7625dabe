import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { build } from '#test/helper.ts'
import { codeOf } from '#test/identity/factors/authenticator.ts'
import { type Letter, read } from '#test/identity/mail/mailbox.ts'
import { bearer } from '#test/identity/requests.ts'
import { startSmtp } from '#test/smtp.ts'
import { errorOf, formsOf, visitorBrowser } from './visitor.ts'

const NEW = 'una-frase-del-tutto-nuova'
const HOME = 'https://app.example'

t.test('the pages that mails lead to', async (t) => {
  const smtp = await startSmtp(t)
  const settings = { SMTP_URL: smtp.url, MAIL_FROM: 'posta@locanda.example', SIGNUP_ENABLED: 'true' }
  const site = async (more = {}) => {
    const { app, token } = await build(t, { ...settings, ...more })
    const service = await token({ service: true })
    const post = async (url: string, payload: object) => {
      const answer = await app.inject({ method: 'POST', url, headers: bearer(service), payload })
      t.equal(answer.statusCode, 200, answer.body)
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

  t.test('an invitation leads to a page whose button takes it, and then to the choice of a password', async (t) => {
    await post('/auth/v1/invite', { email: 'anna@example.org' })
    const mail = await letter()
    t.match(new URL(mail.link), { pathname: '/auth/conferma' })
    for (const method of ['GET', 'HEAD', 'GET'] as const) await app.inject({ method, url: pathOf(mail) })
    const browser = await visitorBrowser(app).open(pathOf(mail))
    t.equal(browser.page().statusCode, 200)
    t.match(browser.page().body, '<h1>Invito a Locanda</h1>')
    t.match(browser.page().headers, { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' })
    await browser.submit('/auth/conferma')
    t.equal(browser.page().path, '/auth/password', 'programs that only look at the link have not used it up')
    t.equal((await browser.open('/auth/')).page().path, '/auth/password', 'without a password nothing else comes first')
    await browser.submit('/auth/password', { password: NEW })
    t.equal(browser.page().path, '/auth/account?esito=password')
    const again = await visitorBrowser(app).open(pathOf(mail))
    await again.submit('/auth/conferma')
    t.equal(again.page().statusCode, 400)
    t.match(again.page().body, 'Il collegamento o il codice non è valido, o è scaduto.')
    t.match(again.page().body, 'href="/auth/recupera"')
  })

  t.test('a person who has forgotten the password is sent a link, and strangers learn nothing', async (t) => {
    await forget()
    const browser = await visitorBrowser(app).open('/auth/recupera')
    await browser.submit('/auth/recupera', { email: 'non un indirizzo' })
    t.equal(errorOf(browser.page().body, 'email'), 'Scrivi un indirizzo e-mail valido.')
    await browser.submit('/auth/recupera', { email: 'nessuno@example.org' })
    const answer = browser.page()
    await browser.open('/auth/recupera')
    await browser.submit('/auth/recupera', { email: 'anna@example.org' })
    t.equal(browser.page().path, '/auth/recupera?esito=inviata')
    t.equal(browser.page().body, answer.body)
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

  t.test('a recovery does not pass by the second factor', async (t) => {
    await forget()
    const browser = await visitorBrowser(app).open('/auth/accedi')
    await browser.submit('/auth/accedi', { email: 'anna@example.org', password: `${NEW}-2` })
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    const notices = [await smtp.next(), await smtp.next()].map(({ text }) => text).sort()
    t.match(notices, [/aggiunto un secondo fattore/, /nuovi codici di recupero/], 'both are told to the person by mail')
    await post('/auth/v1/recover', { email: 'anna@example.org' })
    const other = await visitorBrowser(app).open(pathOf(await letter()))
    await other.submit('/auth/conferma')
    t.equal(other.page().path, '/auth/verifica?dopo=password')
    await app.sql`update factors set last_step = null`
    await other.submit('/auth/verifica', { code: codeOf(secret) })
    t.equal(other.page().path, '/auth/password')
  })

  t.test('an address of the front end, or its code challenge, is led to as ever', async (t) => {
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
    t.match(await linkOf(), '/auth/v1/verify?', 'the front end takes over who signs in')
  })

  t.test('speak the language in which their person chose the password, or the one chosen since', async (t) => {
    await forget()
    await post('/auth/v1/invite', { email: 'frieda@example.org' })
    const invitation = await smtp.next()
    t.match(invitation.subject, 'Invito a Locanda', 'of whom nothing is known')
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
    t.match((await recovered()).subject, 'Réinitialisez le mot de passe de Locanda')
    await browser.submit('/auth/account/lingua', { lingua: 'xx' })
    t.match((await recovered()).subject, 'Réinitialisez', 'another one is passed over')
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    const notices = [await smtp.next(), await smtp.next()].map(({ text }) => text).sort()
    t.match(notices, [/De nouveaux codes de récupération/, /Un second facteur a été ajouté/])
    await post('/auth/v1/invite', { email: 'emma@example.org', data: { lingua: 'en' } })
    t.match((await smtp.next()).subject, 'Invitation to Locanda')
  })

  t.test('text from the URL stays text on the page, and leads nowhere', async (t) => {
    const evil = '"><script>alert(1)</script>'
    const query = new URLSearchParams({ token: evil, type: evil, redirect_to: 'https://evil.example/' })
    const { body, statusCode } = await app.inject(`/auth/conferma?token=${encodeURIComponent(evil)}&type=x`)
    t.equal(statusCode, 200)
    t.notMatch(body, '<script>')
    t.match(formsOf(body), [{ action: '/auth/conferma' }])
    const urls = ['/auth/conferma', '/auth/accedi', '/auth/verifica', '/auth/recupera']
    const answers = await Promise.all(urls.map((url) => app.inject(`${url}?${query.toString()}`)))
    for (const { body, headers } of answers) {
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

/** The addresses and cookies of an answer that lead out of the path of `PUBLIC_URL`. */
function outside ({ body, headers, cookies }: LightMyRequestResponse): string[] {
  const isInside = (address: string) => [PATH, PUBLIC_URL].some((each) => address.startsWith(`${each}/`))
  const isPage = String(headers['content-type']).startsWith('text/html')
  const inPage = isPage ? [...body.matchAll(/ (?:href|action|src|data-options)="([^"]*)"/g)].map(([, at]) => at!) : []
  const inHeaders = [headers.location ?? [], /<(.*)>/.exec(String(headers.link))?.[1] ?? []].flat()
  return [
    // An app for codes is no page.
    ...[...inPage, ...inHeaders].filter((each) => !isInside(each) && !each.startsWith('otpauth:')),
    ...cookies.filter(({ path = '/' }) => !`${path}/`.startsWith(`${PATH}/`)).map(({ name }) => `cookie ${name}`)
  ]
}

/** A proxy that takes the path off, and passes nothing on that comes without it. */
function behindProxy (t: Test, app: FastifyInstance): { asks: Pick<FastifyInstance, 'inject'>, seen: Set<string> } {
  const seen = new Set<string>()
  const inject = async (options: InjectOptions | string) => {
    const asked = typeof options === 'string' ? { url: options } : options
    const url = String(asked.url)
    if (!url.startsWith(`${PATH}/`)) throw new Error(`${url} leaves the path`)
    const answer = await app.inject({ ...asked, url: url.slice(PATH.length) })
    for (const each of outside(answer)) t.fail(`${url} leads to ${each}`)
    seen.add(url.slice(PATH.length).split('?', 1)[0]!)
    return answer
  }
  return { asks: { inject } as Pick<FastifyInstance, 'inject'>, seen }
}

t.test('with a path in PUBLIC_URL every link, form and cookie stays below it', async (t) => {
  const smtp = await startSmtp(t)
  const providers = [{ name: 'google', issuer: 'http://127.0.0.1:9/', client_id: 'x', client_secret: 'y' }]
  const { app, token, call } = await build(t, {
    PUBLIC_URL, SMTP_URL: smtp.url, MAIL_FROM: 'posta@host.example', OAUTH_PROVIDERS: JSON.stringify(providers)
  })
  const service = bearer(await token({ service: true }))
  const { asks, seen } = behindProxy(t, app)
  const at = (path: string) => PATH + path

  t.test('an invitation is accepted, and its person looks after the account', async (t) => {
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

  t.test('strangers and the lost find the way', async (t) => {
    const browser = visitorBrowser(asks)
    for (const path of ['/', '/auth', '/auth/niente', '/auth/recupera', '/auth/conferma', '/auth/account/fattori/nuovo',
      '/auth/verifica', '/auth/accedi/con/google', '/errori', '/docs']) {
      await browser.open(at(path)).catch((err: Error) => t.equal(path, '/auth/accedi/con/google', err.message))
    }
    await browser.open(at('/auth'))
    t.equal(browser.page().path, at('/auth/accedi'))
    t.ok(seen.size > 15, [...seen].join(' '))
  })

  t.test('the pages for administrators and their cookies, too', async (t) => {
    const granted = await asks.inject({
      method: 'POST', url: at('/api/admin/grant-cookie'), headers: bearer(await token({ role: 'admin' }))
    })
    t.same(granted.cookies.map(({ path }) => path), ['/locanda/ad/', '/locanda/ad/'])
    const cookie = granted.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    const page = await asks.inject({ url: at('/ad/'), headers: { cookie } })
    t.match(page.body, 'href="/locanda/docs"')
  })

  t.test('a program is told where a booking is and where the next page, also when it asks again', async (t) => {
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

t.test('cookies for a path are for a secure connection alone, and the whole host gets none', async (t) => {
  const { app } = await build(t, { PUBLIC_URL })
  const { headers } = await app.inject('/auth/accedi')
  t.match(headers['set-cookie'], /^__Secure-locanda_form=1; Path=\/locanda; HttpOnly; Secure; SameSite=Strict$/)
})
