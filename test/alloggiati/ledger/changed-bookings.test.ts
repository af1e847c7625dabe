import t, { type Test } from 'tap'
import { createClock } from '#src/lib/time.ts'
import { respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, production, until } from '#test/alloggiati/stand-in.ts'
import { bookingLock } from './booking-lock.ts'
import { detail, INVII, ledgerServer } from './administrator.ts'

/* A booking changes between the reading of its guests and the moment when its submission is written down. */

const GIORNATA = `${INVII}/giornata`

/** Bookings of one saved guest each, that arrive today. */
async function bookedServer (t: Test, guests: readonly number[]) {
  const { police, server } = await ledgerServer(t)
  const save = (prenotazione_id: number, guest: object) =>
    server.call('POST', '/api/saveOspiti', { prenotazione_id, dati: [guest] })
  const ids: number[] = []
  for (const n of guests) {
    const created = await server.call('POST', '/api/v1/prenotazioni', {
      nome_cognome: 'Marco Provetti',
      lingua: 'IT',
      paese_id: 380,
      check_in: createClock().today(),
      numero_notti: 3,
      numero_ospiti: 1
    })
    ids.push(created.json().data.id)
    await save(ids.at(-1)!, guestNo(n))
  }
  return { police, server, sql: server.app.sql, ids, save }
}

t.test('guests that were saved while a Send was on its way to the ledger: the old ones are not sent', async (t) => {
  for (const body of [{}, { solo_mancanti: true }]) {
    const { police, server, sql, ids: [id], save } = await bookedServer(t, [1])
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

t.test('of a booking that is deleted while a Send is on its way to the ledger nothing is sent', async (t) => {
  const { police, server, sql, ids: [id] } = await bookedServer(t, [1])
  const lock = await bookingLock(t, sql, id!, 'update')
  const deleting = server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [id] })
  await lock.waiting(1)
  const prenotazione = { id, check_in: createClock().today(), numero_notti: 3 }
  const sending = server.call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(1)], prenotazione })
  await lock.waiting(2)
  await lock.release()
  t.same((await deleting).json().deleted, [id])
  t.equal((await sending).statusCode, 404, (await sending).body)
  t.same(police.callsOf('Send'), [])
})

t.test('of a day the booking that was changed is left out, and told; the others are sent', async (t) => {
  const { police, server, sql, ids, save } = await bookedServer(t, [1, 2])
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

t.test('the alarm of a list of a day that waited names the booking that changed', async (t) => {
  const { police, server, sql, ids, save } = await bookedServer(t, [1, 2])
  police.on.Send = respond('404 Not Found', '')
  const prefer = { prefer: 'respond-async' }
  const sent = await server.call('POST', GIORNATA, { prenotazioni: ids }, prefer)
  t.equal(sent.headers['preference-applied'], 'respond-async')
  // Nobody would have waited for the end of what these have not begun.
  for (const body of [{ prova: true }, { prenotazioni: ids }]) {
    const looked = await server.call('POST', GIORNATA, body, prefer)
    t.match(looked.json().prenotazioni, [{ stato: 'in_corso' }, { stato: 'in_corso' }])
    t.notOk('preference-applied' in looked.headers)
  }
  const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`select id from invii`
  await until(async () => {
    const { stato, versione } = await detail(server, id)
    return stato === 'pronto' && versione > 0
  })
  delete police.on.Send
  await save(ids[1]!, guestNo(2, { nome: 'CORRETTO' }))
  await sql`update invii set lease_fino_al = now() - interval '1 second'`
  const other = await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  const isAlarm = ({ msg }: { msg?: unknown }) => String(msg).startsWith('a submission that waited was not sent')
  await until(() => other.logs.some(isAlarm))
  t.match(other.logs.find(isAlarm), { invio: id })
  t.same(other.logs.find(isAlarm)?.prenotazioni, [ids[1]])
})
