import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { testClock } from '#test/clock.ts'
import { foreigner, member, single } from '#test/alloggiati/rules/samples.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { freePort } from '#test/free-port.ts'
import { build } from '#test/helper.ts'
import { LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { CLEAN, photograph, skip as noPrinter } from '#test/scanning/mrz/reader/render.ts'
import { PASSPORT, writeZone } from '#test/scanning/mrz/write-zone.ts'
import { deskBrowser, skip as noChromium } from './desk-browser.ts'

const skip = noChromium || noPrinter
const today = testClock().today()

t.test('a booking from the photo to the Send, in a browser', { skip }, async (t) => {
  const url = `http://localhost:${await freePort()}`
  const server = await build(t, { PUBLIC_URL: url, RATE_LIMIT_LOGIN_MAX: '1000' })
  const { call } = server
  const { open, press, write, hit, look, shows, signIn, evaluate, page, violations } =
    await deskBrowser(t, server, url)
  await open(`${url}/oggi`)
  await signIn()

  const parents = foreigner({ tipo_alloggiato: '17', cognome: 'MÜLLER', nome: 'JÜRGEN', sesso: 'M' })
  const child = member('19', 'LENA', {
    cognome: 'MÜLLER', comune_nascita: 'BERLINO', provincia_nascita: '', stato_nascita: '100000216', sesso: ''
  })
  const main = { nome_cognome: 'Jürgen Müller', canale: 'Airbnb' }
  const family = await create(call, { check_in: today, numero_ospiti: 3, ...main })
  await saveGuests(call, family.id, [parents, child])
  const alone = await create(call, { check_in: today, numero_ospiti: 1, nome_cognome: 'Luca Provetti' })
  const ready = await create(call, { check_in: today, numero_ospiti: 1, nome_cognome: 'Marco Pronto' })
  await saveGuests(call, ready.id, [single({ numero_documento: 'CA00007AA' })])
  await call('POST', '/api/v1/unita', { nome: 'Glicine', tipo: 'camera', ospiti_massimi: 4 })

  t.test('the page opens the incomplete guest, and proposes places while a person types', async (t) => {
    await look('incompleta', `/prenotazioni/${family.id}`)
    t.ok(await evaluate('document.querySelectorAll("details[open]").length === 1'))
    await write('#f-dati-1-comune_nascita', 'ROM')
    await shows('document.querySelectorAll("#f-dati-1-comune_nascita-elenco option").length > 0')
    await write('#f-dati-1-comune_nascita', 'ROMA (RM)')
    await hit('form[action$="/ospiti"] .actions button.primary')
    await shows('location.search === "?esito=salvato"')
    await look('salvata')
  })

  t.test('on a phone the present step is on the screen, and so is the label of a field that a link names', async () => {
    await page.setViewportSize({ width: 390, height: 800 })
    await open(`${url}/prenotazioni/${ready.id}`)
    t.ok(await evaluate("document.querySelector('.steps .here').getBoundingClientRect().right <= innerWidth"))
    await open(`${url}/prenotazioni/${family.id}#f-dati-1-sesso`)
    t.ok(await evaluate("document.querySelector('label[for=f-dati-1-sesso]').getBoundingClientRect().top >= 0"))
  })

  t.test('both versions of a changed booking fit a phone', async () => {
    const edit = `/prenotazioni/${family.id}/modifica`
    await open(url + edit)
    await call('PUT', `/api/v1/prenotazioni/${family.id}`, { note: 'https://example.org/'.padEnd(60, 'x') })
    await write('#f-note', 'mia nota')
    await hit('form.form button.primary')
    await shows('document.querySelector(".versions") !== null')
    await look('conflitto')
  })

  t.test('a photo becomes a guest whose fields name their source', async (t) => {
    await look('scansione', '/scansione')
    t.equal(await press(`a[href="/scansione/${alone.id}/0"]`), `/scansione/${alone.id}/0`)
    await look('fotografia')
    const layout = LAYOUTS.find(({ name }) => name === 'TD3')!
    const photo = await photograph(writeZone(layout, PASSPORT), { ...CLEAN, size: 26 })
    const file = join(mkdtempSync(join(tmpdir(), 'locanda-foto-')), 'foto.jpg')
    writeFileSync(file, photo)
    await page.setInputFiles('#f-file', file)
    await shows('document.querySelector(".preview:not([hidden])")?.complete ?? false')
    await look('anteprima')
    await press('form[enctype] button.primary')
    t.match(await evaluate('document.body.innerText'), 'letto dal documento')
    await look('letta')
    await write('#f-dati-0-stato_nascita', 'Francia')
    await hit('form[action$="/ospiti"] button.primary')
    await shows('location.search === "?esito=salvato"')
    t.match(await evaluate('document.body.innerText'), 'I dati sono completi.')
  })

  t.test('a complete booking is tested and sent', async () => {
    const page = `/prenotazioni/${ready.id}`
    await look('pronta', page)
    await hit(`form[action="${page}/prova"] button`)
    await shows(`document.querySelector('form[action="${page}/invio"]') !== null`)
    await look('provata')
    await hit(`form[action="${page}/invio"] button`)
    await shows('location.search === "?esito=inviato"')
    await look('inviata')
  })

  t.test('no page violates the content security policy', async (t) => {
    t.same(violations(), [])
  })
})
