import t from 'tap'
import type { Segnalazione } from '#schemas/schedina.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { testClock } from '#test/clock.ts'
import { signedIn } from '#test/desk/desk-visitor.ts'
import { build } from '#test/helper.ts'
import { HOLDER, scanning } from '#test/scans/scanning.ts'
import { BOOKINGS, create, fieldsAtFault, read, saveGuests } from './samples.ts'
import { unzip } from './unzip.ts'

/* Documents may lack the day, or the day and the month, of a birth. */

const server = await build(t, { RATE_LIMIT_LOGIN_MAX: '1000' })
const { app, call } = server
const { makeGuest, saved } = scanning({ app, call })
const check_in = testClock().today()

/** A booking of one guest with this birth date. */
async function born (data_nascita: string, changes: object = {}): Promise<number> {
  const { id } = await create(call, { check_in, numero_ospiti: 1 })
  const { statusCode, body } = await saveGuests(call, id, [single({ data_nascita, ...changes })])
  if (statusCode !== 200) throw new Error(body)
  return id
}
const stored = async (id: number) => (await read(call, id)).ospiti.map(({ data_nascita }) => data_nascita)

t.test('an incomplete birth date is stored as written, and blocks only Send and Test', async (t) => {
  for (const [written, first] of [
    ['1970-00-00', '1970-01-01'], ['1970-05-00', '1970-05-01'], ['1899-12-00', '1899-12-01']
  ] as const) {
    const id = await born(written)
    t.same(await stored(id), [written])
    const { errors } = (await call('POST', `${BOOKINGS}/${id}/schedine`)).json<{ errors: Segnalazione[] }>()
    const messaggio = new RegExp(`incompleta.*indicare ${first}`)
    t.match(errors, [{ campo: 'data_nascita', messaggio, proposta: first }])
    for (const body of [{}, { testMode: true }]) {
      t.match((await call('POST', `${BOOKINGS}/${id}/invio`, body)).json(), {
        status: 422, codice: 'VALIDAZIONE', errors: [{ ospite: 0, campo: 'data_nascita', proposta: first }]
      })
    }
  }
})

t.test('a birth date that no document can have is answered with a 400 that says how to write it', async (t) => {
  const { id } = await create(call, { check_in, numero_ospiti: 1 })
  for (const wrong of [
    '1970', '1970-05', '1970-13-00', '1970-00-15', '0000-00-00', '1970-02-30', '1970-5-00', '1970-00-000'
  ]) {
    const refused = await saveGuests(call, id, [single({ data_nascita: wrong })])
    t.same(fieldsAtFault(refused), ['dati[0].data_nascita'], wrong)
    t.match(refused.json(), { dettagli: [{ messaggio: /AAAA-MM-GG.*con 00 per il giorno e il mese/ }] })
  }
  t.same(await stored(id), [])
  const insert = (day: string) => app.sql`
    insert into ospiti (prenotazione_id, indice, nome, cognome, data_nascita) values (${id}, 0, '', 'ROSSI', ${day})`
  for (const wrong of ['1970', '1970-00-15', '1970-02-30', '0000-00-00']) await t.rejects(insert(wrong), wrong)
})

t.test('the form of the desk shows and saves an incomplete birth date, and proposes the first day', async (t) => {
  const id = await born('1970-05-00')
  const anna = await signedIn(server)
  await anna.open(`/prenotazioni/${id}`)
  t.match(anna.page().body, /<input[^>]*name="dati\[0\]\.data_nascita"[^>]*value="1970-05-00"/)
  t.match(anna.page().body, '>Metti 1970-05-01</button>')
  await anna.submit(`/prenotazioni/${id}/ospiti`, { 'dati[0].nome': 'MARTA' })
  t.match((await read(call, id)).ospiti, [{ nome: 'MARTA', data_nascita: '1970-05-00' }])
  await anna.open(`/prenotazioni/${id}`)
  await anna.submit(`/prenotazioni/${id}/ospiti`, { 'dati[0].data_nascita': '1970-00-00' })
  t.same(await stored(id), ['1970-00-00'])
})

t.test('a document without the day does not replace the complete birth date of the same person', async (t) => {
  const scan = await saved({ birthDate: '1964-00-00' })
  const holder = { nome: HOLDER.name, cognome: HOLDER.surname }
  for (const [before, changes, after] of [
    ['1964-01-01', holder, '1964-01-01'],
    ['1964-00-00', holder, '1964-00-00'],
    ['1964-05-16', {}, '1964-00-00']
  ] as const) {
    const id = await born(before, changes)
    const made = await makeGuest(scan, { prenotazione_id: id, guest_idx: 0 })
    t.match(made.json(), { data: { ospite: { data_nascita: after } } }, made.body)
    t.same(await stored(id), [after])
  }
})

t.test('an incomplete birth date is exported, its guest is found by name, and an erasure deletes both', async (t) => {
  const id = await born('1970-00-00', { cognome: 'RARISSIMI' })
  t.match((await call('GET', `${BOOKINGS}?q=rarissimi`)).json(), { data: [{ id }] })
  const files = await unzip((await call('GET', `${BOOKINGS}/${id}/export`)).rawPayload)
  t.match(String(files.get('ospiti.json')), '"1970-00-00"')
  t.equal((await call('POST', `${BOOKINGS}/${id}/cancellazione`)).statusCode, 200)
  t.equal((await app.sql`select from ospiti where prenotazione_id = ${id}`).length, 0)
})
