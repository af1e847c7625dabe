import t from 'tap'
import { carryOut } from '#src/alloggiati/ledger/sending/worker.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { answer, respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, rowsReply, type StandIn } from '#test/alloggiati/stand-in.ts'
import { ledgerBench } from './bench.ts'

/*
 * A submission that may have been acquired and was decided to be sent again: what is learned of the first Send, and of
 * the second.
 */

t.test('a late proof stops what a person has decided to send again', async (t) => {
  const { police, worker, reserve, states, sql } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const late = carryOut(await worker(), id, true)
  await reply.arrived
  await decideToResend(sql, id)
  t.same(await states(), ['pronto/in_corso'])
  delete police.on.Send
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await late).stato, 'acquisito')
  t.equal((await carryOut(await worker(), id, true)).stato, 'acquisito')
  t.equal(police.callsOf('Send').length, 1)
})

t.test(
  'a late proof of what was sent again meanwhile raises an alarm, and counts whatever the second Send does',
  async (t) => {
    const { police, worker, reserve, states, sql, logs } = await ledgerBench(t)
    const { id, ricevuta } = await reserve([single()])
    const [first, second] = [held(), held()]
    police.on.Send = first.behaviour
    const late = carryOut(await worker(), id, true)
    await first.arrived
    await decideToResend(sql, id)
    police.on.Send = second.behaviour
    const again = carryOut(await worker(), id, true)
    await second.arrived
    first.release(answer(rowsReply('Send', [true])))
    t.equal((await late).stato, 'in_invio')
    t.ok(logs.some((line) => line.level === 50 && line.ricevuta === ricevuta && /duplicate/.test(String(line.msg))))
    second.release(respond('404 Not Found', ''))
    await again
    t.same(await sql`select numero, esito from invii_esiti order by numero, id`, [
      { numero: 1, esito: '?' },
      { numero: 1, esito: 'K' },
      { numero: 2, esito: 'N' }
    ])
    t.same(await states(), ['acquisito/acquisita'])
    await t.rejects(reserve([single()]), { code: 'SCHEDINE_GIA_INVIATE' })
  }
)

t.test('when the second Send fails, the first one stays in doubt: a person decides of its guests', async (t) => {
  const failures: Record<string, (police: StandIn) => void> = {
    'the Send is turned away': (police) => { police.on.Send = respond('404 Not Found', '') },
    'the Send refuses every row': (police) => { police.on.Send = answer(rowsReply('Send', [false, false])) },
    'the rehearsal refuses every row': (police) => { police.on.Test = answer(rowsReply('Test', [false, false])) },
    'the rehearsal refuses one row': (police) => { police.on.Test = answer(rowsReply('Test', [true, false])) },
    'the login is refused': (police) => { police.on.GenerateToken = respond('503 Service Unavailable', '') }
  }
  for (const [name, fail] of Object.entries(failures)) {
    await t.test(name, async (t) => {
      const { police, worker, reserve, states, sql } = await ledgerBench(t)
      const guests = [guestNo(1), guestNo(2)]
      const { id } = await reserve(guests)
      police.on.Send = (socket) => socket.resetAndDestroy()
      t.equal((await carryOut(await worker(), id, true)).stato, 'sconosciuto')
      await decideToResend(sql, id)
      delete police.on.Send
      fail(police)
      t.equal((await carryOut(await worker(), id, true)).stato, 'da_verificare')
      t.match((await states())[0], /^da_verificare\/(in_corso|sconosciuta),(in_corso|sconosciuta)$/)
      for (const guest of guests) await t.rejects(reserve([guest]), { code: 'SCHEDINE_GIA_INVIATE' })
    })
  }
})

t.test(
  'when a second Send is acquired in part, a person decides of the rest: the first Send may have filed it',
  async (t) => {
    const { police, worker, reserve, states, sql } = await ledgerBench(t)
    const { id } = await reserve([guestNo(1), guestNo(2)])
    police.on.Send = (socket) => socket.resetAndDestroy()
    await carryOut(await worker(), id, true)
    await decideToResend(sql, id)
    police.on.Send = answer(rowsReply('Send', [true, false]))
    t.equal((await carryOut(await worker(), id, true)).stato, 'da_verificare')
    t.same(await states(), ['da_verificare/acquisita,sconosciuta'])
  }
)

t.test('a reply that contradicts the receipt is kept, and stops what was to be sent again', async (t) => {
  const { police, worker, reserve, states, sql, logs } = await ledgerBench(t)
  const { id, ricevuta } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const late = carryOut(await worker(), id, true)
  await reply.arrived
  await sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, 'N', 'ricevuta')`
  await sql`update invii set stato = 'sconosciuto'`
  await sql`update invii set stato = 'pronto'`
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await late).stato, 'da_verificare')
  t.same(await states(), ['da_verificare/in_corso'])
  t.same(await sql`select esito, fonte, schedine, risposta is not null as kept from invii_esiti order by id`, [
    { esito: 'N', fonte: 'ricevuta', schedine: 0, kept: false },
    { esito: '?', fonte: 'risposta', schedine: 1, kept: true }
  ])
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === ricevuta))
})

/** A person gives a submission in flight up and decides to send it again. */
async function decideToResend (sql: Awaited<ReturnType<typeof ledgerBench>>['sql'], id: number): Promise<void> {
  await sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, '?', 'scadenza')`
  await sql`update invii set stato = 'sconosciuto' where id = ${id} and stato = 'in_invio'`
  await sql`update invii set stato = 'da_verificare' where id = ${id}`
  await sql`
    insert into invii_decisioni (invio_id, versione, decisione, chi, motivo)
    select id, versione, 'reinvia', 'prova', 'prova' from invii where id = ${id}`
  await sql`update invii_schedine set esito = 'in_corso' where invio_id = ${id} and esito = 'sconosciuta'`
  await sql`update invii set stato = 'pronto', lease_fino_al = now() where id = ${id}`
}
