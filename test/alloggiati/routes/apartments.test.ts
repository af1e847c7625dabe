import t from 'tap'
import type { GiornataResponse } from '#schemas/giornata.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { guestNo, production, standIn } from '#test/alloggiati/stand-in.ts'
import { create, fieldsAtFault, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

const PATH = '/api/v1/invii/giornata'
const today = testClock().today()
/** The shared server, which each test resets. */
const police = await standIn(t)
const real = await production(t, police)

/** Bookings 1, 2, … of one guest each, who arrive today. */
async function book ({ call }: TestApp, count: number): Promise<void> {
  for (let n = 1; n <= count; n++) {
    await create(call, { check_in: today, numero_ospiti: 1 })
    await saveGuests(call, n, [guestNo(n)])
  }
}

/** The apartments in the lines that reached the police, by the guest's document. */
const sent = () => Object.fromEntries(police.calls.filter(({ operation }) => operation.endsWith('Send'))
  .flatMap(({ rows }) => rows.map((row) => [row.slice(139, 159).trim(), row.slice(168)])))
const guest = (n: number) => guestNo(n).numero_documento!
const at = (prenotazione_id: number, id_appartamento: number) => ({ prenotazione_id, id_appartamento })

/** A booking that arrived yesterday for one night. */
function stayOf (id: number) {
  return { id, check_in: addDays(today, -1), numero_notti: 1 }
}

/** A request for a day of three bookings, the state of each, and the apartment of each line. */
type Row = [title: string, body: object, states: Record<number, string>, sent: Record<number, string>]

const WAITS = 'incompleta'
const DAY: Row[] = [
  ['no apartment at all', {}, { 1: 'acquisita', 2: 'acquisita', 3: 'acquisita' }, { 1: '', 2: '', 3: '' }],
  ['one for all', { id_appartamento: 4 }, { 1: WAITS, 2: WAITS, 3: WAITS }, {}],
  ['one for all, number 0', { id_appartamento: 0 }, { 1: WAITS, 2: WAITS, 3: WAITS }, {}],
  ['one for all in a dry run', { id_appartamento: 4, prova: true }, { 1: WAITS, 2: WAITS, 3: WAITS }, {}],
  ['one for two that are named', { id_appartamento: 4, prenotazioni: [1, 2] }, { 1: WAITS, 2: WAITS }, {}],
  ['one for one that is named', { id_appartamento: 4, prenotazioni: [2] }, { 2: 'acquisita' }, { 2: '000004' }],
  ['one for booking 1', { appartamenti: [at(1, 7)] }, { 1: 'acquisita', 2: WAITS, 3: WAITS }, { 1: '000007' }],
  [
    'one for each booking', { appartamenti: [at(3, 9), at(1, 7), at(2, 0)] },
    { 1: 'acquisita', 2: 'acquisita', 3: 'acquisita' }, { 1: '000007', 2: '000000', 3: '000009' }
  ],
  [
    'the same one for two bookings', { appartamenti: [at(1, 7), at(2, 7)] },
    { 1: 'acquisita', 2: 'acquisita', 3: WAITS }, { 1: '000007', 2: '000007' }
  ],
  [
    'one for booking 1 in a dry run', { appartamenti: [at(1, 7)], prova: true },
    { 1: 'pronta', 2: WAITS, 3: WAITS }, {}
  ]
]

t.test('a day is sent with the apartment of each booking, and bookings without one are not ready', async (t) => {
  for (const [title, body, states, lines] of DAY) {
    const server = await emptied(real, police)
    await book(server, 3)
    const answered = (await server.call('POST', PATH, body)).json<GiornataResponse>()
    t.same(Object.fromEntries(answered.prenotazioni.map((each) => [each.prenotazione_id, each.stato])), states, title)
    t.same(sent(), Object.fromEntries(Object.entries(lines).map(([n, line]) => [guest(Number(n)), line])), title)
    t.equal(answered.success, !Object.values(states).includes(WAITS), title)
    for (const { stato, prenotazione_id, errors } of answered.prenotazioni.filter(({ stato }) => stato === WAITS)) {
      t.match(errors, [{ campo: 'id_appartamento', messaggio: /^Appartamento non indicato: .*«appartamenti»/ }], stato)
      t.match(errors[0]!.messaggio, `/api/v1/prenotazioni/${prenotazione_id}/invio`, title)
    }
  }
})

t.test('an account that used an apartment in the last days sends no booking without one', async (t) => {
  const server = await emptied(real, police)
  await book(server, 2)
  t.equal((await server.call('POST', '/api/v1/prenotazioni/1/invio', { id_appartamento: 7 })).statusCode, 200)
  const { prenotazioni } = (await server.call('POST', PATH, {})).json<GiornataResponse>()
  t.match(prenotazioni, [
    { prenotazione_id: 1, stato: 'gia_inviata', errors: [] },
    { prenotazione_id: 2, stato: 'incompleta', errors: [{ ospite: 0, campo: 'id_appartamento' }] }
  ])
  t.same(sent(), { [guest(1)]: '000007' })
  const key = { 'idempotency-key': 'giornata-1' }
  const body = { appartamenti: [at(2, 8)] }
  t.match((await server.call('POST', PATH, body, key)).json(), { success: true })
  t.match((await server.call('POST', PATH, body, key)).json(), { success: true }, 'the result is stored')
  t.same(sent(), { [guest(1)]: '000007', [guest(2)]: '000008' })
})

/** Requests for a guest who was sent yesterday for one night in apartment 7, and who stays until tomorrow. */
const LATER: [title: string, method: string, body: object][] = [
  ['a Send of the booking', '/api/v1/prenotazioni/1/invio', { dal: today }],
  ['a dry run of it', '/api/v1/prenotazioni/1/invio', { dal: today, testMode: true }],
  ['a Send of the day', PATH, {}],
  ['a Send of the day with another one', PATH, { appartamenti: [at(1, 9)] }],
  ['a direct Send', '/api/alloggiati/invio', { ospiti: [guestNo(1)], prenotazione: { ...stayOf(1), check_in: today } }]
]

t.test('a booking keeps the apartment of its earlier Sends, unless the request names one', async (t) => {
  for (const [title, url, body] of LATER) {
    const server = await emptied(real, police)
    const { call } = server
    await create(call, { ...stayOf(1), id: undefined, numero_ospiti: 1 })
    await saveGuests(call, 1, [guestNo(1)])
    t.equal((await call('POST', '/api/v1/prenotazioni/1/invio', { id_appartamento: 7 })).statusCode, 200)
    await call('PUT', '/api/v1/prenotazioni/1', { numero_notti: 2 })
    const preview = await call('POST', '/api/v1/prenotazioni/1/schedine', { dal: today })
    t.match(preview.json(), { soggiorno: { id_appartamento: 7 } }, title)
    police.calls.length = 0
    t.match((await call('POST', url, body)).json(), { success: true }, title)
    const rows = police.calls.flatMap(({ rows }) => rows).map((row) => row.slice(168))
    t.same(new Set(rows), new Set([title.endsWith('another one') ? '000009' : '000007']), title)
  }
})

t.test('guests sent after the others get the same apartment, and a request must choose between several', async (t) => {
  const { call } = await emptied(real, police)
  await create(call, { check_in: today, numero_ospiti: 4 })
  const send = async (count: number, body: object) => {
    await saveGuests(call, 1, Array.from({ length: count }, (_, n) => guestNo(n + 1, { tipo_alloggiato: '16' })))
    return call('POST', '/api/v1/prenotazioni/1/invio', { solo_mancanti: true, ...body })
  }
  await send(1, { id_appartamento: 7 })
  t.equal((await send(2, {})).statusCode, 200)
  await send(3, { id_appartamento: 8 })
  const unclear = await send(4, {})
  t.match(unclear.json(), { status: 400, dettagli: [{ campo: 'id_appartamento', messaggio: /più appartamenti \(7, 8\)$/ }] })
  t.match((await call('POST', PATH, {})).json(), { prenotazioni: [{ errors: [{ campo: 'id_appartamento' }] }] })
  t.equal((await send(4, { id_appartamento: 8 })).statusCode, 200)
  t.same(sent(), { [guest(1)]: '000007', [guest(2)]: '000007', [guest(3)]: '000008', [guest(4)]: '000008' })
})

t.test('apartments and bookings of a day that contradict or repeat each other are answered with a 400', async (t) => {
  const server = await emptied(real, police)
  await book(server, 1)
  const refused: [body: object, fields: string[]][] = [
    [{ appartamenti: [at(4711, 1)] }, ['appartamenti']],
    [{ appartamenti: [at(1, 1)], prenotazioni: [1, 4711] }, ['prenotazioni']],
    [{ appartamenti: [at(1, 1)], prenotazioni: [4711] }, ['appartamenti[0].prenotazione_id']],
    [{ prenotazioni: [1, 1] }, ['prenotazioni[1]']],
    [{ prenotazioni: [1, 1], id_appartamento: 4 }, ['prenotazioni[1]']],
    [{ prenotazioni: [1], appartamenti: [at(1, 1)], id_appartamento: 4 }, ['id_appartamento']],
    [{ appartamenti: [at(1, 1)], id_appartamento: 1 }, ['id_appartamento']],
    [{ appartamenti: [at(1, 1), at(1, 2)] }, ['appartamenti[1].prenotazione_id']],
    [{ appartamenti: [at(1, -1)] }, ['appartamenti[0].id_appartamento']],
    [{ appartamenti: [at(1, 1_000_000)] }, ['appartamenti[0].id_appartamento']],
    [{ appartamenti: [{ prenotazione_id: 1 }] }, ['appartamenti[0].id_appartamento']],
    [{ appartamenti: [null] }, ['appartamenti[0]']],
    [{ appartamenti: 7 }, ['appartamenti']]
  ]
  for (const [body, fields] of refused) {
    t.same(fieldsAtFault(await server.call('POST', PATH, body)), fields, JSON.stringify(body))
  }
  t.same(sent(), {})
})

t.test('for an unknown apartment the error names the known ones, or the list that contains them', async (t) => {
  const server = await build(t, {})
  const { call } = server
  const { id } = await create(call, { check_in: today, numero_ospiti: 1 })
  await saveGuests(call, id, [guestNo(1)])
  const body = { prova: true, appartamenti: [at(id, 99)] }
  t.equal((await call('POST', PATH, body)).statusCode, 200, 'an account without a list accepts any apartment')
  const { admin } = administrator(server)
  const added = await admin('POST', '/api/v1/appartamenti', {
    descrizione: 'Casa', comune_codice: '412058091', indirizzo: 'Via dei Prati, 8', proprietario: 'Ada Provetti'
  })
  t.equal(added.statusCode, 201)
  const messaggio = 'non sono fra gli appartamenti attivi: 99. Indicare uno fra 0 CASA'
  t.match((await call('POST', PATH, body)).json(), { status: 400, dettagli: [{ campo: 'appartamenti', messaggio }] })
  t.match((await call('POST', PATH, { prova: true, appartamenti: [at(id, 0)] })).json(), { totali: { pronta: 1 } })
  for (const testMode of [true, false]) {
    const sent = await call('POST', `/api/v1/prenotazioni/${id}/invio`, { id_appartamento: 99, testMode })
    t.match(sent.json(), { status: 422, error: /: indicare un id_appartamento fra quelli di GET .*appartamenti$/ })
  }
})
