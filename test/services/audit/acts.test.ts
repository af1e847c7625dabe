import t, { type Test } from 'tap'
import { detail, INVII, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo, invio, production, standIn } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, guests, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import type { TestApp } from '#test/helper.ts'
import { admin, unwritable } from './samples.ts'

/* The tests check which actions are logged, and that no action happens without an entry. */

const HOLD = `${INVII}/sospensione`
const UNAVAILABLE = { status: 503, codice: 'REGISTRO_NON_DISPONIBILE' }
const today = testClock().today()

async function prepare (t: Test) {
  const police = await standIn(t)
  const server = await production(t, police)
  const call = await admin(server)
  return {
    police,
    server,
    call,
    sql: server.app.sql,
    written: () => writtenIn(server),
    async decide (id: number, changes: object = {}) {
      const { versione } = await detail(server, id)
      return call('POST', `${INVII}/${id}/decisione`, {
        decisione: 'annulla',
        motivo: 'Guardato sul portale',
        versione,
        conferma: `1 ospite ${today}`,
        ...changes
      })
    }
  }
}

/** Log entries after an id, without times, client IPs and hashes. */
const writtenIn = async ({ app }: TestApp, after = 0) => [...await app.sql`
  select actor, action, object, details from audit_log where id > ${after} order by id`]

const common = await prepare(t)

/** A shared server for tests that send no guests. Each test sees only later log entries. */
async function inCommon () {
  const [{ last } = { last: 0 }] = await common.sql<{ last: number }[]>`
    select coalesce(max(id), 0)::int as last from audit_log`
  return { ...common, written: () => writtenIn(common.server, last) }
}

const remove = ({ call }: TestApp, ids: number[]) => call('POST', `${BOOKINGS}/delete-bulk`, { ids })

t.test('accepting a Send logs the author, client IP, submission, number of records and booking', async (t) => {
  const { server, sql, written } = await prepare(t)
  const { id: prenotazione_id } = await create(server.call, { check_in: today })
  const response = await server.app.inject({
    method: 'POST',
    url: '/api/alloggiati/invio',
    headers: { authorization: `Bearer ${await server.token()}` },
    remoteAddress: '192.0.2.44',
    payload: invio([guestNo(1), guestNo(2)], {
      prenotazione: { check_in: today, numero_notti: 3, id: prenotazione_id }
    })
  })
  t.equal(response.statusCode, 200, response.body)
  const [unit] = await sql`select id, ricevuta, operatore from invii`
  t.same(await written(), [
    {
      actor: unit!.operatore,
      action: 'invio',
      object: `invio:${unit!.ricevuta}`,
      details: { id: unit!.id, schedine: 2, prenotazione_id }
    }
  ])
  t.match(unit!.operatore, /^user:/)
  t.same(await sql`select ip from audit_log`, [{ ip: '192.0.2.44' }])
  t.same(
    await sql`select from audit_log a join invii_transizioni t on t.xmin = a.xmin where t.id = 1`,
    [{}],
    'in one transaction'
  )
})

t.test('a Send of a stored booking is logged, and a test call or a refused Send is not', async (t) => {
  const { server, written } = await prepare(t)
  const { id } = await create(server.call, { check_in: today, numero_ospiti: 1 })
  const { tipo_alloggiato, ...guest } = guestNo(1)
  const saved = await saveGuests(server.call, id, [{ ...guest, tipo_alloggiato, cittadinanza: '100000100' }])
  t.equal(saved.statusCode, 200, saved.body)
  t.equal((await server.call('POST', `${BOOKINGS}/${id}/invio`, { testMode: true })).statusCode, 200)
  t.same(await written(), [])
  t.equal((await server.call('POST', `${BOOKINGS}/${id}/invio`, {})).statusCode, 200)
  t.equal((await server.call('POST', `${BOOKINGS}/${id}/invio`, {})).statusCode, 409)
  t.equal((await server.call('POST', '/api/alloggiati/invio', invio([guestNo(2, { cognome: '' })]))).statusCode, 422)
  t.match(await written(), [{ actor: 'server', action: 'invio', details: { schedine: 1, prenotazione_id: id } }])
})

t.test('a decision is logged with its content, and a refused one is not', async (t) => {
  const { police, server, decide, written, sql } = await prepare(t)
  const id = await unknown(police, server)
  t.equal((await decide(id, { conferma: 'sì' })).statusCode, 400)
  t.equal((await decide(id)).statusCode, 200)
  const [decision] = await sql`select chi from invii_decisioni`
  t.same((await written()).slice(1), [
    { actor: decision!.chi, action: 'decisione', object: `invio:${id}`, details: { decisione: 'annulla' } }
  ])
  t.same(
    await sql`select action from audit_log a join invii_decisioni d on d.xmin = a.xmin`,
    [{ action: 'decisione' }],
    'in one transaction'
  )
})

t.test('suspending and resuming is logged', async (t) => {
  const { call, written, sql } = await inCommon()
  await call('POST', HOLD, { sospeso: true, motivo: 'Controllo delle credenziali' })
  t.equal(
    (await sql`select from audit_log a join invii_sospensioni s on s.xmin = a.xmin`).length,
    1,
    'in one transaction'
  )
  await call('POST', HOLD, { sospeso: false, motivo: 'Si riprende' })
  t.equal(
    (await sql`select from audit_log a join invii_sospensioni s on s.xmin = a.xmin`).length,
    1,
    'in one transaction'
  )
  const [{ chi } = {}] = await sql`select chi from invii_sospensioni`
  t.same(
    await written(),
    [true, false].map((sospeso) => ({ actor: chi, action: 'sospensione', object: null, details: { sospeso } }))
  )
})

t.test('deleted bookings are logged by id, and without a deletion no entry is written', async (t) => {
  const { server, written } = await inCommon()
  const ids = [(await create(server.call)).id, (await create(server.call)).id]
  await remove(server, [...ids, 4711])
  await remove(server, ids)
  t.same(await written(), [
    { actor: 'server', action: 'prenotazioni_eliminate', object: null, details: { ids: ids.map(String) } }
  ])
})

t.test(
  'when the audit log cannot be written, a Send is refused, sends no byte, and can be retried',
  async (t) => {
    const { police, server, sql } = await prepare(t)
    const writable = await unwritable(sql)
    const send = () => server.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]), { 'idempotency-key': 'una' })
    const refused = await send()
    t.match(refused.json(), UNAVAILABLE)
    t.match(refused.json().error, /non è stata eseguita/)
    t.ok(refused.headers['retry-after'])
    t.same(police.startedCalls, [])
    t.same(await sql`select from invii`, [])
    t.same(await sql`select from invii_schedine`, [])
    t.same(await sql`select from invii_transizioni`, [])
    await writable()
    t.equal((await send()).statusCode, 200, 'the refusal was not stored under the key')
    t.equal(police.callsOf('Send').length, 1)
  }
)

t.test('when the audit log cannot be written, no booking or guest is deleted', async (t) => {
  const { server, sql } = await inCommon()
  const { id } = await create(server.call)
  await saveGuests(server.call, id, guests(2))
  await sql`alter table audit_log rename to altrove`
  t.match((await remove(server, [id])).json(), UNAVAILABLE)
  t.equal((await server.call('GET', `${BOOKINGS}/${id}`)).json().data.ospiti.length, 2)
  await sql`alter table altrove rename to audit_log`
  t.match((await remove(server, [id])).json(), { deleted: [id] })
})

t.test('the log contains no personal data of guests and no text entered by users', async (t) => {
  const { police, server, sql, call, decide } = await prepare(t)
  const secret = { cognome: 'CANARINI', nome: 'ZELINDA', data_nascita: '1971-02-03', numero_documento: 'ZZ98765QQ' }
  const { id: prenotazione_id } = await create(server.call, {
    check_in: today,
    nome_cognome: 'Zelinda Canarini',
    email: 'zelinda@canarini.example'
  })
  police.on.Send = (socket) => socket.resetAndDestroy()
  await server.call(
    'POST',
    '/api/alloggiati/invio',
    invio([guestNo(1, secret)], { prenotazione: { check_in: today, numero_notti: 3, id: prenotazione_id } })
  )
  const [{ id } = { id: 0 }] = await sql<{ id: number }[]>`select id from invii`
  t.equal(
    (
      await decide(id, {
        motivo: 'La signora Zelinda Canarini è partita',
        decisione: 'depositato',
        protocollo: 'PEC di Zelinda'
      })
    ).statusCode,
    200
  )
  await call('POST', HOLD, { sospeso: true, motivo: 'Zelinda Canarini' })
  await remove(server, [prenotazione_id])
  const rows = await sql<
    { text: string }[]
  >`select row(actor, action, object, ip, details)::text as text from audit_log`
  t.equal(rows.length, 4)
  for (const { text } of rows) t.notMatch(text, /canarini|zelinda|1971-|\/1971|98765/i)
})
