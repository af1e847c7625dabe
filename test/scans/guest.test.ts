import t from 'tap'
import type { ScanGuestAnswer } from '#schemas/scan.ts'
import type { Static } from '@sinclair/typebox'
import { BOOKINGS, create, fieldsAtFault, read, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { scanning } from './scanning.ts'

const TODAY = '2026-11-21'
const { app, call } = await build(t, { TODAY })
const { saved, show, makeGuest } = scanning({ app, call })
const newBooking = async (numero_ospiti = 2) => (await create(call, { check_in: TODAY, numero_ospiti })).id

const ROME = { stato_nascita: '100000100', comune_nascita: '412058091', provincia_nascita: 'RM' }
type Data = Static<typeof ScanGuestAnswer>['data']

t.test('a scan becomes a guest of a booking in one call, and says what is still missing', async (t) => {
  const [id, booking] = [await saved(), await newBooking(1)]
  const answer = await makeGuest(id, { prenotazione_id: booking, guest_idx: 0 })
  t.equal(answer.statusCode, 200, answer.body)
  const { ospite, errors, avvisi } = answer.json<{ data: Data }>().data
  t.match(ospite, {
    nome: 'BIANCA',
    cognome: 'PROVETTI',
    sesso: 'F',
    data_nascita: '1964-12-30',
    cittadinanza: '100000100',
    tipo_documento: 'IDELE',
    numero_documento: 'CA00000AA',
    luogo_rilascio: null,
    comune_nascita: null
  })
  t.ok(errors.some(({ campo }) => campo === 'luogo_rilascio'))
  t.same(avvisi, [])
  t.match(await read(call, booking), { ospiti: [{ id: ospite.id, cognome: 'PROVETTI' }] })
  t.match(await show(id), { prenotazione_id: booking, guest_idx: 0 })

  const dati = { ...ROME, luogo_rilascio: '412058091' }
  const completed = (await makeGuest(id, { prenotazione_id: booking, guest_idx: 0, dati })).json<{ data: Data }>().data
  t.same(completed.errors, [])
  t.equal(completed.ospite.id, ospite.id)
  t.equal((await call('POST', `${BOOKINGS}/${booking}/invio`, { testMode: true })).statusCode, 200)
})

t.test('a foreign passport needs its birth state alone', async (t) => {
  const id = await saved({ nationality: 'FRA', issuingCountry: 'FRA', documentCode: 'P', docNum: 'V12345678' })
  const booking = await newBooking(1)
  const answer = await makeGuest(id, { prenotazione_id: booking, guest_idx: 0, dati: { stato_nascita: '100000215' } })
  t.match(answer.json(), {
    data: { errors: [], ospite: { cittadinanza: '100000215', tipo_documento: 'PASOR', luogo_rilascio: '100000215' } }
  })
})

t.test('the code of the police is taken for a nationality, too', async (t) => {
  const id = await saved({ nationality: '100000215' })
  const answer = await makeGuest(id, { prenotazione_id: await newBooking(), guest_idx: 0 })
  t.match(answer.json(), { data: { ospite: { cittadinanza: '100000215' } } })
})

t.test('of the guest in the place stays what still holds: the birth place of that day, the type', async (t) => {
  const booking = await newBooking(1)
  const guest = {
    nome: 'Bianca',
    cognome: 'Provetti',
    data_nascita: '1964-12-30',
    tipo_alloggiato: '16',
    numero_documento: 'AX1234567',
    luogo_rilascio: '412058091',
    ...ROME
  }
  await saveGuests(call, booking, [guest])
  const same = await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  t.match(same.json(), {
    data: { ospite: { ...ROME, tipo_alloggiato: '16', numero_documento: 'CA00000AA', luogo_rilascio: null } }
  })
  const other = await makeGuest(await saved({ birthDate: '1970-01-01' }), { prenotazione_id: booking, guest_idx: 0 })
  t.match(other.json(), { data: { ospite: { comune_nascita: null, stato_nascita: null, tipo_alloggiato: '16' } } })
})

t.test('guests follow each other: a place behind a free one, or that is not there, is a 400', async (t) => {
  const [id, booking] = [await saved(), await newBooking(2)]
  t.same(fieldsAtFault(await makeGuest(id, { prenotazione_id: booking, guest_idx: 1 })), ['guest_idx'])
  for (const guest_idx of [0, 1]) {
    t.equal((await makeGuest(id, { prenotazione_id: booking, guest_idx })).statusCode, 200)
  }
  t.same(fieldsAtFault(await makeGuest(id, { prenotazione_id: booking, guest_idx: 2 })), ['guest_idx'])
  t.match(await show(id), { guest_idx: 1 })
  t.equal((await read(call, booking)).ospiti.length, 2)
})

t.test('the second guest with the same document is told of', async (t) => {
  const booking = await newBooking(2)
  await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  const answer = await makeGuest(await saved({ name: 'ADA' }), { prenotazione_id: booking, guest_idx: 1 })
  t.match(answer.json(), { data: { avvisi: [{ campo: 'docNum', messaggio: /ospite 1/ }] } })
})

t.test('a scan or booking that does not exist is a 404, and nothing is changed', async (t) => {
  const [id, booking] = [await saved(), await newBooking()]
  const { updated_at: before } = await read(call, booking)
  t.equal((await makeGuest(2_000_000, { prenotazione_id: booking, guest_idx: 0 })).statusCode, 404)
  t.equal((await makeGuest(id, { prenotazione_id: 2_000_000, guest_idx: 0 })).statusCode, 404)
  t.same(fieldsAtFault(await makeGuest(id, { guest_idx: -1, dati: { nome: '', altro: 1 } })).sort(),
    ['dati.altro', 'dati.nome', 'guest_idx', 'prenotazione_id'])
  t.match(await read(call, booking), { ospiti: [], updated_at: before })
})

t.test('saving a guest changes the version of the booking', async (t) => {
  const booking = await newBooking()
  const tag = async () => (await call('GET', `${BOOKINGS}/${booking}`)).headers.etag
  const before = await tag()
  await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  t.not(await tag(), before)
})
