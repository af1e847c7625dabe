import t from 'tap'
import type { BookingDetail } from '#schemas/booking.ts'
import { addDays } from '#src/lib/time.ts'
import { testClock } from '#test/clock.ts'
import { foreigner, member, single } from '#test/alloggiati/rules/samples.ts'
import { create, read, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { errorOf, formsOf, type VisitorBrowser } from '#test/identity/pages/visitor.ts'
import { jpeg } from '#test/services/images/pictures.ts'
import { signedIn, uploader } from './desk-visitor.ts'

const today = testClock().today()
const server = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
const { app, call } = server
const anna = await signedIn(server)

let made = 0
/** A booking of today with guests. */
async function book (guests: object[] = [], changes: object = {}): Promise<{ id: number, page: string }> {
  const { id } = await create(call, { check_in: today, numero_ospiti: Math.max(1, guests.length), ...changes })
  if (guests.length > 0) await saveGuests(call, id, guests)
  return { id, page: `/prenotazioni/${id}` }
}
/** A complete guest. Each call returns another one. */
function guest () {
  const letter = String.fromCharCode(65 + made++)
  return single({ cognome: `BANCO ${letter}`, numero_documento: `CA0${made + 1000}AA` })
}

/** Presses a button of a form that has a name, without scripts. */
async function press (
  browser: VisitorBrowser, action: string, button: Record<string, string>, fields: Record<string, string> = {}
): Promise<VisitorBrowser> {
  const form = formsOf(browser.page().body).find((each) => each.action === action)!
  const payload = new URLSearchParams({ ...Object.fromEntries(form.fields), ...fields, ...button }).toString()
  const response = await app.inject({
    method: 'POST',
    url: action,
    headers: {
      accept: 'text/html', cookie: browser.cookie(), 'content-type': 'application/x-www-form-urlencoded'
    },
    payload
  })
  if (response.statusCode !== 303) throw new Error(`${response.statusCode} ${response.body}`)
  return await browser.open(String(response.headers.location))
}

const upload = uploader(app)

t.test('guests are typed with names in place of codes, checked, and sent in two clicks', async (t) => {
  const { id, page } = await book()
  await anna.open(page)
  t.match(anna.page().body, 'class="here" aria-current="step">Ospiti 0/1')
  t.match(anna.page().body, /<p>Mancano i dati di 1 ospite<\/p><div class="foot"><span> Da comunicare entro/)
  await anna.submit(`${page}/ospiti`, {
    'dati[0].cognome': 'Muster',
    'dati[0].nome': 'Erika',
    'dati[0].sesso': 'F',
    'dati[0].data_nascita': '1980-05-15',
    'dati[0].stato_nascita': 'Germania',
    'dati[0].cittadinanza': 'GERMANIA',
    'dati[0].tipo_documento': 'PASOR',
    'dati[0].numero_documento': 'C01X00T48',
    'dati[0].luogo_rilascio': 'Germania'
  })
  t.match(anna.page(), { path: `${page}?esito=salvato`, body: 'I dati sono completi.' })
  t.match(anna.page().body, 'value="GERMANIA"', 'a code has its name')
  await anna.submit(`${page}/prova`)
  t.match(anna.page().body, 'Prova riuscita')
  t.equal((await call('GET', `/api/v1/invii?prenotazione_id=${id}`)).json<{ data: object[] }>().data.length, 0)
  await anna.submit(`${page}/invio`)
  t.match(anna.page(), { path: `${page}?esito=inviato`, body: 'Gli ospiti sono stati inviati' })
  t.match(anna.page().body, 'Acquisito dalla Polizia')
})

t.test('a warning of the test is only in the panel, and the guest stays complete', async (t) => {
  const { page } = await book([{ ...guest(), provincia_nascita: '', data_nascita: '1912-05-15' }])
  await anna.open(page)
  t.match(anna.page().body, '>completo<')
  await anna.submit(`${page}/prova`)
  const { body } = anna.page()
  t.match(body, /Prova riuscita.*<li>Ospite 1: L’età risulta di 11\d anni/s)
  t.notMatch(body, /<li>[^<]*provincia/, 'the province that the rules derive needs no check')
  t.match(body, '>completo<')
  t.notMatch(body, 'manca 1 dato')
  t.match(body, /<li class="ok">Ospiti 1\/1/)
})

t.test('an error is at its field in plain words, and its proposal is a button', async (t) => {
  const { id, page } = await book([foreigner({ cittadinanza: 'DEUTSCHLAND', numero_documento: 'C01X00T49' })])
  await anna.open(page)
  const { body } = anna.page()
  t.match(errorOf(body, 'f-dati-0-cittadinanza'), 'indicare GERMANIA')
  t.match(body, '<i class="chip need">manca 1 dato</i>')
  t.match(body, />Metti GERMANIA<\/button>/)
  await press(anna, `${page}/ospiti`, { metti: 'dati[0].cittadinanza=100000216' })
  t.match(anna.page().body, 'I dati sono completi.')
  t.equal((await read(call, id)).ospiti.length, 1)
})

t.test('in another language a missing detail is named in that language', async (t) => {
  const { page } = await book([{ ...guest(), sesso: '' }])
  const languages = { it: /^Il sesso è obbligatorio/, en: /^The police require/, de: /^Die Polizei/, fr: /^La police/ }
  for (const [language, words] of Object.entries(languages)) {
    const reader = await signedIn(server, `lingua-${language}@example.org`, { language })
    await reader.open(page)
    t.match(errorOf(reader.page().body, 'f-dati-0-sesso'), words, language)
  }
})

t.test('a family copies the surname and the citizenship from its first guest', async (t) => {
  const { id, page } = await book([guest()], { numero_ospiti: 2 })
  await anna.open(page)
  await press(anna, `${page}/ospiti`, { copia: '1' }, { 'dati[1].nome': 'Lena' })
  const { ospiti } = await read(call, id)
  t.equal(ospiti[1]!.nome, 'Lena')
  t.equal(ospiti[1]!.cognome, ospiti[0]!.cognome)
  t.match(anna.page().body, 'id="f-dati-1-data_nascita-error"')
  const stored = await app.sql<{ cittadinanza: string }[]>`
    select cittadinanza from ospiti where prenotazione_id = ${id} order by indice`
  t.same(stored.map(({ cittadinanza }) => cittadinanza), ['100000100', '100000100'])
})

t.test('a guest who leaves earlier gets a separate departure', async (t) => {
  const { id, page } = await book([guest()], { numero_notti: 4 })
  await anna.open(page)
  t.notMatch(anna.page().body, /<details open><summary>Arriva o parte/)
  await anna.submit(`${page}/ospiti`, { 'dati[0].partenza': addDays(today, 2) })
  t.match((await read(call, id)).ospiti, [{ arrivo: null, partenza: addDays(today, 2) }])
  t.match(anna.page().body, /<details open><summary>Arriva o parte/)
})

t.test('an emptied last guest is removed, and a form of outdated guests shows both versions', async (t) => {
  const parents = { ...guest(), tipo_alloggiato: '17' }
  const child = member('19', 'FIGLIO', { cognome: parents.cognome! })
  const { id, page } = await book([parents, child])
  await anna.open(page)
  await saveGuests(call, id, [parents, { ...child, nome: 'FIGLIA' }])
  await anna.submit(`${page}/ospiti`, { 'dati[1].nome': 'FIGLIETTO' })
  t.equal(anna.page().statusCode, 412)
  t.match(anna.page().body, '<td>FIGLIA</td><td>FIGLIETTO</td>')
  const names = Object.fromEntries([...formsOf(anna.page().body)[1]!.fields.keys()]
    .filter((name) => name.startsWith('dati[1]')).map((name) => [name, '']))
  await anna.submit(`${page}/ospiti`, names)
  t.equal((await read(call, id)).ospiti.length, 1)
})

t.test('a refused Send shows the cause, and a reason for sending anyway must not be too short', async (t) => {
  const twin = guest()
  const first = await book([twin])
  t.equal((await call('POST', `/api/v1/prenotazioni/${first.id}/invio`)).statusCode, 200)
  const { page } = await book([{ ...twin, nome: 'GEMELLO' }])
  await anna.open(page)
  await anna.submit(`${page}/prova`)
  await anna.submit(`${page}/invio`)
  t.equal(anna.page().statusCode, 409)
  t.match(anna.page().body, 'Ospite già inviato')
  t.notMatch(anna.page().body, /confermo_diverso|solo_mancanti|\/api\//)
  const reader = await signedIn(server, 'rifiuto-en@example.org', { language: 'en' })
  await reader.open(page)
  await reader.submit(`${page}/prova`)
  await reader.submit(`${page}/invio`)
  t.match(reader.page(), { statusCode: 409, body: 'Guests of this booking were already sent' })
  t.match(reader.page().body, 'name="motivo"', 'the translation offers the same ways out')
  t.notMatch(reader.page().body, 'Ospite già inviato')
  await anna.submit(`${page}/invio`, { motivo: 'corto' }, formsOf(anna.page().body)
    .filter(({ action }) => action === `${page}/invio`).findIndex(({ fields }) => fields.has('motivo')))
  t.match(anna.page(), { statusCode: 400, body: 'f-motivo-error' })
})

t.test('a booking is cancelled and confirmed again, gets a unit, and a letter as PDF', async (t) => {
  const room = (await call('POST', '/api/v1/unita', { nome: 'Glicine', tipo: 'camera', ospiti_massimi: 2 }))
    .json<{ data: { id: number } }>().data
  const { id, page } = await book([guest()])
  await anna.open(page)
  await anna.submit(`${page}/unita`, { unita_id: String(room.id) })
  t.match(anna.page().body, 'Glicine')
  await anna.submit(`${page}/lettera`)
  t.equal(anna.page().path, `${page}?esito=creato`)
  const pdf = await anna.open(`${page}/lettera.pdf`)
  t.match(pdf.page(), { statusCode: 200, headers: { 'content-type': 'application/pdf' } })
  await anna.open(page)
  await anna.submit(`${page}/stato`)
  t.match(anna.page().body, 'Prenotazione annullata')
  await anna.submit(`${page}/stato`)
  const { stato } = (await call('GET', `/api/v1/prenotazioni/${id}`)).json<{ data: BookingDetail }>().data
  t.equal(stato, 'confermata')
  const log = [...anna.page().body.matchAll(/<\/time>([^<]*)/g)].map(([, word]) => word)
  t.same(log.slice(0, 2), ['Prenotazione di nuovo confermata', 'Prenotazione annullata'])
  await anna.open('/prenotazioni/999999')
  t.equal(anna.page().statusCode, 404)
})

t.test('the proposals of a place match the typed text, and other fields have none', async (t) => {
  await anna.open(`/prenotazioni/luoghi?${new URLSearchParams({ 'dati[0].comune_nascita': 'roma' })}`)
  t.match(anna.page(), { statusCode: 200, body: '<option value="ROMA (RM)"></option>' })
  for (const field of ['__proto__', 'constructor']) {
    await anna.open(`/prenotazioni/luoghi?${field}=roma`)
    t.match(anna.page(), { statusCode: 200, body: '' }, 'a field without places')
  }
  await anna.open('/prenotazioni/luoghi')
  t.equal(anna.page().body, '')
})

t.test('a photo is stored with its guest, and an unreadable one is refused on the page', async (t) => {
  const { page, id } = await book([guest()])
  const action = `/scansione/${id}/0`
  await anna.open('/scansione')
  t.match(anna.page().body, `href="${action}"`)
  await anna.open('/scansione?q=Anna')
  t.match(anna.page().body, `href="${action}"`)
  await anna.open(action)
  const photo = await jpeg()
  t.match(await upload(anna, action, Buffer.alloc(0), {}), { statusCode: 400, body: 'Scegliere prima una foto' })
  for (const fields of [{}, { solo: '1' }] as Record<string, string>[]) {
    await anna.open(action)
    const { body } = await upload(anna, action, Buffer.from('un testo'), fields)
    t.match(body, 'role="alert">Foto del documento: non è un’immagine')
  }
  await anna.open(action)
  t.match(await upload(anna, action, photo, { lato: 'front' }), { statusCode: 422, body: 'role="alert"' })
  t.match(await upload(anna, action, photo, { lato: 'back', solo: '1', modulo: 'x' }), { statusCode: 403 })
  await anna.open(action)
  const saved = await upload(anna, action, photo, { lato: 'back', solo: '1' })
  t.match(saved, { statusCode: 303, headers: { location: `${page}?esito=salvato` } })
  await anna.open(page)
  t.match(anna.page().body, `href="${page}/ospiti/0/back"`)
  await anna.open(`${page}/ospiti/0/back`)
  t.match(anna.page(), { statusCode: 200, headers: { 'content-type': 'image/jpeg' } })
})
