import { eq } from 'drizzle-orm'
import t from 'tap'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { Booking, BookingDetail } from '#schemas/booking.ts'
import { fieldNames } from '#schemas/common.ts'
import type { Country } from '#schemas/country.ts'
import { Guest } from '#schemas/guest.ts'
import { bookingColumns, detailColumns } from '#src/bookings/booking-columns.ts'
import { asJson } from '#src/database/columns.ts'
import { API_KEY, build } from '#test/helper.ts'
import { booking, BOOKINGS, create, fieldsAtFault, guests, list, read, saveGuests } from './samples.ts'

const { app, call } = await build(t)

const detail = (id: number | string, headers?: Record<string, string>) =>
  call('GET', `${BOOKINGS}/${id}`, undefined, headers)
const tagOf = async (id: number) => String((await detail(id)).headers.etag)

/** The invalid fields of a creation with these changes. */
async function refused (changes: Record<string, unknown>) {
  return fieldsAtFault(await call('POST', BOOKINGS, booking(changes)))
}

t.test('a new booking is answered with 201, its URL and its ETag', async (t) => {
  const response = await call('POST', BOOKINGS, booking())
  const { data, status } = response.json<{ data: Booking, status: number }>()
  t.equal(response.statusCode, 201)
  t.equal(status, 201)
  t.equal(response.headers.location, `${BOOKINGS}/${data.id}`)
  const shown = await call('GET', String(response.headers.location))
  t.equal(shown.headers.etag, response.headers.etag)
  t.match(response.headers.etag, /^"\d+"$/)
})

t.test('a created booking is returned with the same values', async (t) => {
  const input = {
    nome_cognome: 'Zoë Nuñez-Ó Briain 🧳',
    lingua: 'EN',
    email: 'zoe@example.com',
    telefono: '+39 055 000',
    paese_id: 724,
    check_in: '2026-12-30',
    check_out: '2027-01-02',
    numero_ospiti: 1,
    idf_gen: 'BK-1'
  }
  const created = await create(call, { ...input, numero_notti: undefined })
  t.match(created, { ...input, numero_notti: 3 })
  t.same(await read(call, created.id), { ...created, ospiti: [] })
})

t.test('optional fields that are absent or null are returned as null', async (t) => {
  const none = { email: null, telefono: null, idf_gen: null }
  t.match(await create(call), none)
  t.match(await create(call, none), none)
})

t.test('created_at and updated_at of a new booking are the same instant, in UTC with a Z', async (t) => {
  const { created_at, updated_at } = await create(call)
  t.equal(new Date(created_at).toISOString(), created_at)
  t.equal(updated_at, created_at)
})

const STAYS: [title: string, given: object, stored: object][] = [
  ['check_out wins over numero_notti', { check_out: '2026-11-30', numero_notti: 2 },
    { check_in: '2026-11-21', check_out: '2026-11-30', numero_notti: 9 }],
  ['numero_notti alone gives the departure, over the change of clocks too',
    { check_in: '2026-10-24', numero_notti: 2 }, { check_out: '2026-10-26', numero_notti: 2 }],
  ['the nights are computed from the two days',
    { check_in: '2024-02-28', check_out: '2024-03-01', numero_notti: undefined }, { numero_notti: 2 }]
]
for (const [title, given, stored] of STAYS) {
  t.test(title, async (t) => { t.match(await create(call, { ...given }), stored) })
}

t.test('a booking without check_out and numero_notti is answered with a 400 that names both', async (t) => {
  t.same(await refused({ numero_notti: undefined }), ['check_out', 'numero_notti'])
})

t.test('a departure that is not after the arrival is answered with a 400 that names check_out', async (t) => {
  t.same(await refused({ check_out: '2026-11-21' }), ['check_out'])
  t.same(await refused({ check_out: '2026-11-20' }), ['check_out'])
})

t.test('a stay that ends after the year 9999 is answered with a 400 that names numero_notti', async (t) => {
  t.same(await refused({ check_in: '9999-12-30', numero_notti: 2 }), ['numero_notti'])
  t.match(await create(call, { check_in: '9999-12-30', numero_notti: 1 }), { check_out: '9999-12-31' })
})

t.test('the maximum of numero_notti also applies to a stay given by its days', async (t) => {
  t.same(await refused({ numero_notti: 36_501 }), ['numero_notti'])
  t.same(await refused({ check_in: '2026-01-01', check_out: '2126-01-01' }), ['check_out'])
  t.match(await create(call, { check_in: '2026-01-01', check_out: '2125-12-08' }), { numero_notti: 36_500 })
})

t.test('a day that the calendar does not have is answered with a 400 that names the field', async (t) => {
  const wrong =
    ['2026-02-30', '2025-02-29', '2026-13-01', '2026-00-10', '0000-01-01', '2026-2-3', '2026-11-21T00:00:00Z']
  for (const day of wrong) {
    t.same(await refused({ check_in: day }), ['check_in'], `check_in ${day}`)
    t.same(await refused({ check_out: day }), ['check_out'], `check_out ${day}`)
  }
})

t.test('an unknown field is answered with a 400 that names it, and no booking is stored', async (t) => {
  const before = (await list(call)).length
  for (const name of ['note', 'id', 'created_at', 'ospiti', 'versione', 'nome_Cognome']) {
    t.same(await refused({ [name]: 1 }), [name])
  }
  t.equal((await list(call)).length, before)
})

t.test('each required field that is missing is answered with a 400 that names it', async (t) => {
  for (const name of ['nome_cognome', 'lingua', 'paese_id', 'check_in', 'numero_ospiti']) {
    t.same(await refused({ [name]: undefined }), [name])
  }
})

t.test('values are not coerced to other types', async (t) => {
  const wrong: [string, unknown][] = [
    ['paese_id', '380'], ['paese_id', null], ['paese_id', true], ['paese_id', 380.5], ['paese_id', [380]],
    ['numero_notti', '3'], ['numero_ospiti', '1'], ['numero_ospiti', true],
    ['nome_cognome', 12], ['nome_cognome', null], ['nome_cognome', ['Anna']], ['lingua', false], ['email', 1],
    ['telefono', 39055], ['check_in', 20261121], ['check_in', null], ['idf_gen', 4711]
  ]
  for (const [name, value] of wrong) {
    t.same(await refused({ [name]: value }), [name], `${name} ${JSON.stringify(value)}`)
  }
})

t.test('numbers below one or outside their column\'s range are answered with a 400 that names the field', async (t) => {
  for (const value of [0, -1, 2_147_483_648, 1e300]) {
    for (const name of ['paese_id', 'numero_notti', 'numero_ospiti']) {
      t.same(await refused({ [name]: value }), [name], `${name} ${value}`)
    }
  }
})

t.test('any positive paese_id is accepted', async (t) => {
  for (const paese_id of [1, 999, 2_147_483_647]) t.match(await create(call, { paese_id }), { paese_id })
})

t.test('texts have a maximum length, a name is not blank, and control characters are refused', async (t) => {
  for (const nome_cognome of ['', '   ', 'a'.repeat(201), 'Anna\u0000', 'Anna\nBianchi', '\u007f']) {
    t.same(await refused({ nome_cognome }), ['nome_cognome'])
  }
  t.match(await create(call, { nome_cognome: '🧳'.repeat(200) }), { nome_cognome: '🧳'.repeat(200) })
  t.same(await refused({ telefono: '1'.repeat(51) }), ['telefono'])
  t.same(await refused({ idf_gen: 'x'.repeat(101) }), ['idf_gen'])
  t.same(await refused({ email: 'non una e-mail' }), ['email'])
})

t.test('lingua is two letters', async (t) => {
  for (const lingua of ['ITA', 'I', '', 'I1', 'IT\n']) {
    t.same(await refused({ lingua }), ['lingua'], JSON.stringify(lingua))
  }
})

t.test('a body that is not a JSON object is answered with a 400', async (t) => {
  for (const payload of ['', '{', 'null', '[]', '"x"', '{"__proto__": {"nome_cognome": "x"}}']) {
    const { statusCode } = await app.inject({
      method: 'POST',
      url: BOOKINGS,
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      payload
    })
    t.equal(statusCode, 400, payload)
  }
})

t.test('a missing booking is answered with a 404 and the text of the contract', async (t) => {
  const response = await detail(2_000_000)
  t.equal(response.statusCode, 404)
  const { requestId, ...body } = response.json<Record<string, unknown>>()
  t.same(body, { error: 'Prenotazione non trovata', status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  t.type(requestId, 'string')
})

t.test('an invalid id is answered with a 400 that names it', async (t) => {
  for (const id of ['0', '-1', '1.5', 'x', '2147483648', '1e99', '1e400', 'NaN']) {
    const response = await detail(id)
    t.equal(response.statusCode, 400, id)
    t.match(response.json(), { dettagli: [{ campo: 'id' }] })
  }
})

t.test('the guests are returned in the order of their list, with the contract\'s fields', async (t) => {
  const { id } = await create(call, { numero_ospiti: 12 })
  await saveGuests(
    call,
    id,
    guests(12, {
      sesso: 'F',
      data_nascita: '1985-04-12',
      tipo_documento: 'IDELE',
      numero_documento: 'CA00000AA',
      cittadinanza: '100000100'
    })
  )
  const { ospiti } = await read(call, id)
  t.same(ospiti.map(({ nome }) => nome), guests(12).map(({ nome }) => nome))
  const [first] = ospiti
  t.same(
    { ...first, id: 0 },
    {
      id: 0,
      nome: 'Nome 0',
      cognome: 'Prova',
      sesso: 'F',
      data_nascita: '1985-04-12',
      tipo_documento: 'IDELE',
      numero_documento: 'CA00000AA'
    }
  )
})

t.test('a booking shows only its own guests', async (t) => {
  const [one, other] = [await create(call), await create(call)]
  await saveGuests(call, one.id, guests(2, { cognome: 'Uno' }))
  await saveGuests(call, other.id, guests(1, { cognome: 'Altro' }))
  t.same((await read(call, other.id)).ospiti.map(({ cognome }) => cognome), ['Altro'])
})

t.test('the ETag is stable until a change', async (t) => {
  const { id } = await create(call)
  t.equal(await tagOf(id), await tagOf(id))
})

t.test('the ETag changes with the booking and with its guests', async (t) => {
  const { id } = await create(call)
  const tags = [await tagOf(id)]
  await call('PUT', `${BOOKINGS}/${id}`, { lingua: 'EN' })
  tags.push(await tagOf(id))
  await saveGuests(call, id, guests(2))
  tags.push(await tagOf(id))
  await saveGuests(call, id, guests(1))
  tags.push(await tagOf(id))
  t.equal(new Set(tags).size, 4)
})

t.test('If-None-Match with the current tag is answered with 304, without a body', async (t) => {
  const { id } = await create(call)
  const tag = await tagOf(id)
  for (const header of [tag, `W/${tag}`, `"x", ${tag}`, `"x",W/${tag} , "y"`, '*']) {
    const response = await detail(id, { 'if-none-match': header })
    t.equal(response.statusCode, 304, header)
    t.equal(response.body, '')
    t.equal(response.headers.etag, tag)
  }
})

t.test('If-None-Match with another tag is answered with the booking', async (t) => {
  const { id } = await create(call)
  const tag = await tagOf(id)
  await saveGuests(call, id, guests(1))
  for (const header of [tag, '"x"', '', `${tag}x`, 'W/']) {
    t.equal((await detail(id, { 'if-none-match': header })).statusCode, 200, header)
  }
})

t.test('caches may not store a booking', async (t) => {
  const { id } = await create(call)
  t.equal((await detail(id)).headers['cache-control'], 'no-store')
})

/* The schema, not the table, decides which columns of a booking a client sees. */

t.test('the JSON written by PostgreSQL has exactly the fields of the schemas', async (t) => {
  const { id, check_out } = await create(call)
  const [first, second] = guests(2)
  await saveGuests(call, id, [first!, { ...second!, partenza: check_out }])
  const columns = { json: asJson(bookingColumns), ospiti: detailColumns.ospiti }
  const [row] = await app.db.select(columns).from(prenotazioni).where(eq(prenotazioni.id, id))
  t.same(Object.keys(JSON.parse(row!.json)), fieldNames(Booking))
  t.equal(row!.ospiti.length, 2)
  const [plain, own] = row!.ospiti
  t.same(Object.keys(own!), fieldNames(Guest))
  t.same(Object.keys(plain!), fieldNames(Guest).slice(0, -2), 'a guest without own days')
  for (const query of ['', '?limit=1', '?sort=-check_in', '?sort=updated_at&limit=1000']) {
    const shown = await list(call, query)
    t.ok(shown.length > 0)
    for (const each of shown) t.same(Object.keys(each), fieldNames(Booking), query)
  }
  t.same(Object.keys(await read(call, id)), fieldNames(BookingDetail))
})

t.test('at least 249 countries are listed, with unique names and ISO codes, in the order of their names', async (t) => {
  const response = await call('GET', '/api/v1/paesi')
  t.equal(response.statusCode, 200)
  const countries = response.json<{ data: Country[] }>().data
  t.same(countries.find(({ id }) => id === 380), { id: 380, nome: 'Italia', iso2: 'IT', iso3: 'ITA' })
  const known = { Francia: 250, Germania: 276, Spagna: 724, Svizzera: 756, Afghanistan: 4, 'San Marino': 674 }
  for (const [nome, id] of Object.entries(known)) {
    t.equal(countries.find((country) => country.nome === nome)?.id, id, nome)
  }
  t.ok(countries.length >= 249)
  for (const name of ['id', 'nome', 'iso2', 'iso3'] as const) {
    t.equal(new Set(countries.map((country) => country[name])).size, countries.length, name)
  }
  t.ok(countries.every(({ id, nome, iso2, iso3 }) =>
    id >= 1 && id <= 999 && nome !== '' && /^[A-Z]{2}$/.test(iso2) && /^[A-Z]{3}$/.test(iso3)))
  const names = countries.map(({ nome }) => nome)
  t.same(names, [...names].sort(new Intl.Collator('it').compare))
})
