import { hash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { TEXTS } from '#src/identity/pages/page-texts.ts'
import { preferredLanguage } from '#src/lib/accept-headers.ts'
import { build } from '#test/helper.ts'
import { codeOf, forgetCodes } from '#test/identity/factors/authenticator.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { errorOf, formsOf, visitorBrowser } from './visitor.ts'

t.test('the pages of a person who signs in', async (t) => {
  const server = await build(t, { RATE_LIMIT_LOGIN_MAX: '5' })
  const { app, call, logs } = server
  const person = async (email: string) => (await createPerson(server, email)).id
  const signedIn = async (email: string) => {
    await app.sql`delete from counters`
    const browser = await visitorBrowser(app).open('/auth/')
    return await browser.submit('/auth/accedi', { email, password: PASSWORD })
  }
  /** Adds an app to the account on the page. Returns its secret, and the recovery codes. */
  const addApp = async (browser: Awaited<ReturnType<typeof signedIn>>) => {
    await browser.submit('/auth/account/fattori/nuovo')
    const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(browser.page().body)![1]!.replaceAll(' ', '')
    const shown = browser.page().body
    await browser.submit('/auth/account/fattori/conferma', { code: codeOf(secret) })
    const codes = [...browser.page().body.matchAll(/<li>([a-z\d-]{19})<\/li>/g)].map(([, code]) => code!)
    return { secret, codes, shown }
  }

  t.test('sign the person in with e-mail and password, and show the account', async (t) => {
    const id = await person('anna@example.org')
    const browser = await visitorBrowser(app).open('/auth/')
    t.equal(browser.page().path, '/auth/accedi')
    await browser.submit('/auth/accedi', { email: ' Anna@example.org ', password: PASSWORD })
    t.equal(browser.page().path, '/auth/account')
    t.match(browser.page().body, 'Accesso eseguito come anna@example.org.')
    t.equal((await browser.open('/auth/accedi')).page().path, '/auth/account', 'a signed-in user gets no form')
    t.match(await app.sql`select details from audit_log where actor = ${`user:${id}`} and action = 'accesso'`,
      [{ details: { method: 'password' } }])
    const [session] = await app.sql<{ ip: string, user_agent: string }[]>`
      select ip, user_agent from sessions where user_id = ${id}`
    t.match(session, { ip: '127.0.0.1', user_agent: 'lightMyRequest' }, 'the session belongs to the browser')
  })

  t.test('show the error of a wrong password below the field, and of too many wrong ones above the form', async (t) => {
    await person('bice@example.org')
    const browser = await visitorBrowser(app).open('/auth/accedi')
    await browser.submit('/auth/accedi', { email: 'bice@example.org', password: 'sbagliata' })
    const { statusCode, body } = browser.page()
    t.equal(statusCode, 400)
    t.equal(errorOf(body, 'password'), 'Indirizzo o password non corretti.')
    t.match(body, /<input id="password"[^>]* aria-describedby="password-error" aria-invalid="true"/)
    t.match(body, '<title>Errore: Accedi · Locanda</title>')
    t.match(body, /id="email"[^>]* value="bice@example.org"/, 'the form keeps the address')
    t.notMatch(body, 'sbagliata')
    const unknown = await visitorBrowser(app).open('/auth/accedi')
    await unknown.submit('/auth/accedi', { email: 'nessuno@example.org', password: 'sbagliata' })
    t.equal(unknown.page().body.replace('nessuno', 'bice'), body, 'an unknown address gets the same page')
    for (let more = 0; more < 5; more++) {
      await browser.submit('/auth/accedi', { email: 'bice@example.org', password: 'sbagliata' })
    }
    t.equal(browser.page().statusCode, 429)
    t.match(browser.page().headers, { 'retry-after': /^\d+$/ })
    t.match(browser.page().body, /role="alert">Troppi tentativi\. Riprovare fra \d+ min\.</)
    t.equal((await call('POST', '/auth/v1/token?grant_type=password', {
      email: 'bice@example.org', password: PASSWORD
    })).statusCode, 429, 'pages and protocol count together')
    await app.sql`delete from counters`
    t.notMatch(JSON.stringify(logs), /bice@example|sbagliata/)
  })

  t.test('sign out, which ends the session everywhere', async (t) => {
    const id = await person('ciro@example.org')
    const browser = await signedIn('ciro@example.org')
    const stolen = browser.cookie()
    await browser.submit('/auth/esci')
    t.equal(browser.page().path, '/auth/accedi?esito=uscita')
    t.match(browser.page().body, 'L’accesso è terminato.')
    t.same(await app.sql`select 1 from sessions where user_id = ${id}`, [])
    const again = await signedIn('ciro@example.org')
    const left = await app.inject({
      method: 'POST',
      url: '/auth/esci',
      payload: '',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: again.cookie() }
    })
    t.equal(left.headers['clear-site-data'], '"cache"')
    const response = await app.inject({ url: '/auth/account', headers: { cookie: stolen } })
    t.match(response, { statusCode: 303, headers: { location: '/auth/accedi' } })
  })

  t.test('make a person with the printed password choose another one first', async (t) => {
    const id = await person('prima@example.org')
    await app.sql`update users set password_printed = true where id = ${id}`
    const browser = await signedIn('prima@example.org')
    t.equal(browser.page().path, '/auth/password')
    t.match(browser.page().body, 'Questa password è stata mostrata all’avvio del server')
    for (const url of ['/auth/', '/auth/accedi', '/auth/account', '/auth/account/fattori/nuovo']) {
      t.equal((await browser.open(url)).page().path, '/auth/password', url)
    }
    await browser.submit('/auth/password', { password: PASSWORD })
    t.equal(errorOf(browser.page().body, 'password'), 'Scegliere una password diversa da quella attuale.')
    await browser.submit('/auth/password', { password: 'una-frase-tutta-nuova' })
    t.match(browser.page(), { path: '/oggi', statusCode: 200 }, 'the work begins')
    await browser.open('/auth/account')
    t.equal((await browser.submit('/auth/esci')).page().path, '/auth/accedi?esito=uscita')
  })

  t.test('end the earlier session of the browser when the person signs in again', async (t) => {
    const id = await person('doppia@example.org')
    const browser = await signedIn('doppia@example.org')
    const sessions = async () => await app.sql<{ id: string }[]>`select id from sessions where user_id = ${id}`
    const [earlier] = await sessions()
    const response = await app.inject({
      method: 'POST',
      url: '/auth/accedi',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: browser.cookie() },
      payload: new URLSearchParams({ email: 'doppia@example.org', password: PASSWORD }).toString()
    })
    t.equal(response.statusCode, 303)
    const now = await sessions()
    t.equal(now.length, 1)
    t.not(now[0]!.id, earlier!.id)
  })

  t.test('add an app, show recovery codes, and require a code from then on', async (t) => {
    await person('dora@example.org')
    const browser = await signedIn('dora@example.org')
    const { secret, codes, shown } = await addApp(browser)
    t.match(shown, /role="img" aria-label="Codice QR per l’app di autenticazione"><svg/)
    t.equal(codes.length, 10)
    await browser.open('/auth/account')
    t.match(browser.page().body, 'App di autenticazione')
    t.match(browser.page().body, 'ne restano 10')

    const later = await signedIn('dora@example.org')
    t.equal(later.page().path, '/auth/verifica')
    t.equal((await later.open('/auth/account')).page().path, '/auth/verifica', 'no codes are shown before the proof')
    t.equal((await later.open('/auth/password')).page().path, '/auth/verifica?dopo=password')
    await later.submit('/auth/verifica', { code: 'x'.repeat(50) })
    t.equal(errorOf(later.page().body, 'code-0'), 'Il codice non è giusto, o è già stato usato.')
    await forgetCodes(app)
    await later.submit('/auth/verifica', { code: codeOf(secret) })
    t.equal(later.page().path, '/auth/password', 'a proof returns to the page')

    const lost = await signedIn('dora@example.org')
    await lost.submit('/auth/verifica/recupero', { code: 'aaaa-bbbb' })
    t.equal(errorOf(lost.page().body, 'recovery-code'), 'Il codice non è giusto, o è già stato usato.')
    await lost.submit('/auth/verifica/recupero', { code: codes[0]! })
    t.equal(lost.page().path, '/auth/account')
    t.match(lost.page().body, 'ne restano 9')
    t.match(lost.page().body, /<details><summary>Crea nuovi codici.*?<form method="post" action="\/auth\/account\/codici"/s,
      'the earlier ones are not void by one press')
    await lost.submit('/auth/account/codici')
    t.notMatch(lost.page().body, codes[1]!)
  })

  t.test('remove the last app together with its recovery codes, even after signing in with a code', async (t) => {
    const id = await person('dino@example.org')
    const { codes } = await addApp(await signedIn('dino@example.org'))
    const browser = await signedIn('dino@example.org')
    await browser.submit('/auth/verifica/recupero', { code: codes[0]! })
    await app.sql`create function refuse_removal () returns trigger language plpgsql as
      $$ begin raise exception 'refused'; end $$`
    await app.sql`create trigger refuse_removal before delete on factors for each row
      when (old.factor_type = 'totp') execute function refuse_removal()`
    await browser.submit('/auth/account/fattori/rimuovi')
    t.equal(browser.page().statusCode, 500)
    await app.sql`drop trigger refuse_removal on factors`
    await browser.open('/auth/account')
    t.match(browser.page().body, 'ne restano 9', 'nothing was removed')
    await browser.submit('/auth/account/fattori/rimuovi')
    t.equal(browser.page().path, '/auth/account?esito=fatto')
    t.same(await app.sql`select 1 from factors where user_id = ${id}`, [])
    t.match(await app.sql`
      select details from audit_log where actor = ${`user:${id}`} and action = 'fattore_rimosso' order by id`, [
      { details: { type: 'totp' } }, { details: { type: 'recovery_code' } }
    ])
  })

  t.test('limit the number of wrong codes', async (t) => {
    await person('elio@example.org')
    await addApp(await signedIn('elio@example.org'))
    const browser = await signedIn('elio@example.org')
    for (let tries = 0; tries < 6; tries++) await browser.submit('/auth/verifica', { code: '000000' })
    t.equal(browser.page().statusCode, 429)
    t.match(errorOf(browser.page().body, 'code-0'), /^Troppi tentativi\. Riprovare fra \d+ min\.$/)
  })

  t.test('show a pending app\'s secret only to a session that has already seen it', async (t) => {
    await person('fede@example.org')
    const owner = await signedIn('fede@example.org')
    await owner.submit('/auth/account/fattori/nuovo')
    const stranger = await signedIn('fede@example.org')
    await stranger.submit('/auth/account/fattori/nuovo')
    const { id } = Object.fromEntries(formsOf(owner.page().body)[0]!.fields) as { id: string }
    for (const secret of ['', 'A'.repeat(32), formsOf(stranger.page().body)[0]!.fields.get('secret')!]) {
      await stranger.submit('/auth/account/fattori/conferma', { id, secret, code: '000000' })
      t.equal(stranger.page().statusCode, 400)
      t.notMatch(stranger.page().body, /<svg|otpauth:|<code>/)
      await stranger.submit('/auth/account/fattori/nuovo')
    }
  })

  t.test('end one session, and end the others', async (t) => {
    const id = await person('gina@example.org')
    const first = await signedIn('gina@example.org')
    const second = await signedIn('gina@example.org')
    await signedIn('gina@example.org')
    const count = async () => Number((await app.sql`select count(*) as n from sessions where user_id = ${id}`)[0]!.n)
    await first.open('/auth/account')
    const others = formsOf(first.page().body).filter(({ action }) => action.endsWith('/sessioni/chiudi'))
    t.equal(others.length, 2)
    await first.submit('/auth/account/sessioni/chiudi')
    t.equal(await count(), 2)
    const stranger = await signedIn('fede@example.org')
    const mine = await app.sql<{ id: string }[]>`select id from sessions where user_id = ${id}`
    await stranger.open('/auth/account')
    await signedIn('fede@example.org')
    await stranger.open('/auth/account')
    await stranger.submit('/auth/account/sessioni/chiudi', { id: mine[0]!.id })
    await stranger.submit('/auth/account/sessioni/altre')
    t.equal(await count(), 2, 'the session of another user continues')
    await first.submit('/auth/account/sessioni/altre')
    t.equal(await count(), 1)
    t.equal((await second.open('/auth/account')).page().path, '/auth/accedi')
  })

  t.test('refuse a cookie that was not issued to a browser', async (t) => {
    const browser = await signedIn('anna@example.org')
    const value = /locanda_session=([^;]*)/.exec(browser.cookie())![1]!
    const [id, mac] = value.split('.') as [string, string]
    const another = await signedIn('fede@example.org')
    const [otherId] = /locanda_session=([^;]*)/.exec(another.cookie())![1]!.split('.') as [string]
    const forged = [
      id, `${id}.`, `${id}.${'0'.repeat(64)}`, `${otherId}.${mac}`, `${value}; locanda_session=${value}`,
      `${'0'.repeat(36)}.${mac}`
    ]
    for (const each of forged) {
      const response = await app.inject({ url: '/auth/account', headers: { cookie: `locanda_session=${each}` } })
      t.match(response, { statusCode: 303, headers: { location: '/auth/accedi' } }, each)
    }
    const api = await app.inject({ url: '/auth/v1/user', headers: { cookie: `locanda_session=${value}` } })
    t.equal(api.statusCode, 401, 'the API ignores cookies')
    await app.sql`update users set banned_until = now() + interval '1 day' where email = 'anna@example.org'`
    t.equal((await browser.open('/auth/account')).page().path, '/auth/accedi', 'a banned user is signed out')
  })

  t.test('accept forms only from these pages', async (t) => {
    await app.sql`delete from counters`
    const payload = new URLSearchParams({ email: 'fede@example.org', password: PASSWORD }).toString()
    const post = async (headers: Record<string, string>, url = '/auth/accedi') => await app.inject({
      method: 'POST', url, headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, payload
    })
    for (const site of ['cross-site', 'same-site', 'none', '']) {
      const response = await post({ 'sec-fetch-site': site, cookie: 'locanda_form=1' })
      t.equal(response.statusCode, 403, site)
      t.same(response.cookies, [])
      t.match(response.body, TEXTS.it.foreignForm)
    }
    for (const origin of ['https://altrove.example', 'null']) {
      t.equal((await post({ origin, cookie: 'locanda_form=1' })).statusCode, 403, origin)
    }
    t.equal((await post({ origin: new URL(app.identity.config.PUBLIC_URL).origin })).statusCode, 400, 'our own origin')
    const silent = await post({})
    t.equal(silent.statusCode, 400, 'a browser without Sec-Fetch-Site and cookie')
    t.match(silent.cookies, [{ name: 'locanda_form', sameSite: 'Strict' }], 'not sent by other sites’ forms')
    t.equal((await post({ cookie: 'locanda_form=1' })).statusCode, 303)
    t.equal((await post({ 'sec-fetch-site': 'same-origin', cookie: 'locanda_form=1' })).statusCode, 303)
    const page = await app.inject('/auth/accedi')
    t.match(page.cookies, [{ name: 'locanda_form', value: '1', sameSite: 'Strict', httpOnly: true }])
    const json = await post({ 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' })
    t.equal(json.statusCode, 415)
    const twice = await app.inject({
      method: 'POST',
      url: '/auth/accedi',
      headers: {
        'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', cookie: 'locanda_form=1'
      },
      payload: 'email=a&email=b'
    })
    t.equal(twice.statusCode, 400)
    const { cookies } = await post({ 'sec-fetch-site': 'same-origin', cookie: 'locanda_form=1' })
    t.match(cookies, [{ name: 'locanda_session', sameSite: 'Lax', httpOnly: true, path: '/' }])
    t.notOk(cookies[0]!.maxAge, 'the cookie ends with the browser')
  })
})

t.test('over plain http in a network, a form of a page without referrer is accepted by its cookie', async (t) => {
  const payload = new URLSearchParams({ email: 'ada@example.org', password: PASSWORD }).toString()
  for (const [PUBLIC_URL, status] of [
    ['http://192.168.1.10:3000', 303], ['https://locanda.example', 403], ['http://localhost:3000', 403]
  ] as const) {
    const server = await build(t, { PUBLIC_URL })
    await createPerson(server, 'ada@example.org')
    const [cookie] = (await server.app.inject('/auth/accedi')).cookies
    const post = async (headers: Record<string, string>) => (await server.app.inject({
      method: 'POST',
      url: '/auth/accedi',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'null', ...headers },
      payload
    })).statusCode
    t.equal(await post({ cookie: `${cookie!.name}=1` }), status, PUBLIC_URL)
    t.equal(await post({}), status === 303 ? 400 : 403, 'other sites’ forms lack the cookie')
    t.equal(await post({ cookie: `${cookie!.name}=1`, 'sec-fetch-site': 'cross-site' }), 403)
  }
})

const PAGES = ['/auth/accedi', '/auth/recupera', '/auth/recupera?esito=inviata', '/auth/conferma',
  '/auth/conferma?token=x&type=invite']

/** URLs for POST only. A browser that requests one with GET is redirected to the first page. */
const FORMS = [
  '/auth/account/fattori/nuovo', '/auth/account/fattori/conferma', '/auth/verifica/recupero', '/auth/conferma/codice',
  '/auth/esci'
]

t.test('the pages for users', async (t) => {
  const { app, call } = await build(t)
  const asks = (language = '', url = '/auth/accedi') =>
    app.inject({ url, headers: { accept: 'text/html', ...(language && { 'accept-language': language }) } })

  t.test('use the language of the browser, or Italian when none is supported', async (t) => {
    const titles: [string, string, string][] = [
      ['', 'it', 'Accedi'],
      ['en-GB,en;q=0.9', 'en', 'Sign in'],
      ['de-AT', 'de', 'Anmelden'],
      ['es, fr;q=0.8, en;q=0.5', 'fr', 'Se connecter'],
      ['ja', 'it', 'Accedi']
    ]
    for (const [language, lang, title] of titles) {
      const { body, headers } = await asks(language)
      t.match(body, `<html lang="${lang}">`, language)
      t.match(body, `<h1>${title}</h1>`)
      t.match(headers, { 'content-language': lang, vary: /accept-language/ })
    }
    const browser = await visitorBrowser(app, 'fr').open('/auth/accedi')
    await browser.submit('/auth/accedi', { email: 'nessuno@example.org', password: 'sbagliata' })
    t.match(browser.page().body, 'L’adresse ou le mot de passe n’est pas correct.', 'error pages, too')
  })

  t.test('have every text in every language, with a placeholder wherever the Italian text has one', async (t) => {
    for (const [language, texts] of Object.entries(TEXTS)) {
      for (const [key, text] of Object.entries(TEXTS.it)) {
        const other = texts[key as keyof typeof texts]
        t.ok(other.trim().length > 0 && other.includes('{n}') === text.includes('{n}'), `${language} ${key}`)
      }
    }
    const same = Object.entries(TEXTS.it).filter(([key, text]) =>
      Object.values(TEXTS).every((texts) => texts[key as keyof typeof texts] === text)).map(([key]) => key)
    t.same(same, ['homeTitle'], 'every text is translated')
  })

  t.test('allow only their own style sheet and this server\'s script', async (t) => {
    for (const url of PAGES) {
      const { statusCode, headers, body } = await asks('it', url)
      t.equal(statusCode, 200, url)
      const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'content-security-policy': `default-src 'none';style-src 'sha256-${hash('sha256', style, 'base64')}';` +
          "base-uri 'none';form-action 'self';script-src 'self';connect-src 'self';frame-ancestors 'none'"
      }, url)
      t.same(body.match(/<script.*/g), ['<script src="/auth/moduli.js" defer></script>'])
      t.notMatch(body, /<(img|iframe|object|embed|link|base)|\son\w+=|style="|javascript:/i)
      for (const [, href = ''] of body.matchAll(/href="([^"]*)"/g)) {
        t.ok((await asks('it', href)).statusCode < 400, `${url} leads to ${href}`)
      }
    }
  })

  t.test('respond to / with the desk for a person, and with a 404 for a program', async (t) => {
    const page = await app.inject({ url: '/', headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
    t.match(page, { statusCode: 303, headers: { location: '/oggi', vary: /accept/ } })
    for (const accept of [undefined, '*/*', 'application/json']) {
      const response = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } })
      t.match(response, { statusCode: 404 })
      t.match(response.json(), { codice: 'RISORSA_NON_TROVATA', status: 404 })
    }
  })

  t.test('render errors as pages, and send API errors to programs for unknown URLs', async (t) => {
    const wrong = await asks('en', '/auth/accedi?esito=uscita&esito=altro')
    t.match(wrong, { statusCode: 400, headers: { 'content-type': /^text\/html/ } })
    t.match(wrong.body, 'That has failed. Try again.')
    t.match((await call('GET', '/auth/nessuna')).json(), { codice: 'RISORSA_NON_TROVATA' })
    t.match((await call('GET', '/auth/v1/nessuna')).json(), { error_code: 'validation_failed' })
    for (const method of ['GET', 'POST'] as const) {
      const { statusCode, body } = await app.inject({ method, url: '/auth', headers: { accept: 'application/json' } })
      t.match({ statusCode, body }, { statusCode: 404, body: '"RISORSA_NON_TROVATA"' })
    }
    for (const url of FORMS) t.match(await asks('de', url), { statusCode: 303, headers: { location: '/auth/' } }, url)
    t.match((await call('PUT', '/auth/accedi')), { statusCode: 405, headers: { allow: 'GET, HEAD, POST' } })
  })

  t.test('redirect a person from /auth to the first page, and explain unknown URLs', async (t) => {
    t.match(await asks('it', '/auth?x=1'), { statusCode: 303, headers: { location: '/auth/' } })
    t.equal((await visitorBrowser(app).open('/auth')).page().path, '/auth/accedi')
    const urls = ['/auth/nessuna', '/auth/accedi/', '/auth/accedi/con/nessuno', '/auth/account/passkey/opzioni/x']
    for (const language of ['it', 'en', 'de', 'fr'] as const) {
      for (const url of urls) {
        const { statusCode, headers, body } = await asks(language, url)
        t.equal(statusCode, 404, url)
        t.match(headers, { 'content-type': /^text\/html/, 'content-language': language, 'cache-control': 'no-store' })
        t.match(body, `<h1>${TEXTS[language].notFoundTitle}</h1>`)
        t.match(body, TEXTS[language].notFound)
        t.match(body, 'href="/auth/"')
      }
    }
    t.match((await asks('it', '/auth/v1/nessuna')).json(), { error_code: 'validation_failed' }, 'a JSON error')
  })
})

t.test('with a domain cookies are Secure with the prefix __Host-, and devices are offered', async (t) => {
  const { app } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const { headers } = await app.inject('/auth/accedi')
  t.match(headers['set-cookie'], /^__Host-locanda_form=1; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  const question = await app.inject({
    method: 'POST',
    url: '/auth/accedi/passkey/opzioni',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      cookie: '__Host-locanda_form=1'
    },
    payload: 'challenge=&credential='
  })
  t.match(question.json(), { fields: { challenge: String }, create: false, options: { rpId: 'locanda.example' } })
})

t.test('for every Accept-Language header, the language is a supported one', async (t) => {
  const all = ['it', 'en', 'de', 'fr'] as const
  fc.assert(fc.property(fc.string(), (header) => all.includes(preferredLanguage(header, all))))
  fc.assert(fc.property(fc.constantFrom(...all), fc.constantFrom(...all), (first, second) => {
    t.equal(preferredLanguage(`xx, ${second};q=0.4, ${first}-CH;q=0.7`, all), first)
    t.equal(preferredLanguage(`${first};q=0, ${second}`, all), second)
  }), { numRuns: 30 })
})
