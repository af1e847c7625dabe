import t from 'tap'
import { GuestFields, type GuestInput } from '#schemas/guest.ts'
import { build } from '#test/helper.ts'
import { create, fieldsAtFault, guests, read, saveGuests } from './samples.ts'

const { app, call } = await build(t)

const full: Required<GuestInput> = {
  nome: 'Anna',
  cognome: 'Bianchi',
  sesso: 'F',
  data_nascita: '1985-04-12',
  luogo_nascita: 'Roma',
  cittadinanza: '100000100',
  tipo_documento: 'IDELE',
  numero_documento: 'CA00000AA',
  luogo_rilascio: '412058091',
  tipo_alloggiato: '16',
  comune_nascita: '412058091',
  provincia_nascita: 'RM',
  stato_nascita: '100000100'
}

/** A booking for so many guests, with this list saved. */
async function bookingWith (numero_ospiti: number, dati: object[]): Promise<number> {
  const { id } = await create(call, { numero_ospiti })
  const { statusCode, body } = await saveGuests(call, id, dati)
  if (statusCode !== 200) throw new Error(body)
  return id
}

/** The stored rows, with all their fields, in the order of the list. */
const rows = async (id: number) => [
  ...(await app.sql`select * from ospiti where prenotazione_id = ${id} order by indice`)
]
const rowIds = async (id: number) => (await rows(id)).map((row) => Number(row.id))

t.test('the answer counts the guests saved', async (t) => {
  const { id } = await create(call, { numero_ospiti: 3 })
  t.same((await saveGuests(call, id, guests(1))).json(), { message: '1 ospite salvato', count: 1, status: 200 })
  t.same((await saveGuests(call, id, guests(3))).json(), { message: '3 ospiti salvati', count: 3, status: 200 })
  t.same((await saveGuests(call, id, [])).json(), { message: '0 ospiti salvati', count: 0, status: 200 })
})

t.test('every field is stored as it was given', async (t) => {
  const id = await bookingWith(1, [full])
  const [row] = await rows(id)
  t.match(row, full)
})

t.test('the list is complete and in order: item i is guest i', async (t) => {
  const id = await bookingWith(12, guests(12))
  t.same((await rows(id)).map(({ indice, nome }) => [indice, nome]), guests(12).map(({ nome }, index) => [index, nome]))
})

t.test('a guest keeps its id when the list is saved again, and takes the new values', async (t) => {
  const id = await bookingWith(3, guests(2, full))
  const before = await rowIds(id)
  await saveGuests(call, id, [
    { nome: 'Bruno', cognome: 'Rossi' },
    { ...full, nome: 'Carla' },
    { nome: 'Dario', cognome: 'Neri' }
  ])
  const after = await rowIds(id)
  t.same(after.slice(0, 2), before)
  t.equal(after.length, 3)
  const [bruno, carla] = await rows(id)
  t.match(
    bruno,
    { nome: 'Bruno', cognome: 'Rossi', sesso: null, data_nascita: null, cittadinanza: null, luogo_rilascio: null },
    'nothing of the old guest is left'
  )
  t.match(carla, { ...full, nome: 'Carla' })
})

t.test('rows past the end of the list are removed', async (t) => {
  const id = await bookingWith(4, guests(4))
  const before = await rowIds(id)
  await saveGuests(call, id, guests(2))
  t.same(await rowIds(id), before.slice(0, 2))
  await saveGuests(call, id, [])
  t.same(await rowIds(id), [])
})

t.test('other bookings keep their guests', async (t) => {
  const [one, other] = [await bookingWith(2, guests(2)), await bookingWith(2, guests(2))]
  const before = await rows(other)
  await saveGuests(call, one, [])
  t.same(await rows(other), before)
})

t.test('more guests than numero_ospiti is a 400 that names dati, and nothing changes', async (t) => {
  const id = await bookingWith(2, guests(2))
  const before = await read(call, id)
  t.same(fieldsAtFault(await saveGuests(call, id, guests(3, { cognome: 'Altro' }))), ['dati'])
  t.same(await read(call, id), before)
})

t.test('only nome and cognome are required, and neither may be blank', async (t) => {
  const id = await bookingWith(1, [{ nome: 'Anna', cognome: 'Bianchi' }])
  t.same(fieldsAtFault(await saveGuests(call, id, [{ nome: 'Anna' }])), ['dati[0].cognome'])
  t.same(fieldsAtFault(await saveGuests(call, id, [{ cognome: 'Bianchi' }])), ['dati[0].nome'])
  for (const wrong of ['', '  ', null, 1, 'a\u0000', 'a'.repeat(101)]) {
    t.same(
      fieldsAtFault(await saveGuests(call, id, [{ nome: wrong, cognome: 'Bianchi' }])),
      ['dati[0].nome'],
      JSON.stringify(wrong)
    )
    t.same(
      fieldsAtFault(await saveGuests(call, id, [{ nome: 'Anna', cognome: wrong }])),
      ['dati[0].cognome'],
      JSON.stringify(wrong)
    )
  }
})

t.test('a field that is absent, null or empty is not known: null', async (t) => {
  const optional = GuestFields.filter((name) => name !== 'nome' && name !== 'cognome')
  const blank = (value: '' | null) => ({
    nome: 'Anna',
    cognome: 'Bianchi',
    ...Object.fromEntries(optional.map((name) => [name, value]))
  })
  const id = await bookingWith(3, [{ nome: 'Anna', cognome: 'Bianchi' }, blank(''), blank(null)])
  for (const row of await rows(id)) {
    for (const name of optional) t.equal(row[name], null, name)
  }
})

t.test('a missing booking is a 404, with guests or without', async (t) => {
  for (const dati of [guests(1), []]) {
    const response = await saveGuests(call, 2_000_000, dati)
    t.equal(response.statusCode, 404)
    t.match(response.json(), { error: 'Prenotazione non trovata', status: 404 })
  }
})

t.test('an unknown field is a 400 that names it by its place', async (t) => {
  const id = await bookingWith(2, guests(2))
  t.same(fieldsAtFault(await saveGuests(call, id, [{ nome: 'Anna', cognome: 'Bianchi', x: 1 }])), ['dati[0].x'])
  t.same(fieldsAtFault(await saveGuests(call, id, [...guests(1), { nome: 'Anna', cognome: 'Bianchi', id: 1 }])), [
    'dati[1].id'
  ])
  t.same(fieldsAtFault(await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [], ospiti: [] })), [
    'ospiti'
  ])
  t.equal((await rowIds(id)).length, 2)
})

t.test('values are of their kind, and days are days of the calendar', async (t) => {
  const id = await bookingWith(2, guests(2))
  const wrong = {
    sesso: ['m', 'X', 1],
    data_nascita: ['2026-02-30', '1985-4-12', 19850412],
    cittadinanza: [100000100, 'x'.repeat(21)],
    provincia_nascita: ['ROM'],
    tipo_documento: ['a\tb']
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      t.same(
        fieldsAtFault(await saveGuests(call, id, [{ ...full, [name]: value }])),
        [`dati[0].${name}`],
        `${name} ${value}`
      )
    }
  }
})

t.test('the body names its booking and holds the list', async (t) => {
  const { id } = await create(call)
  for (const [body, field] of [
    [{ dati: [] }, 'prenotazione_id'],
    [{ prenotazione_id: id }, 'dati'],
    [{ prenotazione_id: String(id), dati: [] }, 'prenotazione_id'],
    [{ prenotazione_id: id, dati: {} }, 'dati']
  ] as const) {
    t.same(fieldsAtFault(await call('POST', '/api/saveOspiti', body)), [field])
  }
})
