import t from 'tap'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { guest } from '#test/documents/retaining.ts'
import { build, type TestApp } from '#test/helper.ts'

const FILE = '/api/alloggiati/file'
/** The servers of most tests, each of which finds its own empty. */
const sandbox = await build(t, { TODAY: today })
const police = await standIn(t)
const real = await production(t, police)

t.test(
  'the file holds byte for byte the rows that would be sent, with CRLF between them and none at the end',
  async (t) => {
    const server = await emptied(sandbox)
    const body = { ospiti: family({ cognome: "D'Énrico-Prova" }), prenotazione: soggiorno }
    const file = await server.call('POST', FILE, body)
    t.equal(file.statusCode, 200)
    t.equal(file.headers['content-type'], 'text/plain; charset=utf-8')
    t.equal(file.headers['content-disposition'], 'attachment; filename=schedine_2026-11-21.txt')
    t.equal(file.rawPayload.length, 168 + 2 + 168, 'no byte order mark')
    await server.call('POST', '/api/alloggiati/invio', body)
    const { data } = (await server.call('GET', '/api/alloggiati/sandbox/schedine')).json()
    t.equal(file.payload, data.map(({ riga }: { riga: string }) => riga).join('\r\n'))
  }
)

t.test('with an apartment the rows have 174 characters', async (t) => {
  const { call } = await emptied(sandbox)
  const file = await call('POST', FILE, {
    ospiti: [guestNo(1), guestNo(2)],
    prenotazione: { ...soggiorno, id_appartamento: 4 }
  })
  t.same(file.payload.split('\r\n').map((row) => [row.length, row.slice(168)]), [[174, '000004'], [174, '000004']])
})

t.test('a list with errors gives no file: 422 as for a submission', async (t) => {
  const { call } = await emptied(sandbox)
  const body = { ospiti: [single({ sesso: 'X' })], prenotazione: soggiorno }
  const [file, sent] = [await call('POST', FILE, body), await call('POST', '/api/alloggiati/invio', body)]
  t.equal(file.statusCode, 422)
  const { requestId: one, ...refused } = file.json()
  const { requestId: other, ...expected } = sent.json()
  t.not(one, other)
  t.strictSame(refused, expected)
})

t.test('a file registers nothing, calls no service, and is made while the service is down', async (t) => {
  const { app, call } = await emptied(real, police)
  await police.stop()
  const file = await call('POST', FILE, {
    ospiti: [guestNo(1)],
    prenotazione: { check_in: testClock().today(), numero_notti: 1 }
  })
  await police.start()
  t.equal(file.statusCode, 200)
  t.same(police.begun, [])
  for (const table of ['invii', 'invii_schedine', 'invii_numerazione']) {
    t.equal((await app.sql`select from ${app.sql(table)}`).length, 0, table)
  }
})

const book = async ({ call }: TestApp, nome_cognome: string, check_in = today) =>
  (await create(call, { nome_cognome, check_in })).id

const tieOf = async ({ call }: TestApp, ospiti: object[], prenotazione: object = soggiorno): Promise<unknown> => (
  (await call('POST', '/api/alloggiati/invio', { ospiti, prenotazione })).json().dettagli.prenotazione_id)

t.test('a submission belongs to the booking that it names', async (t) => {
  const server = await emptied(sandbox)
  await book(server, 'Marco Provetti')
  const id = await book(server, 'Anna Altrove')
  t.equal(await tieOf(server, [single()], { ...soggiorno, id }), id)
  t.same(await server.app.sql`select prenotazione_id from invii`, [{ prenotazione_id: id }])
})

t.test('a booking that does not exist is a 400, and nothing is sent', async (t) => {
  const server = await emptied(sandbox)
  const refused = await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single()],
    prenotazione: { ...soggiorno, id: 4711 }
  })
  t.equal(refused.statusCode, 400)
  t.match(refused.json().dettagli, [{ campo: 'prenotazione.id' }])
  t.same(await server.app.sql`select id from invii`, [])
  t.same(await server.app.sql`select id from sandbox_schedine`, [])
})

t.test(
  'without a name it is the booking of the main guest on that arrival, whichever name is written first',
  async (t) => {
    const server = await emptied(sandbox)
    await book(server, 'Marco Provetti', '2026-11-20')
    await book(server, 'Marco Provettini')
    const first = await book(server, '  marco   provettì ')
    const second = await book(server, 'Esempi, Lucia'.replace(',', ''))
    t.equal(await tieOf(server, [single()]), first)
    const couple = [guestNo(1, { cognome: 'Esempi', nome: 'Lucia' }), guestNo(2, { nome: 'ALTRO' })]
    t.equal(await tieOf(server, couple), second)
  }
)

t.test('the tie is left open when two bookings fit, or none', async (t) => {
  const server = await emptied(sandbox)
  await book(server, 'Marco Provetti')
  await book(server, 'Provetti Marco')
  t.equal(await tieOf(server, [single()]), null)
  t.equal(await tieOf(server, [guestNo(1, { nome: 'NESSUNO' })]), null)
})

t.test(
  'a booking whose submission is under way or unknown cannot be deleted; later it can, and the ledger stays',
  async (t) => {
    const server = await emptied(real, police)
    const { app, call } = server
    const day = testClock().today()
    const [going, unknown, free] = [
      await book(server, 'A B', day), await book(server, 'C D', day), await book(server, 'E F', day)
    ]
    const stay = (id: number) => ({ prenotazione: { check_in: day, numero_notti: 3, id } })

    police.on.Send = (socket) => socket.resetAndDestroy()
    await call('POST', '/api/alloggiati/invio', invio([guestNo(2)], stay(unknown)))
    const reply = held()
    police.on.Send = reply.behaviour
    const sending = call('POST', '/api/alloggiati/invio', invio([guestNo(1)], stay(going)))
    await reply.arrived

    for (const id of [going, unknown]) {
      const refused = await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [free, id] })
      t.match(refused.json(), { status: 409, codice: 'INVIO_IN_CORSO' })
    }
    t.equal((await app.sql`select from prenotazioni`).length, 3, 'nothing was deleted')

    reply.release(answer(rowsReply('Send', [true])))
    t.equal((await sending).statusCode, 200)
    const deleted = await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [free, going] })
    t.strictSame(deleted.json().deleted, [going, free])
    t.same(await app.sql`select stato, prenotazione_id from invii order by id`, [
      { stato: 'sconosciuto', prenotazione_id: unknown },
      { stato: 'acquisito', prenotazione_id: going }
    ])
    t.equal((await app.sql`select from invii_schedine`).length, 2)
  }
)

t.test('an acquired Send is answered as such, also when its booking is deleted before the answer', async (t) => {
  const { app, call } = await build(t, { TODAY: today })
  const { id } = await create(call, { check_in: today, numero_notti: 2, numero_ospiti: 2 })
  const saved = await saveGuests(call, id, [guest('UNO')])
  t.equal(saved.statusCode, 200, saved.body)
  // In the instant in which the outcome is written down: a deletion is refused until then.
  await app.sql.unsafe(`
    create function delete_booking () returns trigger language plpgsql as $$
      begin
        delete from prenotazioni where id = new.prenotazione_id;
        return null;
      end
    $$;
    create trigger delete_booking after update on invii for each row when (new.stato = 'acquisito')
      execute function delete_booking()`)
  const answer = await call('POST', `${BOOKINGS}/${id}/invio`, {})
  t.equal(answer.statusCode, 200, answer.body)
  t.match(answer.json(), { success: true, ricevuta: /^AW-/, dettagli: { schedine_inviate: 1, prenotazione_id: id } })
  t.equal((await call('GET', `${BOOKINGS}/${id}`)).statusCode, 404, 'it was deleted')
  t.match([...await app.sql`select stato, prenotazione_id from invii`], [{ stato: 'acquisito', prenotazione_id: id }])
})

/* A guest is corrected while the submission of the booking has not ended. */

const WORD = { confermo_diverso: true, motivo: 'Un ospite in più, concordato alla reception' }

t.test('a booking whose submission is under way is not called sent, and nobody can confirm more guests', async (t) => {
  const police = await standIn(t)
  const server = await production(t, police)
  const check_in = testClock().today()
  for (const numero_ospiti of [1, 2]) {
    const { id } = await create(server.call, { check_in, numero_ospiti })
    const save = (guest: object) => server.call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guest] })
    const send = async (body: object, headers = {}) =>
      (await server.call('POST', `/api/v1/prenotazioni/${id}/invio`, body, headers)).json()
    await save(guestNo(numero_ospiti))
    const login = held()
    police.on.GenerateToken = login.behaviour
    const { ricevuta } = await send({}, { prefer: 'respond-async' })
    await login.arrived
    await save(guestNo(10 + numero_ospiti))
    const refused = async () => {
      for (const body of [{}, { solo_mancanti: true }, WORD]) {
        const told = await send(body)
        t.match(told, { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, stato: /^(pronto|preso)$/ })
        t.notMatch(told.error, /inviato|confermo_diverso/)
      }
      // The day reports a booking of which one guest of two is saved.
      if (numero_ospiti === 2) return
      const day = (await server.call('POST', '/api/v1/invii/giornata', { prenotazioni: [id] })).json()
      t.match(day, { success: false, prenotazioni: [{ ricevute: [ricevuta] }] })
      t.match(day.prenotazioni[0].errors, [{ messaggio: new RegExp(`^L'invio ${ricevuta} è in corso`) }])
      t.equal(day.prenotazioni[0].errors.length, 1)
    }
    await refused()
    delete police.on.GenerateToken
    login.release((socket) => socket.destroy())
    await until(async () =>
      (await server.call('GET', `/api/v1/invii?ricevuta=${ricevuta}`)).json().data[0].stato === 'pronto')
    await refused()
  }
  t.equal(police.callsOf('Send').length, 0)
})

t.test('guests beyond their booking are told by what is known of each: sent, or of unknown outcome', async (t) => {
  const { call } = await emptied(real, police)
  const { id } = await create(call, { check_in: testClock().today() })
  const save = (...dati: object[]) => call('POST', '/api/saveOspiti', { prenotazione_id: id, dati })
  const seats = (numero_ospiti: number) => call('PUT', `/api/v1/prenotazioni/${id}`, { numero_ospiti })
  const send = async (body = {}) => (await call('POST', `/api/v1/prenotazioni/${id}/invio`, body)).json()
  const toldOfDay = async () => {
    const { prenotazioni } = (await call('POST', '/api/v1/invii/giornata', { prova: true })).json()
    return prenotazioni[0].errors.map(({ messaggio }: { messaggio: string }) => messaggio).join(' ')
  }
  await save(guestNo(1))
  const { ricevuta: sent } = await send()
  await save(guestNo(1), guestNo(2))
  police.on.Send = (socket) => socket.destroy()
  const { ricevuta: unknown } = await send({ solo_mancanti: true })

  await save(guestNo(3))
  const refused = await send()
  t.match(refused, { status: 409, codice: 'OSPITI_OLTRE_LA_PRENOTAZIONE', prenotazione_id: id, numero_ospiti: 2 })
  t.match(refused.error, `La prenotazione è per 2 ospiti, con 1 ospite già inviato (ricevuta ${sent}) e ` +
    `1 ospite di esito sconosciuto (ricevuta ${unknown}): con questo invio sarebbero di più. ` +
    'Di esito sconosciuto: attendere la ricevuta di domani, o far decidere un amministratore. ')
  t.match(refused.gia_inviati, [{ ricevuta: sent }, { ricevuta: unknown, stato: 'sconosciuto' }])

  await seats(3)
  await save(guestNo(1), guestNo(3))
  t.match(await send({ solo_mancanti: true }), {
    status: 409,
    codice: 'OSPITI_CAMBIATI',
    error: new RegExp(`^La prenotazione ha 1 ospite di esito sconosciuto \\(ricevuta ${unknown}\\),.* forse la Polizia`)
  })
  await seats(2)
  t.match(await toldOfDay(), new RegExp(`ricevuta ${unknown} ha ospiti.*, forse sono già comunicati`))
})
