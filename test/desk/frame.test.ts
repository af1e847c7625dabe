import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ERROR_SUBJECTS } from '#schemas/errors/catalogue.ts'
import { inWords } from '#src/desk/pages/desk-fields.ts'
import { refusalText } from '#src/desk/pages/desk-layout.ts'
import { frameTexts } from '#src/desk/pages/texts/frame-texts.ts'
import { refusalTexts } from '#src/desk/pages/texts/refusal-texts.ts'
import { dayWords, formatWords } from '#src/http/schema-words.ts'
import { errorOf, formsOf, visitorBrowser } from '#test/identity/pages/visitor.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const server = await buildDesk(t)
const { app, call } = server
const HTML = { accept: 'text/html' }
const NEW = '/prenotazioni/nuova'
const TYPED = {
  nome_cognome: 'Anna Bianchi', check_in: '2026-11-28', check_out: '2026-12-01', numero_ospiti: '2', prezzo: '240,50'
}

t.test('/ leads a signed-out person to the sign-in page and back to today', async (t) => {
  const signedOut = visitorBrowser(app)
  t.equal((await signedOut.open('/')).page().path, '/auth/accedi')
  const browser = await signedIn(server)
  t.equal(browser.page().path, '/oggi')
  t.match(browser.page().body, '<h1>Sabato 28 novembre</h1>')
  t.match(await app.inject({ url: '/' }), { statusCode: 404 }, 'a program gets no page')
})

t.test('a person returns to the page that they asked for, never to another server', async (t) => {
  const browser = await signedIn(server, 'bice@example.org')
  await browser.open('/auth/account')
  await browser.submit('/auth/esci')
  await browser.open(`${NEW}?giorno=2026-11-30`)
  t.equal(browser.page().path, '/auth/accedi')
  const back = await browser.submit('/auth/accedi', { email: 'bice@example.org', password: PASSWORD })
  t.equal(back.page().path, `${NEW}?giorno=2026-11-30`)
  const foreign = await app.inject({ url: '//example.org/oggi', headers: HTML })
  t.notMatch(String(foreign.headers['set-cookie']), 'example.org')
})

t.test('Polizia shows no notice for an unknown `esito` in the URL', async (t) => {
  const browser = await signedIn(server, 'bruno@example.org')
  await browser.open('/polizia?esito=constructor')
  t.equal(browser.page().statusCode, 200)
  t.notMatch(browser.page().body, 'class="notice"')
})

t.test('a form creates a booking through the API, and a repeated submit creates no second one', async (t) => {
  const browser = await signedIn(server, 'carla@example.org')
  await browser.open(`${NEW}?giorno=2026-11-28`)
  const form = browser.page().body
  const key = /name="chiave" value="([^"]*)"/.exec(form)?.[1] ?? ''
  await browser.submit(NEW, TYPED)
  const { path, body } = browser.page()
  t.match(path, /^\/prenotazioni\/\d+\?esito=creato$/)
  t.match(body, '<p class="notice" role="status">Creato.</p>')
  await browser.open(path.replace('?esito=creato', '/modifica'))
  t.match(browser.page().body, 'value="240,50"')
  await browser.open(NEW)
  await browser.submit(NEW, { ...TYPED, chiave: key })
  t.equal(browser.page().path, path, 'the first response is repeated')
  const { data } = (await call('GET', '/api/v1/prenotazioni?q=Anna')).json<{ data: { prezzo: number }[] }>()
  t.same(data.map(({ prezzo }) => prezzo), [24_050])
})

t.test('a refused form keeps its values, and shows each error at its field', async (t) => {
  const browser = await signedIn(server, 'dora@example.org')
  await browser.open(NEW)
  await browser.submit(NEW, { ...TYPED, check_out: '2026-11-27', numero_ospiti: 'due', prezzo: '1.234' })
  const { statusCode, body } = browser.page()
  t.equal(statusCode, 400)
  t.match(body, /id="f-numero_ospiti-error">deve essere un numero intero/)
  t.match(body, 'value="due"')
  t.match(body, /id="f-check_out-error">deve essere dopo «Arrivo», il 28\/11\/2026</)
  t.match(body, '<a href="#f-numero_ospiti">Ospiti</a>')
  t.match(body, /id="f-prezzo-error">deve essere un importo in euro, per esempio 1.234,50</)
  await browser.submit(NEW, { ...TYPED, prezzo: '1.234,50' })
  await browser.open(browser.page().path.replace('?esito=creato', '/modifica'))
  t.match(browser.page().body, 'value="1234,50"')
})

t.test('a refused form names its errors in the language of the person', async (t) => {
  for (const [language, after, whole] of [
    ['en', 'must be after «Arrival»', 'must be a whole number'],
    ['de', 'muss nach «Anreise» liegen', 'muss eine ganze Zahl sein'],
    ['fr', 'doit être après «Arrivée»', 'doit être un nombre entier']
  ] as const) {
    const browser = await signedIn(server, `olga-${language}@example.org`, { language })
    await browser.open(NEW)
    await browser.submit(NEW, { ...TYPED, check_out: '2026-11-27', numero_ospiti: 'due', email: 'x' })
    const { body } = browser.page()
    t.equal(errorOf(body, 'f-check_out'), after)
    t.equal(errorOf(body, 'f-numero_ospiti'), whole)
    t.notMatch(body, 'deve essere')
    await browser.open('/prenotazioni/999999')
    t.match(browser.page(), { statusCode: 404, body: frameTexts[language].notFoundText })
  }
})

t.test('the table of field messages has the words of the API', (t) => {
  const words = [
    'è un campo obbligatorio', 'deve avere un valore', 'deve essere almeno 1 (ricevuto 0)',
    'deve essere al massimo 99 (ricevuto 100)', 'deve avere almeno 12 caratteri', 'deve avere al massimo 100 caratteri',
    'non è un’immagine JPEG', 'è un’immagine danneggiata o incompleta', dayWords('28/11/2026')!.words,
    ...['email', 'uri', 'day'].map((name) => formatWords(name)!.words),
    'non può essere prima di attiva_da', 'deve essere prima di check_out, il 28/11/2026 (ricevuto «2026-11-29»)'
  ]
  const fields = ['attiva_da', 'check_out'].map((name) => ({ name, label: 'X' }))
  for (const language of ['en', 'de', 'fr'] as const) {
    for (const each of words) {
      t.notMatch(inWords({ language }, each, fields), /deve|può|campo|ricevuto|\{n\}/, `${language}: ${each}`)
    }
  }
  t.equal(inWords({ language: 'en' }, 'non può essere prima di attiva_da', fields), 'cannot be before «X»')
  t.equal(inWords({ language: 'en' }, 'deve essere un altro', fields), 'deve essere un altro')
  t.end()
})

t.test('a form of an outdated version shows both versions, and saves when it is submitted again', async (t) => {
  const { id } = (await call('POST', '/api/v1/prenotazioni', {
    nome_cognome: 'Elio Neri', lingua: 'IT', paese_id: 380, check_in: '2026-12-01', numero_notti: 2, numero_ospiti: 1
  })).json<{ data: { id: number } }>().data
  const page = `/prenotazioni/${id}/modifica`
  const browser = await signedIn(server, 'elio@example.org')
  await browser.open(page)
  await call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti: 3 })
  await browser.submit(page, { numero_ospiti: '2', check_out: '2026-12-05' })
  t.equal(browser.page().statusCode, 412)
  t.match(browser.page().body, '<th scope="row">Ospiti</th><td>3</td><td>2</td>')
  t.match(browser.page().body, '<td>03/12/2026</td><td>05/12/2026</td>')
  await browser.submit(page)
  t.equal(browser.page().path, `/prenotazioni/${id}?esito=salvato`)
  const { data } = (await call('GET', `/api/v1/prenotazioni/${id}`)).json<{ data: { numero_ospiti: number } }>()
  t.equal(data.numero_ospiti, 2)
})

t.test('a form without the token of the session, or from another site, changes nothing', async (t) => {
  const browser = await signedIn(server, 'fede@example.org')
  await browser.open(NEW)
  await browser.submit(NEW, { ...TYPED, modulo: 'x' })
  t.match(browser.page(), { statusCode: 403, body: 'Il modulo è scaduto' })
  await browser.open(NEW)
  const token = formsOf(browser.page().body).find(({ action }) => action === NEW)!.fields.get('modulo')
  const own = await app.inject({
    method: 'POST',
    url: `${NEW}?modulo=${token}`,
    headers: {
      ...HTML,
      cookie: browser.cookie(),
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded'
    },
    payload: 'nome_cognome=x'
  })
  t.equal(own.statusCode, 403, 'an address can be logged, so its token does not count')
  const foreign = await app.inject({
    method: 'POST',
    url: NEW,
    headers: {
      ...HTML,
      cookie: browser.cookie(),
      'sec-fetch-site': 'cross-site',
      'content-type': 'application/x-www-form-urlencoded'
    },
    payload: 'nome_cognome=x'
  })
  t.equal(foreign.statusCode, 403)
})

t.test('Oggi shows no notice for an unknown `esito` in the URL', async (t) => {
  const browser = await signedIn(server, 'ivo@example.org')
  for (const word of ['constructor', '__proto__', 'altro']) {
    await browser.open(`/oggi?esito=${word}`)
    t.equal(browser.page().statusCode, 200, word)
    t.notMatch(browser.page().body, /undefined|class="notice"/, word)
  }
})

t.test('errors are pages with the request id, and programs get JSON', async (t) => {
  const browser = await signedIn(server, 'gino@example.org')
  await browser.open('/nessuna')
  t.match(browser.page(), { statusCode: 404, body: /Pagina non trovata.*Codice della richiesta: [\w-]+/s })
  await browser.open('/prenotazioni/999999/modifica')
  t.match(browser.page(), { statusCode: 404, body: 'Prenotazione non trovata' })
  t.match((await call('GET', '/nessuna')).json(), { codice: 'RISORSA_NON_TROVATA' })
})

t.test('pages load only files of this server, which browsers keep, and fit the budgets', async (t) => {
  const browser = await signedIn(server, 'ida@example.org')
  const { body, headers } = browser.page()
  t.match(headers, { 'cache-control': 'no-store', 'content-security-policy': "default-src 'none';style-src 'self'" })
  t.notMatch(body, /style="|<style|\son\w+="/)
  const urls = [...body.matchAll(/<(?:link|script) [^>]*(?:href|src)="([^"]*)"/g)].map(([, url]) => url!)
  t.equal(urls.length, 4)
  const sizes = await Promise.all(urls.map(async (url) => {
    const file = await app.inject({ url })
    t.match(file, { statusCode: 200, headers: { 'cache-control': 'public, max-age=31536000, immutable' } }, url)
    return gzipSync(file.rawPayload).length
  }))
  t.ok(sizes[0]! <= 10_000, `the style has ${sizes[0]} bytes`)
  t.ok(sizes[1]! + sizes[2]! <= 20_000, `the scripts have ${sizes[1]! + sizes[2]!} bytes`)
  t.match((await app.inject({ url: urls[3]! })).headers, { 'content-type': 'image/svg+xml' }, 'the icon')
  t.ok(gzipSync(body).length <= 30_000)
})

t.test('files are compressed, and pages are not, because their size would reveal guessed words', async (t) => {
  const browser = await signedIn(server, 'mia@example.org')
  const css = /href="(\/desk\/[^"]*)"/.exec(browser.page().body)![1]!
  const encoding = async (url: string) => (await app.inject({
    url, headers: { ...HTML, cookie: browser.cookie(), 'accept-encoding': 'gzip' }
  })).headers['content-encoding']
  t.equal(await encoding(NEW), undefined)
  t.equal(await encoding(css), 'gzip')
})

t.test('pages are in the language of the person', async (t) => {
  for (const [language, word] of [['en', 'Today'], ['de', 'Heute'], ['fr', 'Aujourd’hui']] as const) {
    const browser = await signedIn(server, `lea-${language}@example.org`, { language })
    t.match(browser.page().body, `<html lang="${language}">`)
    t.match(browser.page().body, `aria-current="page">${word}</a>`)
  }
})

t.test('an error page is in the language that the person has chosen, not in the browser’s', async (t) => {
  const email = 'ulla@example.org'
  await createPerson(server, email, { user_metadata: { lingua: 'de' }, app_metadata: { role: 'operator' } })
  const browser = await visitorBrowser(app).open(NEW)
  await browser.submit('/auth/accedi', { email, password: PASSWORD })
  await browser.submit(NEW, { ...TYPED, modulo: 'x' })
  t.match(browser.page(), { statusCode: 403, body: frameTexts.de.expiredForm })
  await browser.open('/prenotazioni/999999')
  t.match(browser.page(), { statusCode: 404, body: frameTexts.de.notFoundText })
})

t.test('the desk translates only refusals that the catalogue has', (t) => {
  const known = new Set(ERROR_SUBJECTS.flatMap(({ errors }) => Object.keys(errors)))
  const translated = Object.keys(refusalTexts)
  t.same(translated.filter((codice) => !known.has(codice)), [])
  t.ok(translated.length <= 25)
  const error = 'Lavoro in corso'
  t.equal(refusalText({ language: 'en' }, { codice: 'LAVORO_IN_CORSO', error }), error)
  t.equal(refusalText({ language: 'it' }, { codice: 'UNITA_OCCUPATA', error }), error)
  t.end()
})

t.test('after a refused form, the reload of its URL leads to the page above', async (t) => {
  const browser = await signedIn(server, 'nora@example.org')
  await browser.open('/polizia/sospensione?x=1')
  t.match(browser.page(), { path: '/polizia', statusCode: 200 })
  t.equal((await app.inject({ url: '/api/alloggiati/invio', headers: HTML })).statusCode, 405)
})
