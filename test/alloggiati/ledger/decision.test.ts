import t from 'tap'
import { addDays, inRome } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family } from '#test/alloggiati/rules/samples.ts'
import { response, respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, until } from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { administrator, deliveryOver, detail, INVII, ledgerServer, sent, unknown } from './administrator.ts'
import { bookingLock } from './booking-lock.ts'

const today = testClock().today()
const shared = await ledgerServer(t)
/** Resets the shared server and its stand-in, and returns both. */
async function reset () {
  await emptied(shared.server, shared.police)
  return shared
}

const rowsOf = async (server: Parameters<typeof detail>[0], id: number) =>
  (await detail(server, id)).righe.map(({ esito }) => esito)

t.test('reinvia: an unknown submission is sent again at once, and the response has its outcome', async (t) => {
  const { police, server, decide, who } = await reset()
  const id = await unknown(police, server, family())
  t.match(await detail(server, id), {
    stato: 'sconosciuto', righe: [{ esito: 'sconosciuta' }, { esito: 'sconosciuta' }], tentativi: [{ esito: '?' }]
  })
  const { versione } = await detail(server, id)
  const decided = await decide(id, 'reinvia')
  t.equal(decided.statusCode, 200, decided.body)
  t.match(decided.json(), {
    status: 200,
    message: 'Decisione registrata. Stato dell’invio: acquisito per intero',
    data: {
      id,
      stato: 'acquisito',
      righe: [{ esito: 'acquisita' }, { esito: 'acquisita' }],
      tentativi: [{ numero: 1, esito: '?' }, { numero: 2, esito: 'K' }],
      decisioni: [
        {
          decisione: 'reinvia',
          versione: versione + 1,
          chi: await who(),
          motivo: 'Guardato sul portale',
          protocollo: null
        }
      ]
    }
  })
  t.equal(police.callsOf('Send').length, 2)
  t.equal(police.callsOf('Send')[0]!.rows.join(), police.callsOf('Send')[1]!.rows.join())
})

t.test('a resend that fails before the dispatch does not free a guest who may have been acquired', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  police.on.GenerateToken = (socket) => socket.resetAndDestroy()
  police.on.Test = (socket) => socket.resetAndDestroy()
  const decided = await decide(id, 'reinvia')
  t.equal(decided.statusCode, 200)
  t.equal(decided.json().data.stato, 'pronto', 'it is retried later')
  t.same(await rowsOf(server, id), ['in_corso'])
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('reinvia is refused when the arrival window has closed', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  await server.app.sql`alter table invii disable trigger invii_cambia`
  await server.app.sql`update invii set data_arrivo = ${addDays(today, -2)}`
  await server.app.sql`alter table invii enable trigger invii_cambia`
  const refused = await decide(id, 'reinvia')
  t.match(refused.json(), { status: 409, codice: 'DECISIONE_NON_POSSIBILE', error: /finestra di arrivo/ })
  t.equal((await detail(server, id)).stato, 'sconosciuto')
  t.equal((await decide(id, 'depositato')).statusCode, 200, 'other decisions are still possible')
})

t.test('reinvia is refused while the booking is not confirmed', async (t) => {
  const { police, server, decide } = await reset()
  const { id: booking } = await create(server.call, { check_in: today, numero_ospiti: 1 })
  const put = (stato: string) => server.call('PUT', `/api/v1/prenotazioni/${booking}`, { stato })
  await saveGuests(server.call, booking, [guestNo(1)])
  police.on.Send = (socket) => socket.resetAndDestroy()
  await server.call('POST', `/api/v1/prenotazioni/${booking}/invio`)
  police.on.Send = undefined
  await deliveryOver(server)
  await put('annullata')
  t.match((await decide(1, 'reinvia')).json(), { codice: 'DECISIONE_NON_POSSIBILE', error: /non è confermata/ })
  t.equal(police.callsOf('Send').length, 1)
  await put('confermata')
  t.match((await decide(1, 'reinvia')).json().data, { stato: 'acquisito' })
})

t.test('acquisito: the decision becomes the outcome of the attempt, with its rows and nights', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server, family())
  t.match((await decide(id, 'acquisito')).json().data, {
    stato: 'acquisito',
    righe: [{ esito: 'acquisita' }, { esito: 'acquisita' }],
    tentativi: [
      {
        esito: 'K',
        osservazioni: [{ esito: '?', fonte: 'risposta' }, { esito: 'K', fonte: 'decisione', schedine: 2, notti: 6 }]
      }
    ]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio(family()))).statusCode, 409, 'its guests stay live')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('depositato: the guests were filed by other means, with a protocol number, and stay live', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  const without = await decide(id, 'depositato', { protocollo: undefined })
  t.match(without.json(), { status: 400, dettagli: [{ campo: 'protocollo' }] })
  t.match((await decide(id, 'depositato')).json().data, {
    stato: 'depositato_altrove', righe: [{ esito: 'depositata' }], decisioni: [{ protocollo: 'PEC 2026/4711' }]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
})

t.test('annulla: guests who may have been acquired stay live', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  t.match((await decide(id, 'annulla')).json().data, { stato: 'annullato', righe: [{ esito: 'sconosciuta' }] })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('annulla: guests who were certainly not acquired are free again', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  await server.app.sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, 'N', 'ricevuta')`
  t.match((await decide(id, 'acquisito')).json(), { status: 409, error: /nessun tentativo/ })
  t.match((await decide(id, 'annulla')).json().data, {
    stato: 'annullato', righe: [{ esito: 'annullata' }], tentativi: [{ esito: 'N' }]
  })
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
})

t.test('a submission of another account is not sent again with this one', async (t) => {
  const { police, server } = await reset()
  const id = await unknown(police, server)
  const other = await production(t, police, {
    DATABASE_URL: server.url, DATA_DIR: server.dataDir, ALLOGGIATI_UTENTE: 'RM000002'
  })
  t.match((await administrator(other).decide(id, 'reinvia')).json(), { status: 409, error: /altro account/ })
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a decision without the typed phrase is refused, and the error contains the phrase', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server, family())
  for (const conferma of ['', 'sì', `1 ospite ${today}`, `2 ospiti ${addDays(today, 1)}`, `12 ospiti ${today}`]) {
    const refused = await decide(id, 'annulla', { conferma })
    t.match(
      refused.json(),
      { status: 400, dettagli: [{ campo: 'conferma', messaggio: `deve essere «2 ospiti ${today}»` }] },
      conferma
    )
  }
  t.equal((await detail(server, id)).stato, 'sconosciuto')
  t.equal(
    (await decide(id, 'annulla', { conferma: ` 2  OSPITI ${today} ` })).statusCode,
    200,
    'blanks and capitals do not matter'
  )
})

t.test('a decision on an outdated version is refused', async (t) => {
  const { police, server, decide } = await reset()
  const id = await unknown(police, server)
  const { versione } = await detail(server, id)
  for (const wrong of [versione - 1, versione + 1]) {
    t.match((await decide(id, 'acquisito', { versione: wrong })).json(), { status: 409, codice: 'INVIO_CAMBIATO' })
  }
  t.same((await detail(server, id)).decisioni, [])
})

t.test(
  'a submission with a known outcome cannot be decided on, and one that does not exist is not found',
  async (t) => {
    const { server, decide, admin } = await reset()
    const id = await sent(server)
    t.match((await decide(id, 'annulla')).json(), { status: 409, codice: 'NULLA_DA_DECIDERE' })
    const body = { decisione: 'annulla', motivo: 'Guardato sul portale', versione: 4, conferma: `1 ospite ${today}` }
    t.match((await admin('POST', `${INVII}/4711/decisione`, body)).json(), { status: 404, codice: 'INVIO_NON_TROVATO' })
  }
)

t.test('when administrators decide concurrently on two servers, one succeeds and the others get a 409', async (t) => {
  const { police, server } = await reset()
  const other = await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  const id = await unknown(police, server)
  const people = Array.from({ length: 8 }, (_, n) => administrator(n % 2 ? server : other, `amministratore-${n}`))
  const choices = ['reinvia', 'acquisito', 'depositato', 'annulla']
  const responses = await Promise.all(people.map(({ decide }, n) => decide(id, choices[n % 4]!)))
  t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, ...Array.from({ length: 7 }, () => 409)])
  t.equal((await detail(server, id)).decisioni.length, 1)
})

t.test('a submission that the receipt counts is neither sent again nor cancelled', async (t) => {
  const { police, server, decide } = await reset()
  const reply = held()
  police.on.Send = reply.behaviour
  const sending = sent(server)
  await reply.arrived
  const [{ id } = { id: 0 }] = await server.app.sql<{ id: number }[]>`select id from invii`
  await server.app.sql`update invii set stato = 'sconosciuto' where id = ${id}`
  await server.app.sql`update invii set stato = 'da_verificare' where id = ${id}`
  await server.app.sql`
    insert into invii_esiti (invio_id, numero, esito, fonte, schedine, notti)
    values (${id}, 1, 'K', 'ricevuta', 1, 3)`
  for (const decisione of ['reinvia', 'annulla']) {
    t.match((await decide(id, decisione)).json(), { status: 409, error: /ha acquisito/ }, decisione)
  }
  t.equal(
    (await decide(id, 'acquisito')).json().data.tentativi[0].osservazioni.length,
    1,
    'and no second outcome is recorded'
  )
  reply.release(response(rowsReply('Send', [true])))
  await sending
})

t.test('a retry with the same Idempotency-Key gets the same response, without a second call', async (t) => {
  const { police, server } = await reset()
  const id = await unknown(police, server)
  const { versione } = await detail(server, id)
  const headers = { authorization: `Bearer ${await server.token({ service: true })}`, 'idempotency-key': 'una' }
  const payload = { decisione: 'reinvia', motivo: 'Guardato sul portale', versione, conferma: `1 ospite ${today}` }
  const decide = () => server.app.inject({ method: 'POST', url: `${INVII}/${id}/decisione`, headers, payload })
  const [first, second] = [await decide(), await decide()]
  t.equal(second.body, first.body)
  t.equal(police.callsOf('Send').length, 2)
})

/* A submission that could not be sent waits for a retry, and can be withdrawn. Outdated data are not sent. */

const GIORNATA = `${INVII}/giornata`

/** Another server on the database of the shared one. */
const other = await production(t, shared.police, { DATABASE_URL: shared.server.url, DATA_DIR: shared.server.dataDir })

/** A booking of one guest. The web server has refused its Send, so its submission waits for a retry. */
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
  /** Makes the retry due, and runs the sweep of another server. */
  const retry = async (stato: string) => {
    await sql`update invii set lease_fino_al = now() - interval '1 second'`
    // The previous sweep may still run.
    await until(async () => await other.app.jobs.start('ledger-sweep', async () => {}) !== 'running')
    await until(async () => (await detail(server, id)).stato === stato)
    return other
  }
  return { police, server, booking, id, ricevuta, save, send, retry, ...people }
}

t.test('a submission that waits for a retry shows when it is retried, and that it can be withdrawn', async (t) => {
  const { server, booking, ricevuta, save, send } = await waitingServer()
  const [{ due } = { due: '' }] = await server.app.sql<{ due: string }[]>`select lease_fino_al::text as due from invii`
  const retryText = `si riprova da solo, il ${inRome(new Date(due))}. Fino ad allora un amministratore lo può annullare`
  const refused = async () => {
    const answered = await send()
    t.match(answered, { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, riprova_il: new Date(due).toISOString() })
    t.ok(answered.error.includes(retryText), answered.error)
    const missing = await server.call('POST', `/api/v1/prenotazioni/${booking}/invio`, { solo_mancanti: true })
    t.ok(missing.json().error.includes(retryText), 'with solo_mancanti')
    const day = (await server.call('POST', GIORNATA, { prenotazioni: [booking] })).json()
    t.match(day.prenotazioni, [{ ricevute: [ricevuta], errors: [{ campo: 'ospiti' }] }])
    t.ok(day.prenotazioni[0].errors[0].messaggio.includes(retryText), 'of the day')
  }
  await refused()
  await save(guestNo(2))
  await refused()
})

t.test('the same key returns the retry time of a waiting submission, and none for a running one', async (t) => {
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

t.test('a withdrawn submission is recorded, frees its guests, and is never sent', async (t) => {
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
  t.equal(police.callsOf('Send').length, 1, 'the submission that the web server refused')
  t.match(await send(), { success: true })
  t.equal(police.acquired().length, 1)
})

t.test('a waiting submission whose booking changed is not sent, frees its guests and raises an alarm', async (t) => {
  for (const change of ['guest', 'stay'] as const) {
    const { police, server, booking, id, ricevuta, save, send, retry } = await waitingServer()
    if (change === 'guest') await save(guestNo(1, { nome: 'CORRETTO' }))
    else await server.call('PUT', `/api/v1/prenotazioni/${booking}`, { numero_notti: 5 })
    const other = await retry('non_inviato')
    await until(() => other.logs.some(({ msg, ricevuta: about }) =>
      about === ricevuta && String(msg).startsWith('a waiting submission was not sent: its booking has changed')))
    t.match(await detail(server, id), {
      nota: 'la prenotazione è cambiata dopo la richiesta', righe: [{ esito: 'non_inviata' }]
    })
    t.equal(police.acquired().length, 0)
    t.match(await send(), { success: true })
    t.match(police.acquired(), change === 'guest' ? [/CORRETTO/] : [/^16..\/..\/....05/])
  }
})

t.test('a waiting submission is sent when no data for the police changed in its booking', async (t) => {
  const { police, server, booking, retry } = await waitingServer()
  const change = { telefono: '+39 333 1234567', check_in: testClock().today(), numero_notti: 3 }
  const changed = await server.call('PUT', `/api/v1/prenotazioni/${booking}`, change)
  t.equal(changed.statusCode, 200)
  await retry('acquisito')
  t.equal(police.acquired().length, 1)
})

t.test('a submission that may have been acquired is referred to a person when its booking changed', async (t) => {
  const { police, server, id, save, retry, decide } = await waitingServer()
  police.on.Send = (socket) => socket.resetAndDestroy()
  await retry('sconosciuto')
  await deliveryOver(server)
  await save(guestNo(1, { nome: 'CORRETTO' }))
  police.on = { Test: (socket) => socket.resetAndDestroy() }
  t.match((await decide(id, 'reinvia')).json().data, { stato: 'pronto' })
  t.match(police.calls.at(-1), { operation: 'Test' }, "after a person's decision it is sent")
  await save(guestNo(1, { nome: 'CAMBIATO' }))
  police.on = {}
  await retry('da_verificare')
  t.match(await detail(server, id), { righe: [{ esito: 'in_corso' }] })
  t.equal(police.callsOf('Send').length, 2)
})

/** Creates bookings with one saved guest each, who arrives today. */
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

t.test('a Send does not use old guests if new ones are saved before it reaches the ledger', async (t) => {
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

t.test('a day skips and reports a changed booking, and sends the others', async (t) => {
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
