import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Invio } from '#schemas/invio.ts'
import { addDays } from '#src/lib/time.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { production, standIn } from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { openTab } from '#test/chromium.ts'
import { testClock } from '#test/clock.ts'
import { freePort } from '#test/free-port.ts'
import type { TestApp } from '#test/helper.ts'
import { createPerson, PASSWORD } from '#test/identity/shared-password.ts'
import { skip } from './desk-browser.ts'
import { buildDesk } from './desk-visitor.ts'

/* The day of a host in Chromium: in each language, on a phone and a desktop, with and without JavaScript. */

const DAY = '2026-11-28'
const LANGUAGES = ['it', 'en', 'de', 'fr']
const WIDTHS = [390, 1280]
/** Time for a page on a loaded machine. */
const PAGE_TIMEOUT_MS = 90_000

t.test('the day of a host', { skip }, async (t) => {
  const server = await buildDesk(t, { PUBLIC_URL: `http://localhost:${await freePort()}` })
  const { call, app } = server
  const url = await listen(server)
  const tabs = { with: await tab(t, url), without: await tab(t, url, false) }
  let stories = 0

  for (const language of LANGUAGES) {
    for (const width of WIDTHS) {
      for (const scripts of ['with', 'without'] as const) {
        t.test(`in ${language} at ${width} px ${scripts} JavaScript`, async (t) => {
          const page = tabs[scripts]
          const n = ++stories
          await signIn(server, page, { url, language, email: `storia${n}@example.org` })
          await page.setViewportSize({ width, height: 844 })
          t.equal(await page.locator('html').getAttribute('lang'), language)
          await dayOfHost(t, server, page, n)
          t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
        })
      }
    }
  }

  t.test('a double click on a button creates one booking, and sends a guest once', async (t) => {
    const page = tabs.without
    await signIn(server, page, { url, email: 'doppio@example.org' })
    const before = await app.sql`select id from prenotazioni`
    await page.goto(`${url}/prenotazioni/nuova`)
    await page.fill('#f-nome_cognome', 'Doppia Prenotazione')
    await page.fill('#f-check_in', DAY)
    await page.fill('#f-check_out', addDays(DAY, 1))
    await page.fill('#f-numero_ospiti', '1')
    await page.dblclick('form[action="/prenotazioni/nuova"] button.primary')
    const id = await bookingOf(page)
    t.equal((await app.sql`select id from prenotazioni`).length, before.length + 1)
    await saveGuests(call, id, [guest(90)])
    await page.goto(`${url}/oggi/invio?giorno=${DAY}&prenotazione=${id}`)
    await page.dblclick('form[action="/oggi/invio"] button')
    await urlMatches(page, /\/oggi\/esito/)
    t.equal((await submissionsOf(server, id)).length, 1)
  })

  t.test('two people work at once: the second one sees both versions, and overwrites no unseen change', async (t) => {
    const { id } = await create(call, { nome_cognome: 'Due Mani', check_in: DAY, numero_ospiti: 1 })
    const edit = `${url}/prenotazioni/${id}/modifica`
    await signIn(server, tabs.with, { url, email: 'prima@example.org' })
    await signIn(server, tabs.without, { url, email: 'seconda@example.org' })
    for (const page of [tabs.with, tabs.without]) await page.goto(edit)
    const submit = `form[action="/prenotazioni/${id}/modifica"] button.primary`
    await tabs.with.fill('#f-telefono', '+39 06 111')
    await tabs.with.click(submit)
    await tabs.with.waitForURL(/esito=salvato/)
    await tabs.without.fill('#f-telefono', '+39 06 222')
    await tabs.without.click(submit)
    const versions = await tabs.without.locator('.versions').textContent()
    t.match(versions, '+39 06 111')
    t.match(versions, '+39 06 222')
  })

  t.test('a session that ended leads to the sign-in page, and back to the page with its form', async (t) => {
    const page = tabs.without
    await signIn(server, page, { url, email: 'finita@example.org' })
    await page.goto(`${url}/prenotazioni/nuova?giorno=${DAY}`)
    await app.sql`delete from sessions`
    await page.fill('#f-nome_cognome', 'Sessione Finita')
    await page.fill('#f-check_out', addDays(DAY, 1))
    await page.click('form[action="/prenotazioni/nuova"] button.primary')
    await page.waitForSelector('form[action="/auth/accedi"]')
    await fillSignIn(page, 'finita@example.org')
    await page.waitForURL(/\/prenotazioni\/nuova\?giorno=/)
    t.equal((await app.sql`select id from prenotazioni where nome_cognome = 'Sessione Finita'`).length, 0)
  })
})

t.test('while the police service is down, the guests remain to be sent, and the page says so', { skip }, async (t) => {
  const police = await standIn(t)
  const server = await production(t, police, {
    RATE_LIMIT_LOGIN_MAX: '1000', PUBLIC_URL: `http://localhost:${await freePort()}`
  })
  const url = await listen(server)
  const today = testClock().today()
  const { id } = await create(server.call, { nome_cognome: 'Ugo Attesa', check_in: today, numero_ospiti: 1 })
  await saveGuests(server.call, id, [guest(91)])
  const page = await tab(t, url)
  await signIn(server, page, { url, email: 'attesa@example.org' })
  const confirmation = `${url}/oggi/invio?giorno=${today}&prenotazione=${id}&conferma=1`
  await page.goto(confirmation)
  await police.stop()
  await page.click('form[action="/oggi/invio"] button')
  await page.waitForURL(/esito/)
  t.match(await page.textContent('main'), 'non inviata: connessione rifiutata')
  await police.start()
  await page.goto(confirmation)
  await page.click('form[action="/oggi/invio"] button')
  await page.waitForURL(/esito/)
  t.match(await page.textContent('main'), '1 prenotazione acquisita')
  t.equal(police.acquired().length, 1)
})

/** Books, registers the guest after a mistake, chooses the unit, makes the letter, sends, and opens the police page. */
async function dayOfHost (t: Test, server: TestApp, page: Page, n: number): Promise<void> {
  const room = await server.call('POST', '/api/v1/unita', { nome: `Camera ${n}`, tipo: 'camera', ospiti_massimi: 2 })
  const unit = room.json<{ data: { id: number } }>().data.id
  const name = `Storia Numero ${n}`
  await page.click('main a[href^="/prenotazioni/nuova"] >> nth=0')
  await page.fill('#f-nome_cognome', name)
  await page.fill('#f-check_in', DAY)
  await page.fill('#f-check_out', addDays(DAY, 2))
  await page.fill('#f-numero_ospiti', '1')
  await page.click('form[action="/prenotazioni/nuova"] button.primary')
  const id = await bookingOf(page)

  const { cognome, nome, sesso, data_nascita: born, numero_documento: number } = guest(n)
  const guests = `form[action="/prenotazioni/${id}/ospiti"] .actions button.primary`
  const field = (key: string) => `#f-dati-0-${key}`
  for (const [key, text] of Object.entries({ cognome, nome, data_nascita: born, stato_nascita: 'Germania' })) {
    await page.fill(field(key), text!)
  }
  await page.selectOption(field('sesso'), sesso!)
  await page.fill(field('cittadinanza'), 'Germania')
  await page.selectOption(field('tipo_documento'), 'PASOR')
  await page.fill(field('luogo_rilascio'), 'Germania')
  await page.click(guests)
  await page.waitForSelector(`${field('numero_documento')}-error`)
  await page.fill(field('numero_documento'), number!)
  await page.click(guests)
  await page.waitForSelector(`${field('numero_documento')}-error`, { state: 'detached' })

  await page.selectOption('#f-unita_id', String(unit))
  await page.click(`form[action="/prenotazioni/${id}/unita"] button`)
  await page.waitForURL(/esito=/)
  await page.click(`form[action="/prenotazioni/${id}/lettera"] button`)
  await page.waitForSelector('a[href$="/lettera.pdf"]')

  await page.click('nav a[href="/calendario"]')
  t.match(await page.textContent('main'), name)
  await page.click('nav a[href="/oggi"]')
  await page.click('.foot a.primary')
  await page.waitForURL(/\/oggi\/invio/)
  await page.click('form[action="/oggi/invio"] button')
  await page.waitForURL(/\/oggi\/esito/)
  t.match(await page.textContent('main'), name)
  t.match(await submissionsOf(server, id), [{ stato: 'acquisito' }])
  await page.click('nav a[href="/polizia"]')
  t.match(await page.textContent('main'), name)
}

async function listen ({ app }: TestApp): Promise<string> {
  const { PUBLIC_URL: publicUrl } = app.identity.config
  await app.listen({ host: '127.0.0.1', port: Number(new URL(publicUrl).port) })
  return publicUrl
}

async function tab (t: Test, url: string, javaScriptEnabled = true): Promise<Page> {
  const { page } = await openTab(t, `${url}/health/live`, { javaScriptEnabled })
  page.setDefaultTimeout(PAGE_TIMEOUT_MS)
  page.setDefaultNavigationTimeout(PAGE_TIMEOUT_MS)
  return page
}

async function signIn (
  server: TestApp, page: Page, { url, email, language = 'it' }: { url: string, email: string, language?: string }
): Promise<void> {
  await createPerson(server, email, { user_metadata: { lingua: language }, app_metadata: { role: 'operator' } })
  await page.context().clearCookies()
  await page.goto(url)
  await fillSignIn(page, email)
  await page.waitForURL(/\/oggi/)
}

async function fillSignIn (page: Page, email: string): Promise<void> {
  await page.fill('#email', email)
  await page.fill('#password', PASSWORD)
  await page.click('form[action="/auth/accedi"] button')
}

/** Polls the URL. `waitForURL` fails when the second submit of a double click aborts the first navigation. */
async function urlMatches (page: Page, pattern: RegExp): Promise<void> {
  for (let tries = 0; !pattern.test(page.url()); tries++) {
    if (tries === 300) throw new Error(`the page is still ${page.url()}`)
    await sleep(100)
  }
  await page.waitForLoadState()
}

/** The booking whose page is opened after its creation. */
async function bookingOf (page: Page): Promise<number> {
  await urlMatches(page, /\/prenotazioni\/\d+\?esito=creato/)
  return Number(/\d+/.exec(new URL(page.url()).pathname)![0])
}

async function submissionsOf ({ call }: TestApp, booking: number): Promise<Invio[]> {
  return (await call('GET', `/api/v1/invii?prenotazione_id=${booking}`)).json<{ data: Invio[] }>().data
}

/** A complete guest with a name and a document of its own. */
function guest (n: number) {
  const letters = String.fromCharCode(65 + n / 26, 65 + n % 26)
  return single({ cognome: `STORIA ${letters}`, numero_documento: `C01X0${n + 100}` })
}
