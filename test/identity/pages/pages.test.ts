import { hash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { wordsFor } from '#src/identity/pages/ask.ts'
import { TEXTS } from '#src/identity/pages/texts.ts'
import { preferredLanguage } from '#src/lib/accept.ts'
import { build } from '#test/helper.ts'
import { visitorBrowser } from './visitor.ts'

const PAGES = ['/', '/auth/accedi', '/auth/recupera', '/auth/recupera?esito=inviata', '/auth/conferma',
  '/auth/conferma?token=x&type=invite']

/** Addresses that take forms alone, and the page that a browser is led to which loads them anew. */
const ABOVE = {
  '/auth/account/fattori/nuovo': '/auth/account',
  '/auth/account/fattori/conferma': '/auth/account',
  '/auth/verifica/recupero': '/auth/verifica',
  '/auth/conferma/codice': '/auth/conferma',
  '/auth/esci': '/auth/'
}

t.test('the pages for people', async (t) => {
  const { app, call } = await build(t)
  const asks = (language = '', url = '/auth/accedi') =>
    app.inject({ url, headers: { accept: 'text/html', ...(language && { 'accept-language': language }) } })

  t.test('speak the language of the browser, Italian where it wants none of theirs', async (t) => {
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
    t.match(browser.page().body, 'L’adresse ou le mot de passe n’est pas correct.', 'refusals, too')
  })

  t.test('have every text in every language, and a place for a value where the Italian text has one', async (t) => {
    for (const [language, texts] of Object.entries(TEXTS)) {
      for (const [key, text] of Object.entries(TEXTS.it)) {
        const other = texts[key as keyof typeof texts]
        t.ok(other.trim().length > 0 && other.includes('{n}') === text.includes('{n}'), `${language} ${key}`)
      }
    }
    const same = Object.entries(TEXTS.it).filter(([key, text]) =>
      Object.values(TEXTS).every((texts) => texts[key as keyof typeof texts] === text)).map(([key]) => key)
    t.same(same, ['homeTitle'], 'nothing was left untranslated')
  })

  t.test('let nothing in but their own style sheet, and the one script of this server', async (t) => {
    for (const url of PAGES) {
      const { statusCode, headers, body } = await asks('it', url)
      t.equal(statusCode, 200, url)
      const style = /<style>(.*?)<\/style>/s.exec(body)?.[1] ?? ''
      t.match(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'content-security-policy': `default-src 'none';style-src 'sha256-${hash('sha256', style, 'base64')}';` +
          "base-uri 'none';form-action 'self';script-src 'self';connect-src 'self';frame-ancestors 'none'"
      }, url)
      const script = url === '/' ? [] : ['<script src="/auth/moduli.js" defer></script>']
      t.same(body.match(/<script.*/g) ?? [], script)
      t.notMatch(body, /<(img|iframe|object|embed|link|base)|\son\w+=|style="|javascript:/i)
      for (const [, href = ''] of body.matchAll(/href="([^"]*)"/g)) {
        t.ok((await asks('it', href)).statusCode < 400, `${url} leads to ${href}`)
      }
    }
  })

  t.test('stand at / for a person; a program finds nothing there, as before', async (t) => {
    const page = await app.inject({ url: '/', headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
    t.match(page, { statusCode: 200, headers: { 'content-type': /^text\/html/, vary: /accept/ } })
    t.match(page.body, /href="\/auth\/".*href="\/docs".*href="\/health\/ready"/s)
    for (const accept of [undefined, '*/*', 'application/json']) {
      const answer = await app.inject({ url: '/', headers: accept === undefined ? {} : { accept } })
      t.match(answer, { statusCode: 404 })
      t.match(answer.json(), { codice: 'RISORSA_NON_TROVATA', status: 404 })
    }
  })

  t.test('answer what they cannot do with a page, and unknown addresses as before', async (t) => {
    const wrong = await asks('en', '/auth/accedi?esito=uscita&esito=altro')
    t.match(wrong, { statusCode: 400, headers: { 'content-type': /^text\/html/ } })
    t.match(wrong.body, 'That has failed. Try again.')
    t.match((await call('GET', '/auth/nessuna')).json(), { codice: 'RISORSA_NON_TROVATA' })
    t.match((await call('GET', '/auth/v1/nessuna')).json(), { error_code: 'validation_failed' })
    for (const method of ['GET', 'POST'] as const) {
      const { statusCode, body } = await app.inject({ method, url: '/auth', headers: { accept: 'application/json' } })
      t.match({ statusCode, body }, { statusCode: 404, body: '"RISORSA_NON_TROVATA"' })
    }
    for (const [url, above] of Object.entries(ABOVE)) {
      t.match(await asks('de', url), { statusCode: 303, headers: { location: above } }, url)
    }
    t.match((await call('PUT', '/auth/accedi')), { statusCode: 405, headers: { allow: 'GET, HEAD, POST' } })
  })

  t.test('lead a person from /auth to where all begins, and tell them of addresses that lead nowhere', async (t) => {
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
    t.match((await asks('it', '/auth/v1/nessuna')).json(), { error_code: 'validation_failed' }, 'the protocol has none')
  })

  t.test('take no word of an address for one of the words that all objects have', async (t) => {
    const words = ['constructor', '__proto__', 'toString']
    for (const word of words) {
      for (const url of [`/auth/conferma?token=x&type=${word}`, `/auth/accedi?esito=${word}`]) {
        t.equal((await asks('it', url)).statusCode, 200, url)
      }
    }
    t.same(words.map((code) => wordsFor({ status: 400, code, reasons: [] })), words.map(() => 'failed'))
  })

  t.test('are not described as parts of the API', async (t) => {
    const { paths } = (await call('GET', '/openapi.json')).json<{ paths: object }>()
    t.same(Object.keys(paths).filter((path) => path.startsWith('/auth/') && !path.startsWith('/auth/v1/')), [])
    t.notOk('/' in paths)
  })
})

t.test('there is one script, a file of this server, and no other', async (t) => {
  const { app } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
  const { body, headers } = await app.inject('/auth/accedi')
  t.same([...body.matchAll(/<script[^>]*>/g)].map(([tag]) => tag), ['<script src="/auth/moduli.js" defer>'])
  t.match(headers['content-security-policy'], ";script-src 'self';connect-src 'self';frame-ancestors 'none'")
  t.match(headers['set-cookie'], /^__Host-locanda_form=1; Path=\/; HttpOnly; Secure; SameSite=Strict$/)
  t.match(body, /<form [^>]*data-options="\/auth\/accedi\/passkey\/opzioni"[^>]* hidden>/)
  const script = await app.inject('/auth/moduli.js')
  t.match(script, { statusCode: 200, headers: { 'content-type': 'text/javascript; charset=utf-8' } })
  const headersOfForm = {
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
    'accept-language': 'en',
    cookie: '__Host-locanda_form=1'
  }
  const send = (url: string, payload: string) => app.inject({ method: 'POST', url, headers: headersOfForm, payload })
  const question = await send('/auth/accedi/passkey/opzioni', 'challenge=&credential=')
  t.match(question.json(), { fields: { challenge: String }, create: false, options: { rpId: 'locanda.example' } })
  const answer = await send('/auth/accedi/passkey', 'challenge=x&credential=%7B')
  t.equal(answer.statusCode, 400)
  t.match(answer.body, 'role="alert">The device has not confirmed. Try again.<')
})

t.test('with another identity provider there are no pages to sign in, and / does not lead there', async (t) => {
  const { app } = await build(t, { IDP_URL: 'http://127.0.0.1:9/auth/v1', IDP_ANON_KEY: 'chiave', API_KEY: undefined })
  t.equal((await app.inject({ url: '/auth/accedi', headers: { accept: 'text/html' } })).statusCode, 404)
  const { statusCode, body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  t.equal(statusCode, 200)
  t.notMatch(body, '/auth/')
})

t.test('whatever a browser asks for, the language is one of those there are', async (t) => {
  const all = ['it', 'en', 'de', 'fr'] as const
  fc.assert(fc.property(fc.string(), (header) => all.includes(preferredLanguage(header, all))))
  fc.assert(fc.property(fc.constantFrom(...all), fc.constantFrom(...all), (first, second) => {
    t.equal(preferredLanguage(`xx, ${second};q=0.4, ${first}-CH;q=0.7`, all), first)
    t.equal(preferredLanguage(`${first};q=0, ${second}`, all), second)
  }), { numRuns: 30 })
})
