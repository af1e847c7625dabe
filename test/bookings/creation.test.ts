import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { API_KEY, build } from '#test/helper.ts'
import { BOOKINGS, booking, create, fieldsAtFault, list, read } from './samples.ts'

const { app, call } = await build(t)

/** The fields at fault of a creation with these changes. */
async function refused (changes: Record<string, unknown>) {
  return fieldsAtFault(await call('POST', BOOKINGS, booking(changes)))
}

t.test('a new booking answers 201 with its address and its entity tag', async (t) => {
  const response = await call('POST', BOOKINGS, booking())
  const { data, status } = response.json<{ data: Booking, status: number }>()
  t.equal(response.statusCode, 201)
  t.equal(status, 201)
  t.equal(response.headers.location, `${BOOKINGS}/${data.id}`)
  const shown = await call('GET', String(response.headers.location))
  t.equal(shown.headers.etag, response.headers.etag)
  t.match(response.headers.etag, /^"\d+"$/)
})

t.test('a booking reads back as it was created', async (t) => {
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

t.test('optional fields that are absent come back as null', async (t) => {
  t.match(await create(call), { email: null, telefono: null, idf_gen: null })
})

t.test('optional fields may be given as null', async (t) => {
  t.match(await create(call, { email: null, telefono: null, idf_gen: null }), {
    email: null,
    telefono: null,
    idf_gen: null
  })
})

t.test('created_at and updated_at are the same instant, in UTC with a Z', async (t) => {
  const { created_at, updated_at } = await create(call)
  t.equal(new Date(created_at).toISOString(), created_at)
  t.equal(updated_at, created_at)
})

t.test('check_out wins over numero_notti', async (t) => {
  t.match(await create(call, { check_out: '2026-11-30', numero_notti: 2 }), {
    check_in: '2026-11-21',
    check_out: '2026-11-30',
    numero_notti: 9
  })
})

t.test('numero_notti alone gives the departure, over the change of clocks too', async (t) => {
  t.match(await create(call, { check_in: '2026-10-24', numero_notti: 2 }), { check_out: '2026-10-26', numero_notti: 2 })
})

t.test('the nights are computed from the two days', async (t) => {
  t.match(await create(call, { check_in: '2024-02-28', check_out: '2024-03-01', numero_notti: undefined }), {
    numero_notti: 2
  })
})

t.test('neither check_out nor numero_notti is a 400 that names both', async (t) => {
  t.same(await refused({ numero_notti: undefined }), ['check_out', 'numero_notti'])
})

t.test('a departure that is not after the arrival is a 400 that names check_out', async (t) => {
  t.same(await refused({ check_out: '2026-11-21' }), ['check_out'])
  t.same(await refused({ check_out: '2026-11-20' }), ['check_out'])
})

t.test('a stay that leaves the calendar is a 400 that names numero_notti', async (t) => {
  t.same(await refused({ check_in: '9999-12-30', numero_notti: 2 }), ['numero_notti'])
  t.match(await create(call, { check_in: '9999-12-30', numero_notti: 1 }), { check_out: '9999-12-31' })
})

t.test('no stay is longer than numero_notti may be, whichever way it is given', async (t) => {
  t.same(await refused({ numero_notti: 36_501 }), ['numero_notti'])
  t.same(await refused({ check_in: '2026-01-01', check_out: '2126-01-01' }), ['check_out'])
  t.match(await create(call, { check_in: '2026-01-01', check_out: '2125-12-08' }), { numero_notti: 36_500 })
})

t.test('a day that the calendar does not have is a 400 that names the field', async (t) => {
  for (const day of [
    '2026-02-30',
    '2025-02-29',
    '2026-13-01',
    '2026-00-10',
    '0000-01-01',
    '2026-2-3',
    '2026-11-21T00:00:00Z',
    ''
  ]) {
    t.same(await refused({ check_in: day }), ['check_in'], `check_in ${day}`)
    t.same(await refused({ check_out: day }), ['check_out'], `check_out ${day}`)
  }
})

t.test('an unknown field is a 400 that names it, and nothing is stored', async (t) => {
  const before = (await list(call)).length
  for (const name of ['note', 'id', 'created_at', 'ospiti', 'versione', 'nome_Cognome']) {
    t.same(await refused({ [name]: 1 }), [name])
  }
  t.equal((await list(call)).length, before)
})

t.test('each required field that is missing is a 400 that names it', async (t) => {
  for (const name of ['nome_cognome', 'lingua', 'paese_id', 'check_in', 'numero_ospiti']) {
    t.same(await refused({ [name]: undefined }), [name])
  }
})

t.test('values are taken literally: nothing is coerced', async (t) => {
  const wrong: [string, unknown][] = [
    ['paese_id', '380'],
    ['paese_id', null],
    ['paese_id', true],
    ['paese_id', 380.5],
    ['paese_id', [380]],
    ['numero_notti', '3'],
    ['numero_notti', null],
    ['numero_ospiti', '1'],
    ['numero_ospiti', true],
    ['nome_cognome', 12],
    ['nome_cognome', null],
    ['nome_cognome', ['Anna']],
    ['lingua', false],
    ['email', 1],
    ['telefono', 39055],
    ['check_in', 20261121],
    ['check_in', null],
    ['check_out', null],
    ['idf_gen', 4711]
  ]
  for (const [name, value] of wrong) {
    t.same(await refused({ [name]: value }), [name], `${name} ${JSON.stringify(value)}`)
  }
})

t.test('numbers below one or beyond their column are a 400 that names the field', async (t) => {
  for (const value of [0, -1, 2_147_483_648, 1e300]) {
    for (const name of ['paese_id', 'numero_notti', 'numero_ospiti']) {
      t.same(await refused({ [name]: value }), [name], `${name} ${value}`)
    }
  }
})

t.test('any positive paese_id is accepted', async (t) => {
  for (const paese_id of [1, 999, 2_147_483_647]) t.match(await create(call, { paese_id }), { paese_id })
})

t.test('texts are bounded, a name is not blank, and control characters are refused', async (t) => {
  for (const nome_cognome of ['', '   ', 'a'.repeat(201), 'Anna\u0000', 'Anna\nBianchi', '\u007f']) {
    t.same(await refused({ nome_cognome }), ['nome_cognome'])
  }
  t.match(await create(call, { nome_cognome: '🧳'.repeat(200) }), { nome_cognome: '🧳'.repeat(200) })
  t.same(await refused({ telefono: '1'.repeat(51) }), ['telefono'])
  t.same(await refused({ idf_gen: 'x'.repeat(101) }), ['idf_gen'])
  t.same(await refused({ email: 'non una e-mail' }), ['email'])
})

t.test('lingua is two upper-case letters', async (t) => {
  for (const lingua of ['it', 'ITA', 'I', '', 'I1', 'IT\n']) {
    t.same(await refused({ lingua }), ['lingua'], JSON.stringify(lingua))
  }
})

t.test('a body that is not a JSON object is a 400', async (t) => {
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
