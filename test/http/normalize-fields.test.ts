import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { JPEG_EXAMPLE } from '#schemas/image.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, booking, create, fieldsAtFault, read, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { bearer } from '#test/identity/requests.ts'

const { app, call, token } = await build(t, { PUBLIC_URL: 'https://locanda.example', TODAY: '2026-11-21' })
const admin = bearer(await token({ name: 'capo', role: 'admin' }))
const as = (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object): Promise<LightMyRequestResponse> =>
  app.inject({ method, url, headers: admin, ...payload && { payload } })

const SCHEDINA = single()
const EMPTY = ['', '   ', '\u00a0', null]

t.test('"", blanks and null mean a missing value in a booking\'s optional fields, and become null', async (t) => {
  for (const value of EMPTY) {
    const made = await create(call, { email: value, telefono: value, idf_gen: value, check_out: value })
    t.match(made, { email: null, telefono: null, idf_gen: null, check_out: '2026-11-24' }, JSON.stringify(value))
    const nights = await create(call, { numero_notti: value, check_out: '2026-11-25' })
    t.equal(nights.numero_notti, 4)
  }
})

t.test('an update empties nullable fields, keeps stays, and refuses to empty required fields', async (t) => {
  for (const value of EMPTY) {
    const { id } = await create(call, { email: 'anna@example.com', telefono: '1', idf_gen: 'BK' })
    const path = `${BOOKINGS}/${id}`
    t.match((await as('PUT', path, { email: value, telefono: value, check_out: value, numero_notti: value })).json(), {
      data: { email: null, telefono: null, idf_gen: 'BK', check_out: '2026-11-24' }
    })
    for (const field of ['nome_cognome', 'lingua', 'paese_id', 'check_in', 'numero_ospiti']) {
      t.same(fieldsAtFault(await as('PUT', path, { [field]: value })), [field], `${field} ${JSON.stringify(value)}`)
    }
    t.match(await read(call, id), { nome_cognome: 'Anna Bianchi', lingua: 'IT' })
  }
})

t.test('an empty required field is an error that names it', async (t) => {
  const cases: [url: string, body: Record<string, unknown>, fields: string[]][] = [
    [BOOKINGS, { ...booking() }, ['nome_cognome', 'lingua', 'paese_id', 'check_in', 'numero_ospiti']],
    ['/api/send-email', { recipients: ['a@example.org'], subject: 'x', body: 'x' }, ['body']],
    ['/api/operators', { email: 'a@example.org', password: 'una-frase-lunga', name: 'a', surname: 'b' },
      ['name', 'surname', 'email']],
    ['/api/v1/invii/sospensione', { sospeso: true, motivo: 'prova' }, ['motivo', 'sospeso']],
    ['/api/lettere-benvenuto/genera', { prenotazione_id: 1, nome_ospite: 'Anna', lingua: 'IT' },
      ['nome_ospite', 'lingua']]
  ]
  for (const [url, body, fields] of cases) {
    for (const field of fields) {
      for (const value of EMPTY) {
        const answer = await as('POST', url, { ...body, [field]: value })
        t.same(fieldsAtFault(answer), [field], `${url} ${field} ${JSON.stringify(value)} ${answer.statusCode}`)
      }
    }
  }
})

t.test('"", blanks and null mean a missing value in guests, schedine, scans, letters, PDFs and settings', async (t) => {
  const scan = {
    name: 'BIANCA', surname: 'ROSSI', docNum: 'CA00000AA', birthDate: '1964-12-30', gender: 'F', nationality: 'ITA'
  }
  for (const value of EMPTY) {
    const { id } = await create(call)
    const dati = [{ nome: 'Anna', cognome: 'Bianchi', sesso: value, data_nascita: value, tipo_documento: value }]
    t.equal((await saveGuests(call, id, dati)).statusCode, 200)
    t.match((await read(call, id)).ospiti, [{ sesso: null, data_nascita: null, tipo_documento: null }])
    const checked = await as('POST', '/api/alloggiati/valida', {
      ospiti: [{ ...SCHEDINA, sesso: value }], prenotazione: { check_in: value, numero_notti: value }
    })
    t.same(checked.json().errors.map(({ campo }: { campo: string }) => campo), ['check_in', 'numero_notti', 'sesso'])
    const hotel = await as('PUT', '/api/v1/struttura', { motto: value, email: value, colore: value, regole: value })
    t.match(hotel.json().data, { motto: null, email: null, colore: null, regole: null })
    t.equal((await as('POST', '/api/generate-template', { rows: [{ a: '1' }], titolo: value })).statusCode, 200)
    const optional = { expiryDate: value, documentCode: value, issuingCountry: value, image: value }
    t.equal((await as('POST', '/api/save-scan', { ...scan, ...optional })).statusCode, 200)
    const letter = { prenotazione_id: id, nome_ospite: 'Anna', lingua: 'IT', template_data: { greeting: value } }
    t.equal((await as('POST', '/api/lettere-benvenuto/genera', letter)).statusCode, 201)
    const state = { enabled: false, message: value }
    t.match((await as('POST', '/api/settings/maintenance', state)).statusCode, 200)
    t.same(fieldsAtFault(await as('POST', '/api/v1/templates/valida', { template: value })), ['template'])
    const page = { template: '<document><page><p>x</p></page></document>', lingua: value, nome: value, data: value }
    t.equal((await as('POST', '/api/generate-pdf', { ...page, user_id: value, template_id: value })).statusCode, 200)
    const parts = form([['titolo', value ?? ''], ['decimali', value ?? ''], ['file', 'a\n1', 'r.csv']])
    const report = { method: 'POST', url: '/api/v1/report/csv', payload: parts } as const
    const answer = await app.inject({ ...report, headers: { ...admin, 'content-type': FORM_TYPE } })
    t.equal(answer.statusCode, 200)
  }
})

t.test('an empty query parameter means a missing one', async (t) => {
  await create(call)
  for (const empty of ['', '%20']) {
    for (const url of [
      'v1/prenotazioni?q=', 'v1/prenotazioni?check_in_da=', 'v1/prenotazioni?paese_id=', 'v1/prenotazioni?sort=',
      'v1/prenotazioni?updated_since=', 'v1/prenotazioni?limit=', 'v1/invii?stato=',
      'v1/invii?da=', 'v1/audit?da=', 'v1/audit?action=', 'v1/scansioni?prenotazione_id=',
      'v1/invii/verifica?da=', 'alloggiati/verifica-ricevute?a=', 'alloggiati/codici?q=', 'prenotazioni?start=',
      'map/top-countries?limit=', 'cli/auth/key?name='
    ]) {
      const answer = await as('GET', `/api/${url}${empty}`)
      t.equal(answer.statusCode, 200, `${url}${empty} ${answer.body.slice(0, 200)}`)
    }
  }
  t.ok((await as('GET', '/api/v1/prenotazioni?q=&check_in_da=&limit=')).json().data.length > 0)
})

t.test('an empty value that would extend an action is answered with a 400, and nothing is done', async (t) => {
  const { id } = await create(call, { check_in: '2026-11-21' })
  const keys = async () => (await as('GET', '/api/v1/keys')).json().data.length
  const before = await keys()
  for (const field of ['scopes', 'days']) {
    for (const value of ['', '%20']) {
      t.same(fieldsAtFault(await as('GET', `/api/cli/auth/key?${field}=${value}`)), [field])
    }
  }
  t.equal(await keys(), before)
  t.same(fieldsAtFault(await as('GET', `${BOOKINGS}?cursor=`)), ['cursor'])
  for (const field of ['cursor', 'tipo', 'prenotazione_id']) {
    t.same(fieldsAtFault(await as('GET', `/api/v1/eventi?${field}=`)), [field])
  }
  const list = { ospiti: [SCHEDINA], prenotazione: { check_in: '2026-11-21', numero_notti: 1 } }
  const cases: [url: string, body: (field: string, value: unknown) => object, fields: string[], prefix?: string][] = [
    ['v1/invii/giornata', (field, value) => ({ prova: true, [field]: value }),
      ['data', 'prova', 'prenotazioni']],
    [`v1/prenotazioni/${id}/invio`, (field, value) => ({ testMode: true, [field]: value }),
      ['testMode', 'solo_mancanti']],
    ['alloggiati/invio', (field, value) => ({ ...list, testMode: true, [field]: value }),
      ['testMode', 'prenotazione', 'soggiorno']],
    ...['valida', 'invio', 'file'].map((name): typeof cases[number] => [
      `alloggiati/${name}`, (field, value) => ({ ...list, prenotazione: { ...list.prenotazione, [field]: value } }),
      ['id'], 'prenotazione.'
    ]),
    ['v1/invii/1/correzione', (field, value) => ({ motivo: 'Data di nascita errata', [field]: value }), ['riga']],
    ['v1/webhooks', (field, value) => ({ url: 'https://example.com', [field]: value }), ['tipi']],
    ['settings/maintenance', (field, value) => ({ enabled: true, [field]: value }), ['allow']],
    ['sessions/revoke-all', (field, value) => ({ [field]: value }), ['revoca_chiavi']],
    ['v1/signing-keys/rotate', (field, value) => ({ [field]: value }), ['immediate']],
    ['v1/prenotazioni/delete-bulk', (field, value) => ({ [field]: value }), ['ids']],
    ['operators', (field, value) => ({ email: 'a@example.org', name: 'a', surname: 'b', [field]: value }), ['password']]
  ]
  for (const [url, body, fields, prefix = ''] of cases) {
    for (const field of fields) {
      for (const value of EMPTY) {
        const answer = await as('POST', `/api/${url}`, body(field, value))
        const found = fieldsAtFault(answer)
        t.ok(found.includes(`${prefix}${field}`), `${url} ${field} ${JSON.stringify(value)} ${answer.statusCode}`)
      }
    }
  }
  t.equal((await as('GET', '/api/v1/invii')).json().data.length, 0)
})

t.test('codes, sesso and lingua are accepted in any letter case, and returned in upper case', async (t) => {
  for (const lingua of ['it', 'It', 'IT']) {
    const { id, ...made } = await create(call, { lingua })
    t.equal(made.lingua, 'IT')
    t.equal((await as('PUT', `${BOOKINGS}/${id}`, { lingua: 'en' })).json().data.lingua, 'EN')
    const wanted = { prenotazione_id: id, nome_ospite: 'Anna', lingua }
    const letter = await as('POST', '/api/lettere-benvenuto/genera', wanted)
    t.equal(letter.json().data.lingua, 'IT')
    const lower = { sesso: 'f', tipo_documento: 'idele', provincia_nascita: 'rm', tipo_alloggiato: '16' }
    t.equal((await saveGuests(call, id, [{ nome: 'Anna', cognome: 'Bianchi', ...lower }])).statusCode, 200)
    t.match((await read(call, id)).ospiti, [{ sesso: 'F', tipo_documento: 'IDELE' }])
    t.match((await as('POST', `${BOOKINGS}/${id}/schedine`, {})).json().schedine, [{ provincia_nascita: 'RM' }])
  }
  const scan = {
    name: 'BIANCA', surname: 'ROSSI', docNum: 'CA00000AA', birthDate: '1964-12-30', gender: 'f', nationality: 'ita'
  }
  const saved = await as('POST', '/api/save-scan', { ...scan, documentCode: 'c', issuingCountry: 'ita' })
  t.match((await as('GET', `/api/v1/scansioni/${saved.json().id}`)).json().data, {
    gender: 'F', nationality: 'ITA', documentCode: 'C', issuingCountry: 'ITA'
  })
  const checked = await as('POST', '/api/alloggiati/valida', {
    ospiti: [{ ...SCHEDINA, sesso: 'f', tipo_documento: 'idele', provincia_nascita: 'rm' }],
    prenotazione: { check_in: '2026-11-21', numero_notti: 1 }
  })
  t.match(checked.json(), { valid: true, errors: [] })
})

t.test('an empty dal, id_appartamento or stato means absent', async (t) => {
  const { id } = await create(call, { check_in: '2026-11-21', numero_ospiti: 1, stato: 'non_presentato' })
  const { tipo_alloggiato: _, ...guest } = SCHEDINA
  await saveGuests(call, id, [guest])
  for (const value of EMPTY) {
    t.equal((await as('PUT', `${BOOKINGS}/${id}`, { stato: value })).json().data.stato, 'non_presentato')
  }
  await as('PUT', `${BOOKINGS}/${id}`, { stato: 'confermata' })
  const empty = { dal: null, id_appartamento: null }
  for (const value of EMPTY) {
    const body = { dal: value, id_appartamento: value }
    const schedine = await as('POST', `${BOOKINGS}/${id}/schedine`, body)
    t.match(schedine.json(), { valid: true, soggiorno: { check_in: '2026-11-21' } }, JSON.stringify(value))
    t.equal((await as('POST', `${BOOKINGS}/${id}/invio`, { ...body, testMode: true })).statusCode, 200)
    const stay = { check_in: '2026-11-21', numero_notti: 1, id_appartamento: value }
    const checked = await as('POST', '/api/alloggiati/valida', { ospiti: [SCHEDINA], prenotazione: stay })
    t.match(checked.json(), { errors: [] })
    const day = await as('POST', '/api/v1/invii/giornata', { prova: true, id_appartamento: value, prenotazioni: [id] })
    t.match(day.json().prenotazioni, [{ stato: 'pronta' }])
  }
  t.equal((await as('GET', '/api/v1/invii')).json().data.length, 0)
  t.same(fieldsAtFault(await as('POST', `${BOOKINGS}/${id}/invio`, { ...empty, dal: '2026-13-01' })), ['dal'])
})

t.test('enumerations are accepted in any letter case, and returned as the schema spells them', async (t) => {
  const { id } = await create(call, { stato: 'Annullata' })
  t.equal((await read(call, id)).stato, 'annullata')
  t.equal((await as('PUT', `${BOOKINGS}/${id}`, { stato: ' CONFERMATA ' })).json().data.stato, 'confermata')
  for (const url of ['v1/prenotazioni?stato=CONFERMATA', 'v1/invii?stato=Pronto', 'v1/prenotazioni?sort=-Check_In']) {
    t.equal((await as('GET', `/api/${url}`)).statusCode, 200, url)
  }
  const image = { booking_id: id, guest_idx: 0, side: 'FRONT', base64Image: JPEG_EXAMPLE, ext: 'JPG' }
  t.match((await as('POST', '/api/documents/upload', image)).json(), { path: `documents/${id}/0/front.jpg` })
  t.equal((await as('GET', `/api/documents/${id}/0/Front`)).statusCode, 200)
  t.same(fieldsAtFault(await as('POST', '/api/documents/upload', { ...image, ext: 'gif' })), ['ext'])
  t.same(fieldsAtFault(await as('POST', '/api/documents/upload', { ...image, side: 'fr\nont' })), ['side'])
})

t.test('an unspecified sex is stored as X, and only the Send is blocked', async (t) => {
  const { id } = await create(call, { numero_ospiti: 1 })
  const { tipo_alloggiato: _, ...guest } = SCHEDINA
  t.equal((await saveGuests(call, id, [{ ...guest, sesso: '<' }])).statusCode, 200)
  t.match((await read(call, id)).ospiti, [{ sesso: 'X' }])
  const refused = await as('POST', `${BOOKINGS}/${id}/invio`, {})
  const errors = [{ campo: 'sesso', messaggio: /scegliere M o F da un altro documento/ }]
  t.match(refused.json(), { status: 422, errors })
  const scan = { name: 'BIANCA', surname: 'ROSSI', docNum: 'CA00000AA', nationality: 'ITA' }
  const saved = await as('POST', '/api/save-scan', { ...scan, gender: '<', birthDate: '1964-00-00' })
  const { data } = (await as('GET', `/api/v1/scansioni/${saved.json().id}`)).json()
  t.match(data, { gender: 'X', birthDate: '1964-00-00' })
})

t.test('auth and storage also refuse empty required values', async (t) => {
  await isRejected(t, '/auth/v1/token?grant_type=', {})
  await isRejected(t, '/storage/v1/bucket', { name: '' })
})

async function isRejected (t: Test, url: string, payload: object): Promise<void> {
  t.equal((await as('POST', url, payload)).statusCode, 400, url)
}
