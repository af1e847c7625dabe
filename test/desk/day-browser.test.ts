import t from 'tap'
import type { Unit } from '#schemas/unit.ts'
import { addDays } from '#src/lib/time.ts'
import { member, single } from '#test/alloggiati/rules/samples.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { freePort } from '#test/free-port.ts'
import type { TestApp } from '#test/helper.ts'
import { deskBrowser, skip } from './desk-browser.ts'
import { buildDesk } from './desk-visitor.ts'

const DAY = '2026-11-28'
const SEND = 'form[action="/oggi/invio"] button'

t.test('the day, the calendar and the list in a browser', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const server = await buildDesk(t, { PUBLIC_URL: url })
  await fillHouse(server)
  const { open, press, write, hit, reach, look, shows, signIn, evaluate, page, violations } =
    await deskBrowser(t, server, url)

  t.test('three steps lead from opening the day to the outcome of Send', async (t) => {
    await open(`${url}/`)
    t.equal(await signIn(), '/oggi')
    await look('oggi')
    t.equal(await press('.foot .button'), `/oggi/invio?giorno=${DAY}`)
    await look('controlla')
    await hit(SEND)
    await shows("location.pathname === '/oggi/esito'")
    t.match(await evaluate("document.querySelector('.notice').textContent"), 'acquisit')
    await look('esito')
    await look('oggi-inviata', '/oggi')
    await look('oggi-vuoto', '/oggi?giorno=2027-05-01')
    await open(`${url}/oggi?giorno=2026-09-30`)
    await page.setViewportSize({ width: 1280, height: 900 })
    t.ok(await evaluate<number>("document.querySelector('.head').clientHeight") < 60, 'a long date leaves one line')
  })

  t.test('arrow keys move in the calendar, and a stay opens', async (t) => {
    await look('calendario', '/calendario')
    await reach('.unit-row .cell')
    const focused = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent'
    const first = await evaluate<string>(focused)
    await page.keyboard.press('ArrowDown')
    t.not(await evaluate(focused), first)
    t.match(await evaluate("document.activeElement.closest('.unit-row').getAttribute('aria-label')"), 'Attico')
    await press('.stay')
    await look('sposta')
  })

  t.test('Tab stops at one free night of each unit, also after a submit in place', async () => {
    await open(`${url}/calendario`)
    const stops = "document.querySelectorAll('a.cell:not([tabindex])').length"
    const before = await evaluate<number>(stops)
    t.ok(before <= 6)
    await evaluate('window.isBefore = true')
    await hit('.assign form button')
    await shows('document.querySelector(".notice, p.alarm:not([hidden])") !== null')
    t.ok(await evaluate('window.isBefore'))
    t.ok(await evaluate<number>(stops) <= 6)
  })

  t.test('the list applies its filters, and says when no booking matches', async (t) => {
    await look('prenotazioni', '/prenotazioni')
    await write('#f-q', 'nessunissimo')
    await press('.filters button')
    t.match(await evaluate("document.querySelector('.empty').textContent"), 'Nessuna prenotazione')
    await look('prenotazioni-nessuna')
  })

  t.test('no page violates the content security policy', async (t) => {
    t.same(violations(), [])
  })
})

/** An invented house: six units, stays in every state, a block, and bookings without a unit. */
async function fillHouse ({ call }: TestApp): Promise<void> {
  const units: Unit[] = []
  for (const nome of ['Camera 1', 'Camera 2', 'Camera 3', 'Camera 4', 'Attico', 'Appartamento sul lago']) {
    const created = await call('POST', '/api/v1/unita', { nome, tipo: 'camera', ospiti_massimi: 4 })
    units.push(created.json<{ data: Unit }>().data)
  }
  const book = async (unit: number | null, from: number, nights: number, nome_cognome: string, rest: object = {}) =>
    (await create(call, {
      nome_cognome,
      check_in: addDays(DAY, from),
      numero_notti: nights,
      numero_ospiti: 2,
      ...unit !== null && { unita_id: units[unit]!.id },
      ...rest
    })).id
  const couple = (n: number) => {
    const cognome = `VERDI ${String.fromCharCode(65 + n)}`
    const head = { ...single({ cognome, numero_documento: `CC0${n + 1000}AA` }), tipo_alloggiato: '17' }
    return [head, member('19', `LUCIA ${String.fromCharCode(65 + n)}`, { cognome })]
  }
  await saveGuests(call, await book(0, 0, 3, 'Anna Bianchi', { idf_gen: 'BK-4711', canale: 'Booking.com' }), couple(0))
  const [first, second] = couple(1)
  await saveGuests(call, await book(1, 0, 5, 'Jürgen Müller', { numero_ospiti: 4, canale: 'Airbnb' }),
    [first!, { ...second, sesso: '', comune_nascita: '' }])
  await book(4, 0, 2, 'Claire Dubois')
  const sent = await book(2, 0, 1, 'Luca Verdi')
  await saveGuests(call, sent, couple(2))
  await call('POST', `/api/v1/prenotazioni/${sent}/invio`)
  await book(3, -6, 6, 'Marta Ferri')
  await book(5, -3, 12, 'Maximilian Freiherr von und zu Oberstein')
  await book(0, 3, 4, 'Giorgio Neri')
  await book(2, 1, 7, 'Sofia Rinaldi')
  await book(3, 2, 2, 'Ole Hansen')
  await book(null, 5, 2, 'Paula Costa', { canale: 'Diretto' })
  await book(null, 0, 1, 'Tom Baker')
  await book(1, 10, 3, 'Rosa Annullata', { stato: 'annullata' })
  await call('POST', '/api/v1/blocchi', {
    unita_id: units[3]!.id, dal: addDays(DAY, 6), al: addDays(DAY, 9), motivo: 'manutenzione'
  })
}
