import t from 'tap'
import { createClock, inRome } from '#src/lib/time.ts'
import { answer, respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, production, rowsReply, until } from '#test/alloggiati/stand-in.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { bookingLock, type Sql } from './booking-lock.ts'
import { deliveryOver, detail, INVII, ledgerServer } from './administrator.ts'

/* A submission that could not leave waits for its next try: it can be withdrawn, and once it is stale it stays. */

const GIORNATA = `${INVII}/giornata`

/** Done between the save of the guest and the Send; what it returns is called when the Send has been refused. */
type Meanwhile = (booking: { id: number, sql: Sql, save: (guest: object) => Promise<unknown> }) =>
Promise<() => Promise<void>>

/** The servers of all tests, each of which finds them empty: where guests are sent, and another on its database. */
const shared = await ledgerServer(t)
const other = await production(t, shared.police, { DATABASE_URL: shared.server.url, DATA_DIR: shared.server.dataDir })

/** A booking of one guest whose Send the web server has refused: it is tried again later. */
async function waitingServer (meanwhile?: Meanwhile) {
  const { police, server, ...people } = shared
  await emptied(server, police)
  other.logs.length = 0
  const { call, app: { sql } } = server
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome: 'Marco Provetti',
    lingua: 'IT',
    paese_id: 380,
    check_in: createClock().today(),
    numero_notti: 3,
    numero_ospiti: 1
  })
  const { id: booking } = created.json().data
  const save = (guest: object) => call('POST', '/api/saveOspiti', { prenotazione_id: booking, dati: [guest] })
  const send = async (headers: Record<string, string> = {}) =>
    (await call('POST', `/api/v1/prenotazioni/${booking}/invio`, {}, headers)).json()
  await save(guestNo(1))
  const afterwards = await meanwhile?.({ id: booking, sql, save })
  police.on.Send = respond('404 Not Found', '')
  const { ricevuta } = await send({ prefer: 'respond-async' })
  const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`select id from invii`
  await until(async () => {
    const { stato, versione } = await detail(server, id)
    return stato === 'pronto' && versione > 0
  })
  delete police.on.Send
  await afterwards?.()
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
  const body = { ospiti: [guestNo(1)], prenotazione: { check_in: createClock().today(), numero_notti: 3 } }
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

t.test('one that is at work cannot be withdrawn, and leaves', async (t) => {
  const { police, server, id, retry, decide } = await waitingServer()
  const rehearsal = held()
  police.on.Test = rehearsal.behaviour
  await retry('preso')
  await rehearsal.arrived
  t.match((await decide(id, 'annulla')).json(), { status: 409, codice: 'NULLA_DA_DECIDERE' })
  rehearsal.release(answer(rowsReply('Test', [true])))
  await until(async () => (await detail(server, id)).stato === 'acquisito')
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

t.test('what waited does not leave when a change came after it that had been asked for before it', async (t) => {
  const { police, id, send, retry } = await waitingServer(async ({ id, sql, save }) => {
    // Shared: the submission passes, the change waits.
    const lock = await bookingLock(t, sql, id, 'share')
    const saving = save(guestNo(1, { nome: 'CORRETTO' }))
    await lock.waiting(1)
    return async () => {
      await lock.release()
      await saving
    }
  })
  await retry('non_inviato')
  t.equal(police.acquired().length, 0)
  t.match(await send(), { success: true })
  t.match(police.acquired(), [/CORRETTO/], `of submission ${id} nothing`)
})

t.test('what waited leaves when nothing of its booking has changed that goes to the police', async (t) => {
  const { police, server, booking, retry } = await waitingServer()
  const change = { telefono: '+39 333 1234567', check_in: createClock().today(), numero_notti: 3 }
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

t.test('what waited, and whose booking is as it was, leaves as it was asked for', async (t) => {
  const { police, retry } = await waitingServer()
  await retry('acquisito')
  t.equal(police.acquired().length, 1)
})
