import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { TEXTS } from '#src/identity/pages/texts.ts'
import { build } from '#test/helper.ts'
import { read, type Letter } from '#test/identity/mail/mailbox.ts'
import { bearer } from '#test/identity/requests.ts'
import { startSmtp } from '#test/smtp.ts'
import { codeOf } from '#test/identity/factors/authenticator.ts'
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

  t.test('the code of the mail does the same where the link cannot be opened', async (t) => {
    await forget()
    await post('/auth/v1/invite', { email: 'bice@example.org' })
    const { code } = await letter()
    const browser = await visitorBrowser(app).open('/auth/conferma')
    await browser.submit('/auth/conferma/codice', { email: 'bice@example.org', code: 'zzz' })
    t.equal(browser.page().statusCode, 400)
    t.ok(errorOf(browser.page().body, 'code'))
    await browser.submit('/auth/conferma/codice', { code })
    t.equal(browser.page().path, '/auth/password')
    await browser.submit('/auth/password', { password: NEW })
    t.equal(browser.page().path, '/auth/account?esito=password')
  })

  t.test('the code of a forgotten password leads to another one, as its link does', async (t) => {
    await forget()
    await post('/auth/v1/recover', { email: 'bice@example.org' })
    const { code } = await letter()
    const browser = await visitorBrowser(app).open('/auth/conferma')
    await browser.submit('/auth/conferma/codice', { email: 'bice@example.org', code: '123' })
    t.equal((await browser.open('/auth/conferma/codice')).page().path, '/auth/conferma', 'loaded anew')
    await browser.submit('/auth/conferma/codice', { email: 'bice@example.org', code })
    t.equal(browser.page().path, '/auth/password')
    await browser.submit('/auth/password', { password: `${NEW}-3` })
    t.equal(browser.page().path, '/auth/account?esito=password')
  })

  t.test('a sign-up, a link to sign in and a change of address are confirmed by a button, too', async (t) => {
    await forget()
    const body = { email: 'ciro@example.org', password: NEW }
    const signedUp = await app.inject({ method: 'POST', url: '/auth/v1/signup', payload: body })
    t.equal(signedUp.statusCode, 200)
    const mail = await letter()
    const browser = await visitorBrowser(app).open(pathOf(mail))
    t.match(browser.page().body, 'confermare che questo indirizzo è tuo')
    await browser.submit('/auth/conferma')
    t.equal(browser.page().path, '/auth/password', 'in another browser the password is chosen again')
    await browser.submit('/auth/password', { password: NEW })
    await post('/auth/v1/otp', { email: 'ciro@example.org', create_user: false })
    const magic = await visitorBrowser(app).open(pathOf(await letter()))
    await magic.submit('/auth/conferma')
    t.equal(magic.page().path, '/auth/account?esito=indirizzo')
    t.match(magic.page().body, 'Il tuo account attende che un amministratore lo approvi.')
  })

  t.test('both addresses of a change are confirmed, one after the other', async (t) => {
    await forget()
    const browser = await visitorBrowser(app).open('/auth/conferma')
    await post('/auth/v1/recover', { email: 'bice@example.org' })
    await browser.open(pathOf(await letter()))
    await browser.submit('/auth/conferma')
    await browser.submit('/auth/password', { password: NEW })
    await forget()
    const { access_token: access } = (await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: 'bice@example.org', password: NEW }
    })).json<{ access_token: string }>()
    const change = { method: 'PUT', url: '/auth/v1/user', headers: bearer(access) } as const
    t.equal((await app.inject({ ...change, payload: { email: 'bea@example.org' } })).statusCode, 200)
    const [first, second] = [await letter(), await letter()]
    await browser.open(pathOf(first))
    const stale = formsOf(browser.page().body)[0]!.fields
    await browser.submit('/auth/conferma')
    const waiting = (language: 'it' | 'en' | 'de' | 'fr') => new RegExp(
      `<h1>${TEXTS[language].waitingTitle}</h1>\\s*<p>${TEXTS[language].waitingForNew}</p>`)
    t.match(browser.page().body, waiting('it'))
    for (const language of ['it', 'en', 'de', 'fr'] as const) {
      const again = await visitorBrowser(app, language).open(pathOf(first))
      t.equal(again.page().statusCode, 200)
      t.match(again.page().body, waiting(language), 'opened twice it says what is in and what is missing')
      t.same(formsOf(again.page().body), [])
    }
    const late = await app.inject({
      method: 'POST',
      url: '/auth/conferma',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: browser.cookie() },
      payload: new URLSearchParams(Object.fromEntries(stale)).toString()
    })
    t.equal(late.statusCode, 200)
    t.match(late.body, waiting('it'), 'a page that was opened before, too')
    t.match(await app.sql`select email from users where email = 'bice@example.org'`, [{}], 'one address counts once')
    await browser.open(pathOf(second))
    await browser.submit('/auth/conferma')
    t.match(browser.page().body, 'bea@example.org')
    await browser.open(pathOf(first))
    await browser.submit('/auth/conferma')
    t.match(browser.page().body, 'non è valido, o è scaduto', 'nothing is waited for any more')

    await forget()
    const back = { ...change, payload: { email: 'bice@example.org' } }
    const { access_token: now } = (await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: 'bea@example.org', password: NEW }
    })).json<{ access_token: string }>()
    t.equal((await app.inject({ ...back, headers: bearer(now) })).statusCode, 200)
    const [, fresh] = [await letter(), await letter()]
    await browser.open(pathOf(fresh))
    await browser.submit('/auth/conferma')
    t.match(browser.page().body, TEXTS.it.waitingForCurrent)
  })

  t.test('both addresses of a change are confirmed by the codes, too', async (t) => {
    await forget()
    const emails = ['dora@example.org', 'dora.nuova@example.org'] as const
    const user = { email: emails[0], password: NEW, email_confirm: true, app_metadata: { role: 'operator' } }
    await post('/auth/v1/admin/users', user)
    const { access_token: access } = (await app.inject({
      method: 'POST', url: '/auth/v1/token?grant_type=password', payload: { email: emails[0], password: NEW }
    })).json<{ access_token: string }>()
    const change = { method: 'PUT', url: '/auth/v1/user', headers: bearer(access) } as const
    t.equal((await app.inject({ ...change, payload: { email: emails[1] } })).statusCode, 200)
    const letters = [await letter(), await letter()]
    const browser = await visitorBrowser(app).open('/auth/conferma')
    for (const [at, email] of emails.entries()) {
      await browser.open('/auth/conferma')
      const { code } = letters.find(({ to }) => to === email)!
      await browser.submit('/auth/conferma/codice', { email, code })
      if (at === 0) t.match(browser.page().body, TEXTS.it.waitingForNew)
    }
    t.equal(browser.page().path, '/auth/account?esito=indirizzo')
    t.match(browser.page().body, emails[1])
  })

  t.test('a code may be typed with blanks and dashes, and when its tries are used up the link works', async (t) => {
    await forget()
    const invited = async (email: string) => {
      await post('/auth/v1/invite', { email })
      return await letter()
    }
    for (const [name, between] of [['gino', ' '], ['gaia', '-'], ['gemma', ' – ']] as const) {
      const email = `${name}@example.org`
      const { code } = await invited(email)
      const browser = await visitorBrowser(app).open('/auth/conferma')
      await browser.submit('/auth/conferma/codice', { email, code: ` ${code.slice(0, 3)}${between}${code.slice(3)} ` })
      t.equal(browser.page().path, '/auth/password', JSON.stringify(between))
    }

    const email = 'greta@example.org'
    const mail = await invited(email)
    const stranger = await visitorBrowser(app).open('/auth/conferma')
    const wrongCode = mail.code === '000000' ? '000001' : '000000'
    for (let tries = 0; tries < 5; tries++) {
      await stranger.submit('/auth/conferma/codice', { email, code: wrongCode })
      t.equal(stranger.page().statusCode, 400)
      t.equal(errorOf(stranger.page().body, 'code'), TEXTS.it.codeOver)
    }
    const limit = Number((await app.sql`select max(count) as n from counters where name = 'code/account'`)[0]!.n)
    await app.sql`update counters set count = 1000 where name = 'code/account' and count = ${limit}`
    for (const language of ['it', 'en', 'de', 'fr'] as const) {
      const person = await visitorBrowser(app, language).open('/auth/conferma')
      await person.submit('/auth/conferma/codice', { email, code: mail.code })
      t.equal(person.page().statusCode, 429)
      const [before, after] = TEXTS[language].tooManyCodes.split('{n}') as [string, string]
      const told = errorOf(person.page().body, 'code')!
      t.ok(told.startsWith(before) && told.endsWith(after), told)
      const minutes = Number(told.slice(before.length, -after.length))
      t.ok(minutes > 0 && minutes <= 60, told)
    }
    const person = await visitorBrowser(app).open(pathOf(mail))
    await app.sql`update counters set count = 1000 where name = 'proof/address'`
    await person.submit('/auth/conferma')
    t.equal(person.page().statusCode, 429)
    await app.sql`delete from counters where name = 'proof/address'`
    await person.submit('/auth/conferma')
    t.equal(person.page().path, '/auth/password', 'the link works: too many tries have not used it up')
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

  t.test('what stands in an address is text on the page, and leads nowhere', async (t) => {
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
