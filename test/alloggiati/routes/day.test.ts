import fc from 'fast-check'
import t from 'tap'
import { create, saveGuests } from '#test/bookings/samples.ts'
import type { GiornataResponse } from '#schemas/giornata.ts'
import type { Schedina } from '#schemas/schedina.ts'
import { listsOf } from '#src/alloggiati/schedine/day/send-day.ts'
import type { DayBooking } from '#src/alloggiati/schedine/day/day-booking.ts'
import { addDays, italianDay } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator, deliveryOver } from '#test/alloggiati/ledger/administrator.ts'
import { check, member } from '#test/alloggiati/rules/samples.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { rowsOf } from '#test/alloggiati/service/soap/xml.ts'
import { successReply, guestNo, held, invio, production, rowsReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import type { TestApp } from '#test/helper.ts'

const PATH = '/api/v1/invii/giornata'
const today = testClock().today()

/** Creates a booking that arrives today with these guests. `seats` is its number of guests, if different. */
async function book ({ call }: TestApp, guests: readonly Schedina[], seats = guests.length): Promise<number> {
  const nome_cognome = `Prenotazione ${guests[0]?.cognome}`
  const { id } = await create(call, { nome_cognome, check_in: today, numero_ospiti: Math.max(seats, guests.length) })
  const saved = await saveGuests(call, id, [...guests])
  if (saved.statusCode !== 200) throw new Error(saved.body)
  if (seats < guests.length) await call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti: seats })
  return id
}

/** The n-th family, with this number of members. */
const family = (n: number, members: number): Schedina[] => [
  guestNo(n, { tipo_alloggiato: '17' }),
  ...Array.from({ length: members - 1 }, (_, m) =>
    member('19', 'FIGLIO', { cognome: guestNo(1000 + n * 60 + m).cognome }))
]

async function sendDay ({ call }: TestApp, body: object = {}, key = ''): Promise<GiornataResponse> {
  const answered = await call('POST', PATH, body, key === '' ? {} : { 'idempotency-key': key })
  if (answered.statusCode !== 200) throw new Error(answered.body)
  return answered.json()
}

const states = ({ prenotazioni }: GiornataResponse) =>
  Object.fromEntries(prenotazioni.map(({ prenotazione_id, stato }) => [prenotazione_id, stato]))

/** The shared server, which each test resets. */
const police = await standIn(t)
const real = await production(t, police)

t.test('all complete bookings of a day are sent in few Sends, each with its own outcome', async (t) => {
  const server = await emptied(real, police)
  const ids: number[] = []
  for (let n = 0; n < 18; n++) ids.push(await book(server, family(n, 3)))
  const done = await sendDay(server)
  t.match(done, { success: true, data: today, prova: false, totale_prenotazioni: 18, totale_ospiti: 54 })
  t.equal(done.message, '18 prenotazioni: 18 acquisite')
  t.same(states(done), Object.fromEntries(ids.map((id) => [id, 'acquisita'])))
  t.same(police.callsOf('Send').map(({ rows }) => rows.length), [48, 6])
  t.match(done.prenotazioni[0]!.schedine, [0, 1, 2].map((ospite) => ({ ospite, esito: 'acquisita' })))

  const rows = await server.app.sql`
    select s.prenotazione_id, i.prenotazione_id as of_all, i.ricevuta, count(*)::int as rows
    from invii_schedine s join invii i on i.id = s.invio_id group by 1, 2, 3 order by 1`
  const counted = rows.map(({ prenotazione_id, of_all, rows }) => [prenotazione_id, of_all, rows])
  t.same(counted, ids.map((id) => [id, null, 3]))
  const listed = await server.call('GET', `/api/v1/invii?prenotazione_id=${ids[17]}`)
  t.match(listed.json().data, [{ ricevuta: rows[17]!.ricevuta }], 'the list of submissions of a booking has its rows')

  const again = await sendDay(server)
  t.same(states(again), Object.fromEntries(ids.map((id) => [id, 'gia_inviata'])))
  t.equal(police.callsOf('Send').length, 2)
})

t.test('a dry run of the day lists ready, incomplete and sent bookings, and sends nothing', async (t) => {
  const server = await emptied(real, police)
  const ready = await book(server, family(1, 2))
  const sent = await book(server, [guestNo(2)])
  const { ricevuta } = (await server.call('POST', `/api/v1/prenotazioni/${sent}/invio`)).json()
  const unsaved = await book(server, [guestNo(3)], 2)
  const wrong = await book(server, [guestNo(4, { provincia_nascita: null, sesso: null })])
  const empty = await book(server, [], 1)
  const calls = police.calls.length

  const preview = await sendDay(server, { prova: true })
  t.match(preview, { success: false, prova: true, totali: { pronta: 1, gia_inviata: 1, incompleta: 3 } })
  t.match(preview.prenotazioni, [
    { prenotazione_id: ready, stato: 'pronta', errors: [], ricevute: [] },
    { prenotazione_id: sent, stato: 'gia_inviata', ricevute: [ricevuta] },
    { prenotazione_id: unsaved, stato: 'incompleta', errors: [{ ospite: 1, messaggio: '1 ospite salvato su 2' }] },
    { prenotazione_id: wrong, stato: 'incompleta', errors: [{ campo: 'sesso' }] },
    { prenotazione_id: empty, stato: 'incompleta', errors: [{ messaggio: '0 ospiti salvati su 1' }] }
  ])
  t.equal(police.calls.length, calls)
  t.match(await sendDay(server, { prenotazioni: [wrong] }), { totale_prenotazioni: 1, totali: { incompleta: 1 } })
  const elsewhere = await server.call('POST', PATH, { prenotazioni: [ready, 4711] })
  t.match(elsewhere.json(), { status: 400, dettagli: [{ campo: 'prenotazioni', messaggio: /: 4711\. Indicare in «data».*«confermata»$/ }] })
  for (const data of ['0001-01-01', addDays(today, -401), addDays(today, 401), '9999-12-20']) {
    const far = await server.call('POST', PATH, { data, prova: true })
    t.match(far.json(), { status: 400, dettagli: [{ campo: 'data', messaggio: /400 giorni/ }] }, data)
  }
  for (const days of [-400, 400]) t.match(await sendDay(server, { data: addDays(today, days), prova: true }), {})
})

t.test('the day lists the warnings of the rules for each unsent booking', async (t) => {
  const server = await emptied(real, police)
  const ready = await book(server, [guestNo(1), guestNo(2, { cognome: 'Zoltàn' })])
  const wrong = await book(server, [guestNo(3, { cognome: 'Zoltàn', sesso: null })])
  const folded = { campo: 'cognome', messaggio: 'Il cognome viene comunicato come «ZOLTAN»' }
  const previewed = await sendDay(server, { prova: true })
  t.match(previewed.prenotazioni, [
    { prenotazione_id: ready, stato: 'pronta', errors: [], warnings: [{ ospite: 1, ...folded }] },
    { prenotazione_id: wrong, stato: 'incompleta', errors: [{ campo: 'sesso' }], warnings: [{ ospite: 0, ...folded }] }
  ])
  const { warnings } = (await server.call('POST', `/api/v1/prenotazioni/${ready}/schedine`, {})).json()
  t.same(previewed.prenotazioni[0]!.warnings, warnings)
  t.match((await sendDay(server)).prenotazioni, [{ stato: 'acquisita', warnings: [] }, { stato: 'incompleta' }])
  t.match((await sendDay(server)).prenotazioni, [{ stato: 'gia_inviata', warnings: [] }, { stato: 'incompleta' }])
})

t.test('an incomplete booking with guests who were or may have been sent shows the reference', async (t) => {
  const server = await emptied(real, police)
  const late = await book(server, [guestNo(1)], 2)
  const sent = (await server.call('POST', `/api/v1/prenotazioni/${late}/invio`)).json().ricevuta
  police.on.Send = (socket) => socket.destroy()
  const unsaved = await book(server, [guestNo(2), guestNo(3)], 3)
  const { ricevuta: unknown } = (await server.call('POST', `/api/v1/prenotazioni/${unsaved}/invio`)).json()
  delete police.on.Send
  // The booking is deleted and entered again with the same guests.
  const former = await book(server, [guestNo(4)], 1)
  const before = (await server.call('POST', `/api/v1/prenotazioni/${former}/invio`)).json().ricevuta
  await server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [former] })
  const again = await book(server, [guestNo(4)], 2)
  for (const prova of [true, false]) {
    t.match((await sendDay(server, { prova })).prenotazioni, [
      { prenotazione_id: late, stato: 'incompleta', ricevute: [sent] },
      { prenotazione_id: unsaved, stato: 'incompleta', ricevute: [unknown] },
      { prenotazione_id: again, stato: 'incompleta', ricevute: [before] }
    ])
  }
})

t.test('a booking with a duplicate or too many guests is reported and skipped, and others are sent', async (t) => {
  const server = await emptied(real, police)
  const elsewhere = (await server.call('POST', '/api/alloggiati/invio', invio([guestNo(90)]))).json().ricevuta
  const ready = await book(server, [guestNo(1)])
  const { numero_documento } = guestNo(90)
  const respelled = await book(server, [guestNo(2), guestNo(91, { numero_documento })])
  const { nome: cognome, cognome: nome } = guestNo(1)
  const swapped = await book(server, [guestNo(3, { cognome, nome })])
  const crowded = await book(server, [guestNo(4), guestNo(5)], 1)
  const raced = await book(server, [guestNo(6)])
  const free = await book(server, [guestNo(7)])
  const partly = await book(server, [guestNo(8), guestNo(9)])
  const stay = { prenotazione: { id: partly, check_in: today, numero_notti: 3 } }
  const first = (await server.call('POST', '/api/alloggiati/invio', invio([guestNo(8)], stay))).json().ricevuta

  // A concurrent request sends the guest after the day was read.
  let raceOn = true
  server.app.addSubmissionHook('beforeReady', async () => {
    if (!raceOn) return
    raceOn = false
    await server.call('POST', '/api/alloggiati/invio', invio([guestNo(6)]))
  })
  const done = await sendDay(server)
  t.same(states(done), {
    [ready]: 'acquisita',
    [respelled]: 'da_confermare',
    [swapped]: 'da_confermare',
    [crowded]: 'da_confermare',
    [raced]: 'da_confermare',
    [free]: 'acquisita',
    [partly]: 'parziale'
  })
  const resultOf = (id: number) => done.prenotazioni.find(({ prenotazione_id }) => prenotazione_id === id)
  t.match(resultOf(respelled), { ricevute: [elsewhere], errors: [{ ospite: 1, campo: 'numero_documento' }] })
  t.match(resultOf(crowded), { errors: [{ campo: 'ospiti' }] })
  t.match(resultOf(partly), { ricevute: [first], errors: [{ ospite: 1, messaggio: /solo_mancanti/ }] })
  t.equal(done.success, false)
  t.equal(police.acquired().length, 5)
})

t.test('a booking counts as sent only for its current guests and arrival', async (t) => {
  const server = await emptied(real, police)
  const { call } = server
  const change = (id: number, changes: object) => call('PUT', `/api/v1/prenotazioni/${id}`, changes)
  const replaced = await book(server, [guestNo(1), guestNo(2)])
  const moved = await book(server, [guestNo(3)])
  const direct = await book(server, [], 1)
  const again = await book(server, [guestNo(5)])
  const half = await book(server, family(6, 2), 3)
  for (const id of [replaced, moved, again, half]) await call('POST', `/api/v1/prenotazioni/${id}/invio`, {})
  await call('POST', '/api/alloggiati/invio',
    invio([guestNo(4)], { prenotazione: { id: direct, check_in: today, numero_notti: 3 } }))
  const sends = police.callsOf('Send').length

  await call('POST', '/api/saveOspiti', { prenotazione_id: replaced, dati: [guestNo(1), guestNo(50)] })
  const [leader, son] = family(6, 2)
  await call('POST', '/api/saveOspiti', {
    prenotazione_id: half, dati: [leader, { ...son, cognome: `${son!.cognome}X` }, member('19', 'TERZO')]
  })
  // The guest was sent when the booking still had yesterday's arrival.
  await change(moved, { check_in: addDays(today, -1), numero_notti: 4 })
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [again] })
  const recreated = await book(server, [guestNo(5)])
  const double = await book(server, [guestNo(1)])

  const days = [await sendDay(server), await sendDay(server, { data: addDays(today, -1) })]
  t.same(Object.assign({}, ...days.map(states)), {
    [replaced]: 'da_confermare',
    [moved]: 'da_confermare',
    [direct]: 'gia_inviata',
    [recreated]: 'gia_inviata',
    [half]: 'da_confermare',
    [double]: 'da_confermare'
  })
  const messages = (id: number) => days.flatMap(({ prenotazioni }) => prenotazioni)
    .find(({ prenotazione_id }) => prenotazione_id === id)!.errors.map(({ messaggio }) => messaggio).join(' | ')
  t.match(messages(replaced), /^Con questo invio sarebbero più di 2 /)
  t.match(messages(moved), new RegExp(`Già inviata con l’arrivo del ${italianDay(today)}`))
  t.match(messages(half), /sono stati inviati ospiti ora non fra quelli salvati/)
  t.match(messages(double), /^Stessa persona della ricevuta AW-\S+: è già comunicata.*doppione$/)
  t.equal(police.callsOf('Send').length, sends)
})

t.test('a refusal for one booking does not stop the others', async (t) => {
  const server = await emptied(real, police)
  const [one, two, three] = [
    await book(server, family(1, 2)), await book(server, family(2, 2)), await book(server, [guestNo(3)])
  ]
  police.on.Test = response(rowsReply('Test', [true, true, true, false, true]))
  const done = await sendDay(server)
  t.same(states(done), { [one]: 'acquisita', [two]: 'rifiutata', [three]: 'acquisita' })
  t.match(done.prenotazioni[1]!.schedine, [
    { ospite: 0, esito: 'rifiutata', dettaglio: /stessa famiglia/ },
    { ospite: 1, esito: 'rifiutata', codice_errore: '12' }
  ])
  delete police.on.Test
  t.match(states(await sendDay(server)), { [two]: 'acquisita' }, 'after the correction it is sent')
})

t.test('a day over the time limit continues, and the same key returns its outcome without a Send', async (t) => {
  const police = await standIn(t)
  const server = await production(t, police, {}, { times: { policeResponseMs: 1500 } })
  const id = await book(server, [guestNo(1)])
  const prenotazioni = [id, await book(server, [], 1)]
  const reply = held()
  police.on.Send = reply.behaviour
  const ask = () => sendDay(server, { prenotazioni }, 'sera')
  const done = await ask()
  t.match(done.prenotazioni, [{ prenotazione_id: id, stato: 'in_corso', ricevute: [/^AW-/] }, { stato: 'incompleta' }])
  t.match(states(await ask()), { [id]: 'in_corso' })
  await reply.arrived
  reply.release(response(successReply({ operation: 'Send', rows: [''] })))
  await until(async () => (await server.app.sql`select from invii where stato = 'acquisito'`).length === 1)
  const { ricevute } = done.prenotazioni[0]!
  const acquired = { prenotazione_id: id, stato: 'acquisita', ricevute, schedine: [{ ospite: 0, esito: 'acquisita' }] }
  await server.call('POST', '/api/saveOspiti', { prenotazione_id: prenotazioni[1], dati: [guestNo(2)] })
  const ready = { stato: 'pronta', errors: [{ messaggio: /altra Idempotency-Key/ }] }
  t.match(await ask(), { success: false, data: today, prenotazioni: [acquired, ready] }, 'completed after the request')
  for (const each of prenotazioni) {
    await server.call('PUT', `/api/v1/prenotazioni/${each}`, { check_in: addDays(today, 1) })
  }
  t.match(await ask(), { success: true, data: today, totali: { acquisita: 1 }, prenotazioni: [acquired] }, 'moved')
  await server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [id] })
  t.match((await ask()).prenotazioni, [{ ...acquired, nome_cognome: '', ospiti: 0 }], 'deleted')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('after an unknown outcome of a day the same key returns the later decision', async (t) => {
  const server = await emptied(real, police)
  const [lost, ready] = [await book(server, family(1, 30)), await book(server, family(2, 30))]
  police.on.Send = (socket) => {
    delete police.on.Send
    socket.resetAndDestroy()
  }
  const ask = () => sendDay(server, {}, 'sera')
  const first = await ask()
  t.match(states(first), { [lost]: 'sconosciuta', [ready]: 'acquisita' })
  t.same(await ask(), first)
  await deliveryOver(server)
  const [unknown] = await server.app.sql<{ id: number }[]>`select id from invii where stato = 'sconosciuto'`
  t.equal((await administrator(server).decide(unknown!.id, 'annulla')).statusCode, 200)
  t.match((await ask()).prenotazioni, [
    { prenotazione_id: lost, stato: 'sconosciuta', errors: [{ messaggio: /annullato/ }] },
    { prenotazione_id: ready, stato: 'acquisita', ricevute: first.prenotazioni[1]!.ricevute }
  ])
  t.equal(police.callsOf('Send').length, 2)
})

t.test('a day without any submission can be retried with the same key after a fix', async (t) => {
  const server = await emptied(real, police)
  const id = await book(server, [], 1)
  const ask = () => sendDay(server, { prenotazioni: [id] }, 'sera')
  t.match(states(await ask()), { [id]: 'incompleta' })
  await server.call('PUT', `/api/v1/prenotazioni/${id}`, { check_in: addDays(today, 1) })
  const elsewhere = await server.call('POST', PATH, { prenotazioni: [id] }, { 'idempotency-key': 'sera' })
  t.equal(elsewhere.statusCode, 400)
  await server.call('PUT', `/api/v1/prenotazioni/${id}`, { check_in: today, numero_notti: 3 })
  await server.call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guestNo(1)] })
  t.match(states(await ask()), { [id]: 'acquisita' })
  t.match(states(await ask()), { [id]: 'acquisita' }, 'the result is stored')
})

t.test('after a crash the same key returns the results of all submissions of the day', async (t) => {
  const server = await emptied(real, police)
  const large = await book(server, [...family(1, 30), ...family(2, 30), ...family(3, 10)])
  police.on.Test = (socket, received) => {
    const rows = rowsOf(received.body)
    response(rowsReply('Test', rows.map((row) => !row.includes(guestNo(3).numero_documento!))))(socket, received)
  }
  const done = await sendDay(server, {}, 'giorno')
  t.equal(done.prenotazioni[0]!.ricevute.length, 2)
  await server.app.sql`update idempotency_keys set status = null, body = null, headers = '{"claim":"interrotta"}'`
  await server.app.sql`insert into invii_sospensioni (motivo, chi) values ('prova', 'prova')`
  const replayed = await sendDay(server, {}, 'giorno')
  t.match(states(replayed), { [large]: 'parziale' })
  const byGuest = ({ prenotazioni }: GiornataResponse) =>
    prenotazioni[0]!.schedine.toSorted((one, other) => one.ospite - other.ospite)
  t.same(byGuest(replayed), byGuest(done))
})

t.test('lists contain every guest once, and never split a family, or a booking of up to 50 guests', async () => {
  const sizes = fc.array(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }), { maxLength: 12 })
  fc.assert(fc.property(sizes, (bookings) => {
    const days = bookings.map((families, n) => bookingOf(n, families))
    const lists = listsOf(days)
    const all = lists.flatMap(({ places }) =>
      places.map(({ booking, ospite }) => `${booking.prenotazione_id}/${ospite}`))
    const expected = days.flatMap(({ prenotazione_id, ospiti }) =>
      Array.from({ length: ospiti }, (_, ospite) => `${prenotazione_id}/${ospite}`))
    return all.toSorted().join() === expected.toSorted().join() &&
      lists.every(({ records, leaders, places }) =>
        (records.length <= 50 || new Set(leaders).size === 1) &&
        places.every(({ booking, ospite }, at) => {
          const leader = places[leaders[at]!]!
          return leader.booking === booking && leader.ospite === booking.ready!.leaders[ospite]! &&
            (booking.ospiti > 50 || places.filter((each) => each.booking === booking).length === booking.ospiti)
        }))
  }), { numRuns: 50 })
})

t.test('while sending is suspended, a day allows a dry run and no Send', async (t) => {
  const server = await emptied(real, police)
  const id = await book(server, [guestNo(1)])
  await server.app.sql`insert into invii_sospensioni (motivo, chi) values ('prova', 'prova')`
  t.match(states(await sendDay(server, { prova: true })), { [id]: 'pronta' })
  t.equal((await server.call('POST', PATH, {})).statusCode, 422)
  t.same(await server.app.sql`select from invii`, [])
})

const [record] = check([guestNo(1)]).records!

/** A booking with families of these sizes. */
function bookingOf (prenotazione_id: number, families: readonly number[]): DayBooking {
  const starts = families.map((_, n) => families.slice(0, n).reduce((sum, size) => sum + size, 0))
  const leaders = families.flatMap((size, n) => Array.from({ length: size }, () => starts[n]!))
  const rows = { ospiti: leaders.length, numero_ospiti: leaders.length }
  const ready = { records: leaders.map(() => record!), lines: leaders.map(() => ''), leaders, versione: 1, account: '' }
  const nothing = { ricevute: [], errors: [], warnings: [], schedine: [] }
  return { prenotazione_id, nome_cognome: '', stato: 'pronta', ...rows, ...nothing, nights: 3, ready }
}
