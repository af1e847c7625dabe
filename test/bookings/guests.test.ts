import t from 'tap'
import { GuestFields, type GuestInput } from '#schemas/guest.ts'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, guests, list, read, saveGuests } from './samples.ts'

const { app, call } = await build(t)

const erase = (...ids: unknown[]) => call('POST', `${BOOKINGS}/delete-bulk`, { ids })

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
  stato_nascita: '100000100',
  arrivo: '2026-11-21',
  partenza: '2026-11-24'
}

/** Creates a booking for this number of guests, and saves this list. */
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

t.test('the response has the number of saved guests', async (t) => {
  const { id } = await create(call, { numero_ospiti: 3 })
  t.same((await saveGuests(call, id, guests(1))).json(), { message: '1 ospite salvato', count: 1, status: 200 })
  t.same((await saveGuests(call, id, guests(3))).json(), { message: '3 ospiti salvati', count: 3, status: 200 })
  t.same((await saveGuests(call, id, [])).json(), { message: '0 ospiti salvati', count: 0, status: 200 })
})

t.test('every field is stored as given', async (t) => {
  const id = await bookingWith(1, [full])
  const [row] = await rows(id)
  t.match(row, full)
})

t.test('the list is complete and in order: item i is guest i', async (t) => {
  const id = await bookingWith(12, guests(12))
  t.same((await rows(id)).map(({ indice, nome }) => [indice, nome]), guests(12).map(({ nome }, index) => [index, nome]))
})

t.test('a guest keeps its id when the list is saved again, and gets the new values', async (t) => {
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

t.test('the guests of other bookings do not change', async (t) => {
  const [one, other] = [await bookingWith(2, guests(2)), await bookingWith(2, guests(2))]
  const before = await rows(other)
  await saveGuests(call, one, [])
  t.same(await rows(other), before)
})

t.test('more guests than numero_ospiti are refused with a 400 for dati, and the list is unchanged', async (t) => {
  const id = await bookingWith(2, guests(2))
  const before = await read(call, id)
  t.same(fieldsAtFault(await saveGuests(call, id, guests(3, { cognome: 'Altro' }))), ['dati'])
  t.same(await read(call, id), before)
})

t.test('only cognome is required and must not be blank, because passports with one name exist', async (t) => {
  const id = await bookingWith(1, [{ nome: 'Anna', cognome: 'Bianchi' }])
  t.same(fieldsAtFault(await saveGuests(call, id, [{ nome: 'Anna' }])), ['dati[0].cognome'])
  for (const nome of [undefined, '', '  ', null]) {
    t.equal((await saveGuests(call, id, [{ nome, cognome: 'Bianchi' }])).statusCode, 200, JSON.stringify(nome))
    t.match((await read(call, id)).ospiti, [{ nome: '', cognome: 'Bianchi' }])
  }
  for (const wrong of [1, 'a\u0000', 'a'.repeat(101)]) {
    t.same(fieldsAtFault(await saveGuests(call, id, [{ nome: wrong, cognome: 'Bianchi' }])), ['dati[0].nome'])
  }
  for (const wrong of ['', '  ', null, 1, 'a\u0000', 'a'.repeat(101)]) {
    t.same(
      fieldsAtFault(await saveGuests(call, id, [{ nome: 'Anna', cognome: wrong }])),
      ['dati[0].cognome'],
      JSON.stringify(wrong)
    )
  }
})

t.test('a field that is missing, null or empty is stored as null', async (t) => {
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

t.test('a missing booking is answered with a 404, with guests or without', async (t) => {
  for (const dati of [guests(1), []]) {
    const response = await saveGuests(call, 2_000_000, dati)
    t.equal(response.statusCode, 404)
    t.match(response.json(), { error: 'Prenotazione non trovata', status: 404 })
  }
})

t.test('an unknown field is answered with a 400 that names it and its place', async (t) => {
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

t.test('values are checked by type, and days must exist in the calendar', async (t) => {
  const id = await bookingWith(2, guests(2))
  const wrong = {
    sesso: ['Q', 1],
    data_nascita: ['2026-02-30', '1985-4-12', 19850412],
    cittadinanza: [100000100, 'x'.repeat(101)],
    provincia_nascita: ['x'.repeat(101)],
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

t.test('the body contains the booking\'s id and the list', async (t) => {
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

interface ErasureResponse { message: string, deleted: number[], status: number }

async function some (count: number): Promise<number[]> {
  const ids: number[] = []
  for (let index = 0; index < count; index++) ids.push((await create(call)).id)
  return ids
}

async function existing (ids: readonly number[]): Promise<number[]> {
  return (await list(call)).map(({ id }) => id).filter((id) => ids.includes(id))
}

/** Inserts a police submission for a booking. The triggers are disabled, so that every state is possible. */
async function submission (prenotazione_id: number, stato: string): Promise<void> {
  await app.sql.begin(async (sql) => {
    await sql`
      insert into invii (
        ricevuta, utente, operatore, metodo, prenotazione_id, data_arrivo, permanenza, scadenza, stato, lease_fino_al
      ) values (
        ${`AW-20261121-${prenotazione_id}`}, ${`RM${prenotazione_id}`}, 'prova', 'Send', ${prenotazione_id},
        '2026-11-21', 3, now(), 'pronto', now() + interval '1 hour'
      )`
    await sql`
      insert into invii_schedine (invio_id, indice, capo, utente, prenotazione_id, permanenza, impronta_identita,
        impronta_persona, esito)
      select id, 0, 0, utente, prenotazione_id, 3, sha256(ricevuta::bytea), sha256(ricevuta::bytea), 'in_corso'
      from invii where prenotazione_id = ${prenotazione_id}`
    await sql`alter table invii disable trigger user`
    await sql`update invii set stato = ${stato} where prenotazione_id = ${prenotazione_id}`
    await sql`alter table invii enable trigger user`
  })
}

t.test('exactly the named bookings are deleted', async (t) => {
  const ids = await some(3)
  const [first, , last] = ids
  const response = await erase(last, first)
  t.equal(response.statusCode, 200)
  t.same(response.json(), { message: '2 prenotazioni eliminate', deleted: [first, last], status: 200 })
  t.same(await existing(ids), [ids[1]])
  t.equal((await call('GET', `${BOOKINGS}/${first}`)).statusCode, 404)
})

t.test('`deleted` lists only the ids that existed, each once', async (t) => {
  const [id] = await some(1)
  t.same((await erase(id, 2_000_000, id, 2_147_483_647)).json<ErasureResponse>().deleted, [id])
  t.same((await erase(id)).json(), { message: '0 prenotazioni eliminate', deleted: [], status: 200 })
})

t.test('an empty list deletes no booking', async (t) => {
  const before = (await list(call)).length
  const response = await erase()
  t.equal(response.statusCode, 200)
  t.same(response.json(), { message: '0 prenotazioni eliminate', deleted: [], status: 200 })
  t.equal((await list(call)).length, before)
})

t.test('the guests are deleted with their booking', async (t) => {
  const [gone, kept] = await some(2)
  await saveGuests(call, Number(gone), guests(2))
  await saveGuests(call, Number(kept), guests(1))
  await erase(gone)
  const rows =
    await app.sql`select prenotazione_id from ospiti where prenotazione_id in ${app.sql([Number(gone), Number(kept)])}`
  t.same(rows.map((row) => row.prenotazione_id), [kept])
})

for (const stato of ['pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare']) {
  t.test(`a booking whose submission is ${stato} is refused with 409, and no booking is deleted`, async (t) => {
    const ids = await some(3)
    await saveGuests(call, Number(ids[0]), guests(1))
    await submission(Number(ids[1]), stato)
    const response = await erase(...ids)
    t.equal(response.statusCode, 409)
    t.match(response.json(), { status: 409, codice: 'INVIO_IN_CORSO', error: new RegExp(`\\b${ids[1]}\\b`) })
    t.same(await existing(ids), ids)
    const [count] = await app.sql`select count(*)::int as ospiti from ospiti where prenotazione_id = ${Number(ids[0])}`
    t.equal(count?.ospiti, 1)
  })
}

t.test('a booking whose submission has ended is deleted, and the submission\'s record is kept', async (t) => {
  const closed =
    ['acquisito', 'parziale', 'rifiutato', 'non_inviato', 'ricevuto', 'depositato_altrove', 'annullato']
  for (const stato of closed) {
    const [id] = await some(1)
    await submission(Number(id), stato)
    t.same((await erase(id)).json<ErasureResponse>().deleted, [id], stato)
    t.equal((await app.sql`select stato from invii where prenotazione_id = ${Number(id)}`)[0]?.stato, stato)
  }
})

t.test('an open submission of another booking does not prevent the deletion', async (t) => {
  const [open, other] = await some(2)
  await submission(Number(open), 'sconosciuto')
  t.same((await erase(other)).json<ErasureResponse>().deleted, [other])
})

t.test('ids are positive integers in a list of at most 10,000', async (t) => {
  const [id] = await some(1)
  t.same(fieldsAtFault(await call('POST', `${BOOKINGS}/delete-bulk`, {})), ['ids'])
  t.same(fieldsAtFault(await call('POST', `${BOOKINGS}/delete-bulk`, { ids: id })), ['ids'])
  for (const wrong of ['1', 0, -1, 1.5, null, 2_147_483_648]) {
    t.same(fieldsAtFault(await erase(id, wrong)), ['ids[1]'], String(wrong))
  }
  t.same(fieldsAtFault(await erase(...Array.from({ length: 10_001 }, (_, index) => index + 1_000_000))), ['ids'])
  t.same(fieldsAtFault(await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [id], tutte: true })), ['tutte'])
  t.same(await existing([Number(id)]), [id])
  t.equal((await erase(...Array.from({ length: 10_000 }, (_, index) => index + 1_000_000))).statusCode, 200)
})
