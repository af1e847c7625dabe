import t from 'tap'
import { create } from '#test/bookings/samples.ts'
import { inRome } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, production, until } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { deliveryOver, detail, INVII, ledgerServer } from './administrator.ts'
import { bookingLock } from './booking-lock.ts'

/* A submission that could not leave waits for its next try: it can be withdrawn, and once it is stale it stays. */

const GIORNATA = `${INVII}/giornata`

/** The servers of all tests, each of which finds them empty: where guests are sent, and another on its database. */
const shared = await ledgerServer(t)
const other = await production(t, shared.police, { DATABASE_URL: shared.server.url, DATA_DIR: shared.server.dataDir })

/** A booking of one guest whose Send the web server has refused: it is tried again later. */
async function waitingServer () {
  const { police, server, ...people } = shared
  await emptied(server, police)
  other.logs.length = 0
  const { call, app: { sql } } = server
  const { id: booking } = await create(call, { check_in: testClock().today(), numero_ospiti: 1 })
  const save = (guest: object) => call('POST', '/api/saveOspiti', { prenotazione_id: booking, dati: [guest] })
  const send = async (headers: Record<string, string> = {}) =>
    (await call('POST', `/api/v1/prenotazioni/${booking}/invio`, {}, headers)).json()
  await save(guestNo(1))
  police.on.Send = respond('404 Not Found', '')
  const { ricevuta } = await send({ prefer: 'respond-async' })
  const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`select id from invii`
  await until(async () => {
    const { stato, versione } = await detail(server, id)
    return stato === 'pronto' && versione > 0
  })
  delete police.on.Send
  /** Its time has come: another server takes it, as the sweep does. */
  const retry = async (stato: string) => {
    await sql`update invii set lease_fino_al = now() - interval '1 second'`
    // The sweep of before may not have ended yet.
    await until(async () => await other.app.jobs.start('ledger-sweep', async () => {}) !== 'running')
    await until(async () => (await detail(server, id)).stato === stato)
    return other
  }
  return { police, server, booking, id, ricevuta, save, send, retry, ...people }
}

t.test('what waits for its next try says until when, and that it can be withdrawn', async (t) => {
  const { server, booking, ricevuta, save, send } = await waitingServer()
  const [{ due } = { due: '' }] = await server.app.sql<{ due: string }[]>`select lease_fino_al::text as due from invii`
  const told = `si riprova da solo, il ${inRome(new Date(due))}. Fino ad allora un amministratore lo può annullare`
  const refused = async () => {
    const answered = await send()
    t.match(answered, { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, riprova_il: new Date(due).toISOString() })
    t.ok(answered.error.includes(told), answered.error)
    const missing = await server.call('POST', `/api/v1/prenotazioni/${booking}/invio`, { solo_mancanti: true })
    t.ok(missing.json().error.includes(told), 'with solo_mancanti')
    const day = (await server.call('POST', GIORNATA, { prenotazioni: [booking] })).json()
    t.match(day.prenotazioni, [{ ricevute: [ricevuta], errors: [{ campo: 'ospiti' }] }])
    t.ok(day.prenotazioni[0].errors[0].messaggio.includes(told), 'of the day')
  }
  await refused()
  await save(guestNo(2))
  await refused()
})

t.test('the same key tells of a submission that waits; one that is at work is only called under way', async (t) => {
  const { police, server } = await ledgerServer(t)
  const login = held()
  police.on.GenerateToken = login.behaviour
  const body = { ospiti: [guestNo(1)], prenotazione: { check_in: testClock().today(), numero_notti: 3 } }
  const headers = { 'idempotency-key': 'chiave', prefer: 'respond-async' }
  const send = async () => (await server.call('POST', '/api/alloggiati/invio', body, headers)).json()
  t.notMatch((await send()).error, /si riprova/)
  await login.arrived
  t.notMatch((await send()).error, /si riprova/)
  delete police.on.GenerateToken
  login.release((socket) => socket.destroy())
  await until(async () => (await detail(server, 1)).stato === 'pronto')
  t.match(await send(), { status: 409, codice: 'INVIO_IN_CORSO', error: /non è ancora partito e si riprova da solo/ })
})

t.test('what waits is withdrawn by an administrator: on record, its guests free, and it never leaves', async (t) => {
  const { police, server, id, send, retry, decide, admin, who } = await waitingServer()
  for (const decisione of ['reinvia', 'acquisito', 'depositato']) {
    t.match((await decide(id, decisione)).json(), { status: 409, codice: 'NULLA_DA_DECIDERE' }, decisione)
  }
  const { versione } = await detail(server, id)
  t.match((await decide(id, 'annulla', { versione: versione - 1 })).json(), { codice: 'INVIO_CAMBIATO' })
  t.match((await decide(id, 'annulla')).json().data, {
    stato: 'annullato',
    righe: [{ esito: 'annullata' }],
    decisioni: [{ decisione: 'annulla', chi: await who(), motivo: 'Guardato sul portale', versione: versione + 1 }]
  })
  const entries = (await admin('GET', '/api/v1/audit?action=decisione')).json().data
  t.match(entries, [{ actor: await who(), object: `invio:${id}`, details: { decisione: 'annulla' } }])
  t.match((await admin('GET', `${INVII}/verifica`)).json(), { integra: true })
  await retry('annullato')
  t.equal(police.callsOf('Send').length, 1, 'the one that was refused')
  t.match(await send(), { success: true })
  t.equal(police.acquired().length, 1)
})

t.test('what waited while its booking changed does not leave: its guests are free, and an alarm says so', async (t) => {
  for (const change of ['guest', 'stay'] as const) {
    const { police, server, booking, id, ricevuta, save, send, retry } = await waitingServer()
    if (change === 'guest') await save(guestNo(1, { nome: 'CORRETTO' }))
    else await server.call('PUT', `/api/v1/prenotazioni/${booking}`, { numero_notti: 5 })
    const other = await retry('non_inviato')
    await until(() => other.logs.some(({ msg, ricevuta: about }) =>
      about === ricevuta && String(msg).startsWith('a submission that waited was not sent: its booking has changed')))
    t.match(await detail(server, id), {
      nota: 'la prenotazione è cambiata dopo la richiesta', righe: [{ esito: 'non_inviata' }]
    })
    t.equal(police.acquired().length, 0)
    t.match(await send(), { success: true })
    t.match(police.acquired(), change === 'guest' ? [/CORRETTO/] : [/^16..\/..\/....05/])
  }
})

t.test('what waited leaves when nothing of its booking has changed that goes to the police', async (t) => {
  const { police, server, booking, retry } = await waitingServer()
  const change = { telefono: '+39 333 1234567', check_in: testClock().today(), numero_notti: 3 }
  const changed = await server.call('PUT', `/api/v1/prenotazioni/${booking}`, change)
  t.equal(changed.statusCode, 200)
  await retry('acquisito')
  t.equal(police.acquired().length, 1)
})

t.test('what was sent before, and may have been acquired, goes to a person when its booking changed', async (t) => {
  const { police, server, id, save, retry, decide } = await waitingServer()
  police.on.Send = (socket) => socket.resetAndDestroy()
  await retry('sconosciuto')
  await deliveryOver(server)
  await save(guestNo(1, { nome: 'CORRETTO' }))
  police.on = { Test: (socket) => socket.resetAndDestroy() }
  t.match((await decide(id, 'reinvia')).json().data, { stato: 'pronto' })
  t.match(police.calls.at(-1), { operation: 'Test' }, 'whoever decides has seen the change: it was tried')
  await save(guestNo(1, { nome: 'CAMBIATO' }))
  police.on = {}
  await retry('da_verificare')
  t.match(await detail(server, id), { righe: [{ esito: 'in_corso' }] })
  t.equal(police.callsOf('Send').length, 2)
})

/** Bookings of one saved guest each, that arrive today. */
async function bookedServer (guests: readonly number[]) {
  const { police, server } = shared
  await emptied(server, police)
  other.logs.length = 0
  const save = (prenotazione_id: number, guest: object) =>
    server.call('POST', '/api/saveOspiti', { prenotazione_id, dati: [guest] })
  const ids: number[] = []
  for (const n of guests) {
    ids.push((await create(server.call, { check_in: testClock().today(), numero_ospiti: 1 })).id)
    await save(ids.at(-1)!, guestNo(n))
  }
  return { police, server, sql: server.app.sql, ids, save }
}

t.test('guests that were saved while a Send was on its way to the ledger: the old ones are not sent', async (t) => {
  for (const body of [{}, { solo_mancanti: true }]) {
    const { police, server, sql, ids: [id], save } = await bookedServer([1])
    const lock = await bookingLock(t, sql, id!, 'update')
    const saving = save(id!, guestNo(1, { nome: 'CORRETTO' }))
    await lock.waiting(1)
    const sending = server.call('POST', `/api/v1/prenotazioni/${id}/invio`, body)
    await lock.waiting(2)
    await lock.release()
    t.equal((await saving).statusCode, 200)
    t.match((await sending).json(), { status: 409, codice: 'PRENOTAZIONE_CAMBIATA', prenotazione_id: id })
    t.same(police.callsOf('Send'), [])
    const again = await server.call('POST', `/api/v1/prenotazioni/${id}/invio`, body)
    t.equal(again.statusCode, 200, again.body)
    t.match(police.acquired(), [/CORRETTO/])
  }
})

t.test('a booking that is deleted before its Send reaches the ledger is not sent', async (t) => {
  const { police, server, sql, ids: [id] } = await bookedServer([1])
  const lock = await bookingLock(t, sql, id!, 'update')
  const deleting = server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [id] })
  await lock.waiting(1)
  const prenotazione = { id, check_in: testClock().today(), numero_notti: 3 }
  const sending = server.call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(1)], prenotazione })
  await lock.waiting(2)
  await lock.release()
  t.same((await deleting).json().deleted, [id])
  t.equal((await sending).statusCode, 404, (await sending).body)
  t.same(police.callsOf('Send'), [])
})

t.test('a day leaves out and reports the booking that was changed, and sends the others', async (t) => {
  const { police, server, sql, ids, save } = await bookedServer([1, 2])
  const lock = await bookingLock(t, sql, ids[0]!, 'update')
  const saving = save(ids[0]!, guestNo(1, { nome: 'CORRETTO' }))
  await lock.waiting(1)
  const sending = server.call('POST', GIORNATA, { prenotazioni: ids })
  await lock.waiting(2)
  await lock.release()
  await saving
  t.match((await sending).json().prenotazioni, [
    { stato: 'non_inviata', errors: [{ messaggio: /cambiata nel frattempo/ }], ricevute: [] },
    { stato: 'acquisita' }
  ])
  t.equal(police.acquired().length, 1)
  t.match((await server.call('POST', GIORNATA, { prenotazioni: ids })).json(), { success: true })
  t.match(police.acquired()[1], /CORRETTO/)
})
