import t from 'tap'
import type { Unit } from '#schemas/unit.ts'
import { addDays } from '#src/lib/time.ts'
import { BOOKINGS, create, read } from '#test/bookings/samples.ts'
import { buildDesk, signedIn } from './desk-visitor.ts'

const DAY = '2026-11-28'
const CALENDAR = '/calendario'
const server = await buildDesk(t)
const { call } = server

async function room (nome: string): Promise<Unit> {
  return (await call('POST', '/api/v1/unita', { nome, tipo: 'camera', ospiti_massimi: 2 })).json<{ data: Unit }>().data
}

/** The row of a unit. */
const rowOf = (body: string, unit: string) =>
  body.split('<div class="unit-row"').find((each) => each.includes(`aria-label="${unit}"`)) ?? ''

t.test('without units the calendar explains how to create one', async (t) => {
  const browser = await signedIn(server, 'vuoto@example.org')
  await browser.open(CALENDAR)
  t.match(browser.page().body, 'Nessuna unità ancora')
  t.match(browser.page().body, /href="\/impostazioni\/unita\/nuova">Aggiungi un’unità/)
})

t.test('stays are bars from their first to their last day, and a free night is a link to a booking', async (t) => {
  const rosa = await room('Rosa')
  const viola = await room('Viola')
  const arriving = await create(call, { nome_cognome: 'Ugo Arriva', check_in: DAY, numero_notti: 2, unita_id: rosa.id })
  await create(call, { nome_cognome: 'Lia Lunga', check_in: '2026-11-01', numero_notti: 90, unita_id: viola.id })
  await create(call, { nome_cognome: 'Eva Dopo', check_in: addDays(DAY, 2), numero_notti: 3, unita_id: rosa.id })
  await call('POST', '/api/v1/blocchi', {
    unita_id: rosa.id, dal: addDays(DAY, 6), al: addDays(DAY, 8), motivo: 'manutenzione'
  })
  const browser = await signedIn(server, 'anna@example.org')
  await browser.open(CALENDAR)
  const { body } = browser.page()
  t.match(body, '<h1>27 novembre – 27 dicembre</h1>')
  const row = rowOf(body, 'Rosa')
  t.match(row, `class="stay now s2 n2" href="/calendario/prenotazioni/${arriving.id}?da=2026-11-27"`)
  t.match(row, 'class="stay s4 n3"')
  t.match(row, 'class="stay off s8 n2" title="manutenzione"')
  const free = `href="/prenotazioni/nuova?unita=${rosa.id}&amp;giorno=2026-12-03"`
  t.match(row, `${free} aria-label="Rosa, 03/12/2026: libera"`)
  t.notMatch(row, 'giorno=2026-11-28"', 'a taken night is no link')
  t.match(rowOf(body, 'Viola'), 'class="stay now s1 n31 cut on"')
  await browser.open(`${CALENDAR}?da=2026-12-28`)
  t.match(browser.page().body, 'href="/calendario?da=2026-11-27" aria-label="31 giorni prima"')
  t.equal((await browser.open(`${CALENDAR}?da=2026-13-01`)).page().statusCode, 400)
})

t.test('a booking without a unit gets a free one, or an error if none is free', async (t) => {
  const one = await create(call, { nome_cognome: 'Ida Senza', check_in: DAY, numero_notti: 2 })
  const browser = await signedIn(server, 'bea@example.org')
  await browser.open(CALENDAR)
  await browser.submit(`/calendario/prenotazioni/${one.id}/assegna`)
  t.match(browser.page().body, /role="alert">[^<]*[Nn]essuna/, 'no unit is free')
  await room('Menta')
  await browser.submit(`/calendario/prenotazioni/${one.id}/assegna`)
  t.match(browser.page().path, '/calendario?da=2026-11-27&esito=salvato')
  t.match(rowOf(browser.page().body, 'Menta'), 'Ida Senza')
  t.notMatch(browser.page().body, 'Da assegnare')
})

t.test('the calendar shows ten bookings without a unit, and leads to the others', async (t) => {
  const day = '2027-08-01'
  for (let n = 1; n <= 12; n++) await create(call, { nome_cognome: `Tea Attesa ${n}`, check_in: day, numero_notti: 2 })
  const browser = await signedIn(server, 'gaia@example.org')
  await browser.open(`${CALENDAR}?da=${day}`)
  const { body } = browser.page()
  t.equal(body.match(/assegna"/g)?.length, 10)
  const [, link = ''] = /href="([^"]+)">Altre 2 da assegnare</.exec(body) ?? []
  await browser.open(link.replaceAll('&amp;', '&'))
  t.equal(new Set(browser.page().body.match(/Tea Attesa \d+/g)).size, 12)
})

t.test('the form of a new booking begins with one night, and marks occupied units', async (t) => {
  const browser = await signedIn(server, 'dina@example.org')
  await browser.open(`/prenotazioni/nuova?giorno=${DAY}`)
  t.match(browser.page().body, `name="check_out" type="date" value="${addDays(DAY, 1)}"`)
  t.match(browser.page().body, '>Viola (occupata)</option>')
  await browser.open('/prenotazioni/nuova?giorno=2027-06-01')
  t.match(browser.page().body, '>Viola</option>')
  for (const day of ['2026-02-30', 'x', '']) {
    await browser.open(`/prenotazioni/nuova?giorno=${day}`)
    t.match(browser.page(), { statusCode: 200, body: '>Viola</option>' }, `without a stay (${day}) no unit is taken`)
  }
})

t.test('each field of a booking is either required or marked as optional', async (t) => {
  const browser = await signedIn(server, 'emma@example.org')
  await browser.open('/prenotazioni/nuova')
  const fields = browser.page().body.split(/<div class="field[ "]/).slice(1)
  t.equal(fields.length, 13)
  for (const field of fields) {
    t.not(/ required/.test(field), field.includes('<small>facoltativo</small></label>'), field)
  }
})

t.test('a form moves a booking, and names the booking that occupies a unit', async (t) => {
  const { id } = (await call('GET', `${BOOKINGS}?q=Ida`)).json<{ data: { id: number }[] }>().data[0]!
  const units = (await call('GET', '/api/v1/unita')).json<{ data: Unit[] }>().data
  const idOf = (name: string) => String(units.find(({ nome }) => nome === name)!.id)
  const page = `/calendario/prenotazioni/${id}`
  const browser = await signedIn(server, 'cleo@example.org')
  await browser.open(`${page}?da=2026-11-27`)
  t.match(browser.page().body, '<h1>Ida Senza</h1>')
  await browser.submit(page, { unita_id: idOf('Viola') })
  t.equal(browser.page().statusCode, 409)
  t.match(browser.page().body, /role="alert">[^<]* dalla <a href="\/prenotazioni\/\d+">prenotazione \d+<\/a>/)
  t.notMatch(browser.page().body, 'Codice della richiesta', 'the id of a request is for faults of the server')
  t.match(browser.page().body, '>Viola (occupata)</option>')
  t.match(browser.page().body, '>Menta</option>', 'the unit of the booking itself is not taken')
  const translated = { en: 'The unit is taken', de: 'Die Einheit ist', fr: 'L’unité est' }
  for (const [language, words] of Object.entries(translated)) {
    const reader = await signedIn(server, `cleo-${language}@example.org`, { language })
    await reader.open(`${page}?da=2026-11-27`)
    await reader.submit(page, { unita_id: idOf('Viola') })
    const [alarm = ''] = /<p class="alarm" role="alert">.*/.exec(reader.page().body) ?? []
    t.match(alarm, words)
    t.match(alarm, /<a href="\/prenotazioni\/\d+">(?:Booking|Buchung|Réservation) \d+<\/a>/)
    t.notMatch(alarm, 'occupata')
  }
  await browser.submit(page, { unita_id: idOf('Rosa'), check_in: '2026-12-10', check_out: '2026-12-12' })
  t.match(browser.page().path, '/calendario?da=2026-11-27&esito=salvato')
  t.match(await read(call, id), { check_in: '2026-12-10', check_out: '2026-12-12', unita_id: Number(idOf('Rosa')) })
})

t.test('the list begins today, filters and searches, and has pages', async (t) => {
  for (let n = 0; n < 55; n++) {
    await create(call, { nome_cognome: `Serie ${n}`, check_in: '2027-01-10', idf_gen: `BK-${n}` })
  }
  await create(call, { nome_cognome: 'Vito Vecchio', check_in: '2026-01-10', stato: 'annullata' })
  const browser = await signedIn(server, 'dora@example.org')
  const { body } = (await browser.open('/prenotazioni')).page()
  t.match(body, 'name="check_in_da" type="date" value="2026-11-28"')
  t.match(body, /Ugo Arriva.*Eva Dopo.*Serie 0/s)
  t.notMatch(body, 'Vito Vecchio')
  t.notMatch(body, 'Prima pagina')
  const next = /href="([^"]*cursor=[^"]*)"/.exec(body)![1]!.replaceAll('&amp;', '&')
  const second = (await browser.open(next)).page().body
  t.match(second, 'Prima pagina')
  t.match(second, 'Serie 54')
  t.notMatch(second, 'Ugo Arriva')
  t.match((await browser.open('/prenotazioni?q=vecchio&stato=')).page().body, /class="done">.*Vito Vecchio/s)
  t.match((await browser.open('/prenotazioni?q=BK-7')).page().body, 'Serie 7')
  t.match((await browser.open('/prenotazioni?unita_id=nessuna')).page().body, 'Serie 54')
  t.match((await browser.open('/prenotazioni?q=nessunissimo')).page().body, 'Nessuna prenotazione con questi filtri')
  const wrong = (await browser.open('/prenotazioni?check_in_da=domani&q=')).page()
  t.equal(wrong.statusCode, 400)
  t.match(wrong.body, 'id="f-check_in_da-error"')
})
