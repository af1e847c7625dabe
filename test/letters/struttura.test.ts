import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import t from 'tap'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { readPages } from '#test/pdf/read-pdf.ts'
import { jpeg, png, webp } from '#test/services/images/pictures.ts'
import { HOUSE, letterCalls } from './letter-calls.ts'

const URL = '/api/v1/struttura'
const LOGO = `${URL}/logo`

const server = await build(t, { PUBLIC_URL: 'https://locanda.example', TODAY: '2026-11-23' })
const { app, call, token, dataDir, logs } = server
const { newBooking, generate, download } = letterCalls(server)
const admin = { authorization: `Bearer ${await token({ name: 'ada', role: 'admin' })}` }
const operator = { authorization: `Bearer ${await token({ name: 'bruno' })}` }

const put = (body: object, headers: Record<string, string> = {}, url = URL) =>
  app.inject({ method: 'PUT', url, headers: { ...admin, ...headers }, payload: body })
const get = async () => (await call('GET', URL)).json<{ data: Record<string, string | null> }>().data
const putLogo = (image: Buffer, headers = {}) => put({ base64Image: image.toString('base64') }, headers, LOGO)
const textOf = async (id: number) => (await readPages((await download(id)).rawPayload))[0]!

const HARMS: [harm: string, harm: (path: string) => void][] = [
  ['lost', (path) => rmSync(path)],
  ['overwritten', (path) => writeFileSync(path, 'altro')]
]

t.test('a letter without establishment data has no label without a value', async (t) => {
  t.ok(Object.values(await get()).every((value) => value === null))
  const id = await newBooking()
  t.equal((await generate(id)).headers['x-pdf-warnings'], undefined)
  const text = await textOf(id)
  t.match(text, /^lunedì 23 novembre 2026 ?Benvenuti, Anna Bianchi!/)
  t.match(text, /Buon soggiorno!$/)
  t.notMatch(text, /CIN|Wi-Fi|Password|Colazione|Telefono|Prenotazione|cordiali|null|undefined|, ,|· ·/)
})

t.test('the data of the establishment are stored, and appear in the letters', async (t) => {
  const saved = await put(HOUSE)
  t.equal(saved.statusCode, 200)
  t.match(saved.json(), { data: HOUSE, status: 200 })
  t.match(await get(), HOUSE)
  const id = await newBooking()
  await generate(id)
  const text = await textOf(id)
  for (const [name, value] of Object.entries(HOUSE)) {
    if (name !== 'colore') t.ok(text.includes(value), `${name}: ${text}`)
  }
  t.match(text, /sabato 21 novembre 2026, dalle 15:00/)
  t.match(text, /martedì 24 novembre 2026, entro le 10:30/)
  t.match(text, /Como, lunedì 23 novembre 2026/)
})

t.test('a letter has the establishment\'s texts in the letter\'s language, else the general texts', async (t) => {
  const testi = { en: { motto: 'Rooms with a view' }, de: { colazione: '7:30 auf der Veranda' } }
  const withBlank = { ...testi, en: { ...testi.en, regole: ' ' } }
  t.same((await put({ ...HOUSE, testi: withBlank })).json<{ data: { testi: object } }>().data.testi, testi)
  t.match(await get(), { testi })
  const texts: Record<string, RegExp[]> = {
    EN: [/Rooms with a view/, /Silenzio dalle 22:30/, /nella veranda/],
    ES: [/Rooms with a view/],
    DE: [/Camere con vista dal 1987/, /7:30 auf der Veranda/],
    IT: [/Camere con vista dal 1987/, /nella veranda/]
  }
  for (const [lingua, patterns] of Object.entries(texts)) {
    const id = await newBooking()
    await generate(id, { lingua })
    const text = await textOf(id)
    for (const pattern of patterns) t.match(text, pattern, lingua)
  }
  t.match((await put({ motto: 'Altro' })).json(), { data: { testi } }, 'other changes keep them')
  t.same(fieldsAtFault(await put({ testi: { es: {}, en: { nome: 'x' } } })).sort(), ['testi.en.nome', 'testi.es'])
  t.match((await put({ ...HOUSE, testi: null })).json(), { data: { testi: null } })
})

t.test('a letter names the unit\'s establishment, and uses the first one\'s texts if that has none', async (t) => {
  await put(HOUSE)
  const post = async (url: string, payload: object) =>
    (await app.inject({ method: 'POST', url, headers: admin, payload })).json<{ data: { id: number } }>().data.id
  const own = { nome: 'Casa del Porto', indirizzo: 'Lungolago 4, 22017 Menaggio', cin: 'IT013145B2D3E4F5G6' }
  const struttura_id = await post('/api/v1/strutture', own)
  const unita_id = await post('/api/v1/unita', { nome: 'Alloggio 1', tipo: 'camera', ospiti_massimi: 4, struttura_id })
  const letter = async (changes: object) => {
    const id = await newBooking({ check_in: '2026-11-21', ...changes })
    t.equal((await generate(id)).statusCode, 201)
    return await textOf(id)
  }
  const others = ['nome', 'indirizzo', 'luogo', 'cin'] as const
  const shared = ['telefono', 'wifi_rete', 'wifi_password', 'colazione', 'regole'] as const
  const first = await letter({})
  for (const name of [...others, ...shared]) t.ok(first.includes(HOUSE[name]), name)

  const second = await letter({ unita_id })
  for (const value of Object.values(own)) t.ok(second.includes(value), `${value}: ${second}`)
  for (const name of shared) t.ok(second.includes(HOUSE[name]), name)
  for (const name of others) t.notOk(second.includes(HOUSE[name]), name)

  const ofSecond = `${URL}?struttura_id=${struttura_id}`
  t.match((await put({ wifi_rete: 'Porto', luogo: 'Menaggio' }, {}, ofSecond)).json(), { data: own, status: 200 })
  t.match((await call('GET', ofSecond)).json(), { data: { ...own, wifi_rete: 'Porto', wifi_password: null } })
  t.match(await get(), HOUSE, 'the first establishment has not changed')
  const third = await letter({ check_in: '2026-12-21', check_out: '2026-12-24', unita_id })
  t.match(third, /Menaggio, lunedì 23 novembre 2026/)
  t.match(third, /Porto/)
  for (const name of shared) t.notOk(third.includes(HOUSE[name]), name)
  for (const response of [await call('GET', `${URL}?struttura_id=99`), await put({}, {}, `${URL}?struttura_id=99`)]) {
    t.match(response.json(), { status: 404, codice: 'STRUTTURA_NON_TROVATA' })
  }
})

t.test('a change without writable fields changes neither version nor log', async (t) => {
  const entries = () => app.sql`select from audit_log where action = 'struttura_cambiata'`
  const before = await entries()
  const { headers, ...first } = await call('GET', URL)
  for (const body of [{}, { logo: null, updated_at: null }]) {
    const response = await put(body)
    t.equal(response.statusCode, 200)
    t.equal(response.headers.etag, headers.etag)
    t.strictSame(response.json().data, JSON.parse(first.body).data)
  }
  t.equal((await entries()).length, before.length)
})

t.test('only the fields of the request change, and null or blanks clear a field', async (t) => {
  await put({ motto: null, firma: '  ', luogo: 'Lecco' })
  const stored = await get()
  t.match(stored, { motto: null, firma: null, luogo: 'Lecco', nome: HOUSE.nome })
  t.match((await put({ ...stored, motto: 'Di nuovo' })).json(), { data: { motto: 'Di nuovo', luogo: 'Lecco' } })
})

t.test('a change names its version, and a change of another version is refused with a 412', async (t) => {
  const read = await call('GET', URL)
  const etag = String(read.headers.etag)
  t.equal((await call('GET', URL, undefined, { 'if-none-match': etag })).statusCode, 304)
  const saved = await put({ nome: 'Prima' }, { 'if-match': etag })
  t.equal(saved.statusCode, 200)
  t.not(saved.headers.etag, etag)
  t.match((await put({ nome: 'Seconda' }, { 'if-match': etag })).json(), { status: 412, codice: 'STRUTTURA_CAMBIATA' })
  t.equal((await get()).nome, 'Prima')
  t.equal((await put({})).headers.etag, saved.headers.etag, 'a body without fields changes nothing')
  await putLogo(await png())
  t.not((await call('GET', URL)).headers.etag, saved.headers.etag, 'the version includes the logo')
})

t.test('deleting the logo\'s file changes the version of the establishment', async (t) => {
  await putLogo(await png())
  const etag = String((await call('GET', URL)).headers.etag)
  const [logo] = await app.files.findByPrefix(app.db, 'letters', 'struttura/logo.')
  const headers = { authorization: `Bearer ${await token({ role: 'admin' })}` }
  const gone = await app.inject({ method: 'DELETE', url: `/storage/v1/object/letters/${logo!.name}`, headers })
  t.equal(gone.statusCode, 200, gone.body)
  const read = await call('GET', URL, undefined, { 'if-none-match': etag })
  t.equal(read.statusCode, 200)
  t.not(read.headers.etag, etag)
  t.equal(read.json<{ data: { logo: unknown } }>().data.logo, null)
  t.equal((await put({ nome: 'Seconda' }, { 'if-match': etag })).statusCode, 412)
  t.equal((await put({ nome: 'Seconda' }, { 'if-match': String(read.headers.etag) })).statusCode, 200)
  await putLogo(await png())
})

t.test('concurrent first changes are all kept', async (t) => {
  const other = await build(t)
  const headers = { authorization: `Bearer ${await other.token({ role: 'admin', name: 'carla' })}` }
  const change = { nome: 'a', motto: 'b', luogo: 'c', cin: 'd', firma: 'e' }
  const responses = await Promise.all(Object.entries(change).map(([name, value]) =>
    other.app.inject({ method: 'PUT', url: URL, headers, payload: { [name]: value } })))
  t.ok(responses.every(({ statusCode }) => statusCode === 200))
  t.match((await other.call('GET', URL)).json(), { data: change })
})

t.test('every caller may read, and only administrators may change', async (t) => {
  for (const [method, url] of [['PUT', URL], ['PUT', LOGO], ['DELETE', LOGO]] as const) {
    const payload = url === LOGO ? { base64Image: 'x' } : { nome: 'x' }
    t.equal((await app.inject({ method, url, headers: operator, payload })).statusCode, 403, `${method} ${url}`)
    t.equal((await app.inject({ method, url, payload })).statusCode, 401)
    t.equal((await call(method, url, payload)).statusCode, 403, 'the server key is no administrator')
  }
  for (const url of [URL, LOGO]) {
    t.equal((await app.inject({ url, headers: operator })).statusCode, 200)
    t.equal((await app.inject({ url })).statusCode, 401)
  }
})

t.test('every invalid field is named, and no field changes', async (t) => {
  const before = await get()
  const wrong = {
    nome: 'x'.repeat(101),
    motto: 'a\nb',
    email: 'x',
    colore: 'red',
    ora_check_in: '24:00',
    ora_check_out: '9',
    cin: 1,
    wifi_rete: 'x'.repeat(33),
    wifi_password: 'x'.repeat(64),
    regole: 'x'.repeat(601),
    altro: 1,
    luogo: 'Como'
  }
  t.same(fieldsAtFault(await put(wrong)).toSorted(), Object.keys(wrong).filter((name) => name !== 'luogo').toSorted())
  t.same(await get(), before)
})

t.test('a logo is re-encoded and printed in the letter, and it can be replaced and deleted', async (t) => {
  const large = await sharp({ create: { width: 1600, height: 400, channels: 3, background: '#804020' } })
    .withExif({ IFD0: { Copyright: 'SEGRETO-EXIF' } }).jpeg().toBuffer()
  t.same((await putLogo(large)).json(), {
    success: true, message: 'Logo salvato', url: 'https://locanda.example/api/v1/struttura/logo'
  })
  const read = await call('GET', LOGO)
  t.equal(read.headers['content-type'], 'image/jpeg')
  t.match(await sharp(read.rawPayload).metadata(), { width: 800, height: 200, exif: undefined })
  const id = await newBooking()
  await generate(id)
  const [withLogo, withoutLogo] = [(await download(id)).rawPayload, await newBooking()]
  t.equal((await call('GET', LOGO, undefined, { 'if-none-match': String(read.headers.etag) })).statusCode, 304)
  t.equal((await putLogo(await png())).statusCode, 200)
  t.equal((await app.files.findByPrefix(app.db, 'letters', 'struttura/')).length, 1)
  t.match(await get(), { logo: 'https://locanda.example/api/v1/struttura/logo' })
  const gone = await app.inject({ method: 'DELETE', url: LOGO, headers: admin })
  t.same(gone.json(), { success: true, message: 'Logo eliminato' })
  t.equal((await get()).logo, null)
  t.match((await call('GET', LOGO)).json(), { status: 404, codice: 'LOGO_NON_TROVATO' })
  t.equal((await app.inject({ method: 'DELETE', url: LOGO, headers: admin })).statusCode, 404)
  await generate(withoutLogo)
  t.match(withLogo.toString('latin1'), /\/Subtype \/Image/)
  t.notMatch((await download(withoutLogo)).rawPayload.toString('latin1'), /\/Subtype \/Image/)
  t.ok((await download(id)).rawPayload.equals(withLogo), 'existing letters keep their logo')
})

t.test('a file that is neither PNG nor JPEG is refused, and the previous logo stays', async (t) => {
  await putLogo(await jpeg())
  const before = (await call('GET', LOGO)).headers.etag
  for (const image of [await webp(), Buffer.from('<svg/>'), Buffer.alloc(0), (await png()).subarray(0, 40)]) {
    t.same(fieldsAtFault(await putLogo(image)), ['base64Image'])
  }
  t.same(fieldsAtFault(await put({ base64Image: '***', x: 1 }, {}, LOGO)).toSorted(), ['base64Image', 'x'])
  t.same(fieldsAtFault(await put({ base64Image: '***' }, {}, LOGO)), ['base64Image'])
  t.equal((await putLogo(Buffer.alloc(5 * 1024 * 1024 + 1, 1))).statusCode, 413)
  t.equal((await call('GET', LOGO)).headers.etag, before)
})

t.test('the longest texts fill several pages, and markup in them is printed as text', async (t) => {
  const hostile = '{{ 7 | times: 7 }}<b>&amp;</b>{% raw %}'
  const long = (length: number) => 'parola '.repeat(length).slice(0, length - 4) + 'FINE'
  await put({
    nome: hostile,
    motto: hostile,
    indirizzo: long(150),
    firma: hostile,
    colazione: long(150),
    regole: long(600),
    wifi_rete: '\\;,:"{{ x }}',
    wifi_password: '"}}<b>;',
    colore: '#ffff80'
  })
  const id = await newBooking()
  const texts = { text1: long(2000), text2: `a\r\n\tb ${long(1900)}`, text3: long(2000), greeting: long(300) }
  t.equal((await generate(id, { template_data: { ...texts, enjoy_text: long(100) } })).statusCode, 201)
  const pages = await readPages((await download(id)).rawPayload)
  t.ok(pages.length > 1)
  for (const page of pages) t.ok(page.includes(hostile), 'the footer is on every page')
  const text = pages.join(' ')
  t.equal(text.match(/FINE/g)?.length, 7 + pages.length, 'no text is cut')
  t.ok(text.includes('\\;,:"{{ x }}') && text.includes('"}}<b>;'))
})

t.test('a letter is made although the logo is deleted meanwhile', async (t) => {
  await putLogo(await png())
  const { read } = app.files
  let isDeleted = false
  app.files.read = async (object, range) => {
    if (!isDeleted) {
      isDeleted = true
      t.equal((await app.inject({ method: 'DELETE', url: LOGO, headers: admin })).statusCode, 200)
      while ((await app.sql`select 1 from discarded_files`).length > 0) {
        await new Promise((resolve) => { setTimeout(resolve, 20) })
      }
    }
    return await read(object, range)
  }
  t.teardown(() => { app.files.read = read })
  const id = await newBooking()
  t.equal((await generate(id)).statusCode, 201)
  t.ok(isDeleted)
})

t.test('the Wi-Fi password is neither in the log nor in plain text in the database', async (t) => {
  const wifi_password = 'parola-molto-segreta'
  await put({ wifi_password })
  t.equal((await get()).wifi_password, wifi_password)
  await put({ wifi_password, ora_check_in: 'x' })
  const [row] = await app.sql`select s::text as row from struttura s`
  const noted = await app.sql`select details::text from audit_log where action = 'struttura_cambiata'`
  t.notMatch(JSON.stringify([row, noted, logs]), wifi_password)
  t.ok(noted.length > 5)
})

for (const [name, harm] of HARMS) {
  t.test(`a letter is made although the logo’s file is ${name}, with a warning about the missing logo`, async (t) => {
    t.equal((await putLogo(await png())).statusCode, 200)
    const [logo] = await app.files.findByPrefix(app.db, 'letters', 'struttura/')
    harm(join(dataDir, 'files', logo!.id.slice(0, 2), logo!.id))
    const from = logs.length
    const id = await newBooking()
    const made = await generate(id)
    t.equal(made.statusCode, 201)
    t.match(JSON.parse(String(made.headers['x-pdf-warnings'])), [{ codice: 'IMMAGINE_MANCANTE', messaggio: /logo/ }])
    t.notMatch((await download(id)).rawPayload.toString('latin1'), /\/Subtype \/Image/)
    t.match(logs.slice(from).filter(({ level }) => Number(level) >= 40), [{ file: logo!.id }], 'one names the file')
    t.equal((await putLogo(await png())).statusCode, 200, 'a new logo replaces it')
  })
}

t.test('a letter is made although the logo is encrypted with a lost key', async (t) => {
  t.equal((await putLogo(await png())).statusCode, 200)
  await app.sql`update objects set wrapped_key = overlay(wrapped_key placing '\\x00000000'::bytea from 20 for 4)
    where bucket = 'letters' and name like 'struttura/%'`
  const made = await generate(await newBooking())
  t.equal(made.statusCode, 201)
  t.match(made.headers['x-pdf-warnings'], /IMMAGINE_MANCANTE/)
})
