import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, guests, read, saveGuests } from './samples.ts'

const { call } = await build(t)

const put = (id: number, change: object, ifMatch?: string) =>
  call('PUT', `${BOOKINGS}/${id}`, change, ifMatch === undefined ? {} : { 'if-match': ifMatch })

/** The booking after a change that succeeds. */
async function changed (id: number, change: object): Promise<Booking> {
  return (await put(id, change)).json<{ data: Booking }>().data
}

t.test('a change answers 200 with the booking and its new entity tag', async (t) => {
  const { id } = await create(call)
  const before = await call('GET', `${BOOKINGS}/${id}`)
  const response = await put(id, { lingua: 'DE' })
  const { data, status } = response.json<{ data: Booking, status: number }>()
  t.equal(response.statusCode, 200)
  t.equal(status, 200)
  const { ospiti: _, ...stored } = await read(call, id)
  t.same(data, stored)
  t.not(response.headers.etag, before.headers.etag)
  t.equal(response.headers.etag, (await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
})

t.test('only the fields that are present change', async (t) => {
  const before = await create(call, { email: 'anna@example.com', telefono: '055 1', idf_gen: 'BK-1' })
  const changes = {
    nome_cognome: 'Carla Verdi',
    lingua: 'FR',
    email: 'carla@example.com',
    telefono: '055 2',
    paese_id: 250,
    numero_ospiti: 4,
    idf_gen: 'BK-2'
  }
  let expected = before
  for (const [name, value] of Object.entries(changes)) {
    const { updated_at, ...after } = await changed(before.id, { [name]: value })
    expected = { ...expected, [name]: value, updated_at }
    t.same({ ...after, updated_at }, expected, name)
  }
  t.ok(expected.updated_at >= before.updated_at)
  t.equal(expected.created_at, before.created_at)
})

t.test('an optional field is emptied with null', async (t) => {
  const { id } = await create(call, { email: 'anna@example.com', telefono: '055 1', idf_gen: 'BK-1' })
  t.match(await changed(id, { email: null, idf_gen: null }), { email: null, telefono: '055 1', idf_gen: null })
})

t.test('check_out given wins over numero_notti', async (t) => {
  const { id } = await create(call)
  t.match(await changed(id, { check_out: '2026-11-30', numero_notti: 1 }), {
    check_in: '2026-11-21',
    check_out: '2026-11-30',
    numero_notti: 9
  })
})

t.test('numero_notti alone moves the departure', async (t) => {
  const { id } = await create(call)
  t.match(await changed(id, { numero_notti: 10 }), {
    check_in: '2026-11-21',
    check_out: '2026-12-01',
    numero_notti: 10
  })
})

t.test('check_in alone keeps the departure and recomputes the nights', async (t) => {
  const { id } = await create(call)
  t.match(await changed(id, { check_in: '2026-11-23' }), {
    check_in: '2026-11-23',
    check_out: '2026-11-24',
    numero_notti: 1
  })
})

t.test('check_in and numero_notti together move the whole stay', async (t) => {
  const { id } = await create(call)
  t.match(await changed(id, { check_in: '2027-01-01', numero_notti: 2 }), {
    check_in: '2027-01-01',
    check_out: '2027-01-03',
    numero_notti: 2
  })
})

t.test(
  'a departure that would not be after the arrival is a 400 that names the field given, and nothing changes',
  async (t) => {
    const { id } = await create(call)
    const before = await read(call, id)
    t.same(fieldsAtFault(await put(id, { check_in: '2026-11-24' })), ['check_in'])
    t.same(fieldsAtFault(await put(id, { check_in: '2026-11-25', lingua: 'EN' })), ['check_in'])
    t.same(fieldsAtFault(await put(id, { check_out: '2026-11-21' })), ['check_out'])
    t.same(fieldsAtFault(await put(id, { check_in: '2026-12-01', check_out: '2026-11-30' })), ['check_out'])
    t.same(fieldsAtFault(await put(id, { check_in: '1900-01-01' })), ['check_in'])
    t.same(await read(call, id), before)
  }
)

t.test('a whole booking can be sent back, and its read-only fields are ignored', async (t) => {
  const { id } = await create(call)
  await saveGuests(call, id, guests(2))
  const whole = await read(call, id)
  const after = await changed(id, {
    ...whole,
    id: id + 1000,
    ospiti: [],
    created_at: '1999-01-01T00:00:00.000Z',
    nome_cognome: 'Carla Verdi'
  })
  t.match(after, {
    id,
    nome_cognome: 'Carla Verdi',
    created_at: whole.created_at,
    check_in: whole.check_in,
    numero_notti: 3
  })
  t.same((await read(call, id)).ospiti, whole.ospiti)
})

t.test('any other unknown field is a 400 that names it', async (t) => {
  const { id } = await create(call)
  for (const name of ['note', 'versione', 'guests']) {
    t.same(fieldsAtFault(await put(id, { lingua: 'EN', [name]: 1 })), [name])
  }
  t.equal((await read(call, id)).lingua, 'IT')
})

t.test('values are taken literally, as on creation', async (t) => {
  const { id } = await create(call)
  for (const [name, value] of [
    ['numero_ospiti', '1'],
    ['paese_id', null],
    ['check_out', '2026-02-30'],
    ['numero_notti', 0],
    ['nome_cognome', ' '],
    ['lingua', 'it']
  ] as const) {
    t.same(fieldsAtFault(await put(id, { [name]: value })), [name])
  }
})

t.test('an empty body, or one of read-only fields alone, changes nothing', async (t) => {
  const { id } = await create(call)
  const before = await call('GET', `${BOOKINGS}/${id}`)
  for (const body of [{}, { id, created_at: 'x', updated_at: null, ospiti: 'x' }]) {
    const response = await put(id, body)
    t.equal(response.statusCode, 200)
    t.equal(response.headers.etag, before.headers.etag)
    t.same(await read(call, id), before.json<{ data: Booking }>().data)
  }
})

t.test('a missing booking is a 404, whatever the version asked for', async (t) => {
  for (const response of [
    await put(2_000_000, { lingua: 'EN' }),
    await put(2_000_000, {}),
    await put(2_000_000, { lingua: 'EN' }, '"1"')
  ]) {
    t.equal(response.statusCode, 404)
    t.match(response.json(), { error: 'Prenotazione non trovata', status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  }
})

t.test('If-Match lets a change through only on a version that it names', async (t) => {
  const { id } = await create(call)
  const etag = String((await put(id, { lingua: 'EN' })).headers.etag)
  const stale = '"1"'
  t.not(etag, stale)
  for (const header of [
    stale,
    `W/${etag}`,
    `"x${etag.slice(1)}`,
    etag.replaceAll('"', ''),
    '""',
    '',
    `${stale}, W/${etag}`,
    `*, ${stale}`
  ]) {
    const response = await put(id, { lingua: 'DE' }, header)
    t.equal(response.statusCode, 412, header)
    t.match(response.json(), { status: 412, codice: 'PRENOTAZIONE_MODIFICATA' })
  }
  t.equal((await read(call, id)).lingua, 'EN')
})

t.test('If-Match takes the present version, alone or in a list, and * for any', async (t) => {
  const { id } = await create(call)
  for (const header of [(etag: string) => etag, (etag: string) => ` "7", ${etag} , W/"8"`, () => '*']) {
    const etag = String((await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
    t.equal((await put(id, { lingua: 'DE' }, header(etag))).statusCode, 200)
  }
})
