import t from 'tap'
import { build, type TestApp } from '#test/helper.ts'
import { single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn } from '#test/alloggiati/stand-in.ts'
import { createClock } from '#src/lib/time.ts'

const TODAY = { TODAY: today }

async function book ({ call }: TestApp, nome_cognome: string, check_in = today): Promise<number> {
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome,
    lingua: 'IT',
    paese_id: 380,
    check_in,
    numero_notti: 3,
    numero_ospiti: 2
  })
  return created.json().data.id
}

const tieOf = async ({ call }: TestApp, ospiti: object[], prenotazione: object = soggiorno): Promise<unknown> => (
  (await call('POST', '/api/alloggiati/invio', { ospiti, prenotazione })).json().dettagli.prenotazione_id)

t.test('a submission belongs to the booking that it names', async (t) => {
  const server = await build(t, TODAY)
  await book(server, 'Marco Provetti')
  const id = await book(server, 'Anna Altrove')
  t.equal(await tieOf(server, [single()], { ...soggiorno, id }), id)
  t.same(await server.app.sql`select prenotazione_id from invii`, [{ prenotazione_id: id }])
})

t.test('a booking named in soggiorno counts as well', async (t) => {
  const server = await build(t, TODAY)
  const id = await book(server, 'Anna Altrove')
  const sent = await server.call('POST', '/api/alloggiati/invio', {
    ospiti: [single()],
    prenotazione: soggiorno,
    soggiorno: { id }
  })
  t.equal(sent.json().dettagli.prenotazione_id, id)
})

t.test('a booking that does not exist is a 400, and nothing is sent', async (t) => {
  const server = await build(t, TODAY)
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
    const server = await build(t, TODAY)
    await book(server, 'Marco Provetti', '2026-11-20')
    await book(server, 'Marco Provettini')
    const first = await book(server, '  marco   provettì ')
    const second = await book(server, 'Esempi, Lucia'.replace(',', ''))
    t.equal(await tieOf(server, [single()]), first)
    const couple = [guestNo(1, { cognome: 'Esempi', nome: 'Lucia' }), guestNo(2, { nome: 'ALTRO' })]
    t.equal(await tieOf(server, couple), second)
  }
)

t.test('where two bookings fit, or none, the tie is left open', async (t) => {
  const server = await build(t, TODAY)
  await book(server, 'Marco Provetti')
  await book(server, 'Provetti Marco')
  t.equal(await tieOf(server, [single()]), null)
  t.equal(await tieOf(server, [guestNo(1, { nome: 'NESSUNO' })]), null)
})

t.test(
  'a booking whose submission is under way or unknown cannot be deleted; later it can, and the ledger stays',
  async (t) => {
    const police = await standIn(t)
    const server = await production(t, police)
    const { app, call } = server
    const day = createClock().today()
    const [going, unknown, free] = [
      await book(server, 'A B', day),
      await book(server, 'C D', day),
      await book(server, 'E F', day)
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
