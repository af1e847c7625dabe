import t from 'tap'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, guests, list, saveGuests } from './samples.ts'

interface Answer { message: string, deleted: number[], status: number }

const { app, call } = await build(t)
const erase = (ids: unknown) => call('POST', `${BOOKINGS}/delete-bulk`, { ids })

async function some (count: number): Promise<number[]> {
  const ids: number[] = []
  for (let index = 0; index < count; index++) ids.push((await create(call)).id)
  return ids
}

async function existing (ids: readonly number[]): Promise<number[]> {
  return (await list(call)).map(({ id }) => id).filter((id) => ids.includes(id))
}

/** A submission of the police ledger for a booking, put into its state past the triggers that guard the way there. */
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

t.test('the bookings named go, and no others', async (t) => {
  const ids = await some(3)
  const [first, , last] = ids
  const response = await erase([last, first])
  t.equal(response.statusCode, 200)
  t.same(response.json(), { message: '2 prenotazioni eliminate', deleted: [first, last], status: 200 })
  t.same(await existing(ids), [ids[1]])
  t.equal((await call('GET', `${BOOKINGS}/${first}`)).statusCode, 404)
})

t.test('deleted holds only the ids that existed, each once', async (t) => {
  const [id] = await some(1)
  t.same((await erase([id, 2_000_000, id, 2_147_483_647])).json<Answer>().deleted, [id])
  t.same((await erase([id])).json(), { message: '0 prenotazioni eliminate', deleted: [], status: 200 })
})

t.test('an empty list deletes nothing', async (t) => {
  const before = (await list(call)).length
  const response = await erase([])
  t.equal(response.statusCode, 200)
  t.same(response.json(), { message: '0 prenotazioni eliminate', deleted: [], status: 200 })
  t.equal((await list(call)).length, before)
})

t.test('the guests go with their booking', async (t) => {
  const [gone, kept] = await some(2)
  await saveGuests(call, Number(gone), guests(2))
  await saveGuests(call, Number(kept), guests(1))
  await erase([gone])
  const rows =
    await app.sql`select prenotazione_id from ospiti where prenotazione_id in ${app.sql([Number(gone), Number(kept)])}`
  t.same(rows.map((row) => row.prenotazione_id), [kept])
})

for (const stato of ['pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare']) {
  t.test(`a booking whose submission is ${stato} is refused with 409, and nothing is deleted`, async (t) => {
    const ids = await some(3)
    await saveGuests(call, Number(ids[0]), guests(1))
    await submission(Number(ids[1]), stato)
    const response = await erase(ids)
    t.equal(response.statusCode, 409)
    t.match(response.json(), { status: 409, codice: 'INVIO_IN_CORSO', error: new RegExp(`\\b${ids[1]}\\b`) })
    t.same(await existing(ids), ids)
    const [count] = await app.sql`select count(*)::int as ospiti from ospiti where prenotazione_id = ${Number(ids[0])}`
    t.equal(count?.ospiti, 1)
  })
}

t.test('a booking whose submission is closed goes, and its record in the ledger stays', async (t) => {
  for (const stato of [
    'acquisito',
    'parziale',
    'rifiutato',
    'non_inviato',
    'ricevuto',
    'depositato_altrove',
    'annullato'
  ]) {
    const [id] = await some(1)
    await submission(Number(id), stato)
    t.same((await erase([id])).json<Answer>().deleted, [id], stato)
    t.equal((await app.sql`select stato from invii where prenotazione_id = ${Number(id)}`)[0]?.stato, stato)
  }
})

t.test('an open submission of a booking that is not named is no obstacle', async (t) => {
  const [open, other] = await some(2)
  await submission(Number(open), 'sconosciuto')
  t.same((await erase([other])).json<Answer>().deleted, [other])
})

t.test('ids are whole positive numbers in a list of at most 10,000', async (t) => {
  const [id] = await some(1)
  t.same(fieldsAtFault(await erase(undefined)), ['ids'])
  t.same(fieldsAtFault(await erase(id)), ['ids'])
  for (const wrong of ['1', 0, -1, 1.5, null, 2_147_483_648]) {
    t.same(fieldsAtFault(await erase([id, wrong])), ['ids[1]'], String(wrong))
  }
  t.same(fieldsAtFault(await erase(Array.from({ length: 10_001 }, (_, index) => index + 1_000_000))), ['ids'])
  t.same(fieldsAtFault(await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [id], tutte: true })), ['tutte'])
  t.same(await existing([Number(id)]), [id])
  t.equal((await erase(Array.from({ length: 10_000 }, (_, index) => index + 1_000_000))).statusCode, 200)
})
