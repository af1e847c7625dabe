import type postgres from 'postgres'
import t from 'tap'
import type { Reserved } from '#src/alloggiati/ledger/reserve.ts'
import { carryOut } from '#src/alloggiati/ledger/sending/worker.ts'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { family, single } from '#test/alloggiati/rules/samples.ts'
import { answer, respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, rowsReply, until } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { ledgerBench } from './bench.ts'

/* What becomes of submissions whose process has died, or that nobody waits for. */

/** The ledger of all tests, each of which finds it empty. */
const bench = await ledgerBench(t)
const anew = () => emptied(bench, bench.police)

/** A process has died that had the one in flight, and had claimed the other. */
async function leftByTheDead (sql: postgres.Sql, flying: Reserved, taken: Reserved): Promise<void> {
  await sql`update invii set stato = 'preso', proprietario = 'morto' where id in (${flying.id}, ${taken.id})`
  await sql`
    insert into invii_tentativi select id, 1, 'primo', now(), now(), now(), now(), 1, 3, 'x'
    from invii where id = ${flying.id}`
  await sql`update invii set stato = 'in_invio', tentativo = 1 where id = ${flying.id}`
}

t.test('the sweep does not touch a submission that a worker has claimed, nor one whose outcome is known', async (t) => {
  const { police, worker, reserve, expire, states, logs } = await anew()
  const [settled, sent, ready] = [await reserve([guestNo(1)]), await reserve([guestNo(2)]), await reserve([guestNo(3)])]
  await carryOut(await worker(), settled.id, true)
  const reply = held()
  police.on.Send = reply.behaviour
  const flight = carryOut(await worker(), sent.id, true)
  await reply.arrived
  await expire(settled)
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita', 'in_invio/in_corso', 'pronto/in_corso'])

  await expire(sent)
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita', 'sconosciuto/sconosciuta', 'pronto/in_corso'])
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === sent.ricevuta), 'what became unknown is alarmed')
  delete police.on.Send
  await expire(ready)
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita', 'sconosciuto/sconosciuta', 'acquisito/acquisita'])
  reply.release(respond('503 Service Unavailable', ''))
  await flight
})

t.test('the sweep sends a submission that no worker has claimed, once its lease is over', async (t) => {
  const { police, worker, reserve, expire, states } = await anew()
  await reserve(family())
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso,in_corso'], 'not before: somebody may be waiting')
  await expire()
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita,acquisita'])
  t.equal(police.acquired().length, 2)
})

t.test('a submission whose worker died before the dispatch is sent by the sweep; after it, never', async (t) => {
  for (const [operation, state, sends] of [
    ['GenerateToken', 'acquisito/acquisita', 1],
    ['Test', 'acquisito/acquisita', 1],
    ['Send', 'sconosciuto/sconosciuta', 1]
  ] as const) {
    await t.test(`it died at ${operation}`, async (t) => {
      const { police, worker, reserve, expire, states } = await anew()
      const { id } = await reserve([single()])
      const hanging = held()
      police.on[operation] = hanging.behaviour
      const dead = carryOut(await worker(), id, true)
      await hanging.arrived
      delete police.on[operation]
      for (let times = 0; times < 3; times++) {
        await expire()
        await sweep(await worker())
      }
      t.same(await states(), [state])
      t.equal(police.callsOf('Send').length, sends)
      hanging.release((socket) => socket.destroy())
      await dead
      t.same(await states(), [state])
      t.equal(police.callsOf('Send').length, sends)
    })
  }
})

t.test('sweeps at once send a submission once', async (t) => {
  const { police, worker, reserve, expire } = await anew()
  for (let n = 0; n < 4; n++) await reserve([guestNo(n)])
  await expire()
  const workers = await Promise.all(Array.from({ length: 4 }, () => worker()))
  await Promise.all(workers.map(sweep))
  await sweep(workers[0]!)
  t.equal(police.acquired().length, 4)
  t.same(twice(police.acquired()), [])
})

t.test('the submission with the earliest deadline is sent first', async (t) => {
  const { police, sql, worker, reserve, expire } = await anew()
  const late = await reserve([guestNo(1)])
  await reserve([guestNo(2)])
  await forced(sql, 'invii', `update invii set scadenza = scadenza + interval '1 hour' where id = ${late.id}`)
  await expire()
  await sweep(await worker())
  t.match(police.acquired(), [/NUMERATI BB /, /NUMERATI B /])
})

t.test('a Send that the web server refuses is tried again later, and its guests stay live meanwhile', async (t) => {
  const { police, sql, worker, reserve, expire, states } = await anew()
  await reserve([single()])
  police.on.Send = respond('404 Not Found', '')
  await expire()
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso'])
  t.same(await sql`select lease_fino_al > now() + interval '1 minute' as later from invii`, [{ later: true }])
  await t.rejects(reserve([single()]), { code: 'INVIO_IN_CORSO' })
  await sweep(await worker())
  t.equal(police.callsOf('Send').length, 1, 'not at once')
  delete police.on.Send
  await expire()
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita'])
  t.same(await sql`select numero, esito from invii_esiti order by id`, [
    { numero: 1, esito: 'N' },
    { numero: 2, esito: 'K' }
  ])
})

t.test(
  'rows that an earlier rehearsal refused count in a later Send: the submission is acquired in part',
  async (t) => {
    const { police, worker, reserve, expire, states } = await anew()
    await reserve([guestNo(1), guestNo(2)])
    police.on.Test = answer(rowsReply('Test', [true, false]))
    police.on.Send = respond('404 Not Found', '')
    await expire()
    await sweep(await worker())
    t.same(await states(), ['pronto/in_corso,rifiutata'])
    police.on = {}
    await expire()
    await sweep(await worker())
    t.same(await states(), ['parziale/acquisita,rifiutata'])
  }
)

t.test('one submission that cannot be carried out keeps no other waiting, nor the account', async (t) => {
  const { police, sql, worker, reserve, expire, states, logs } = await anew()
  const damaged = await reserve([guestNo(1)])
  await reserve([guestNo(2)])
  await forced(sql, 'invii_schedine', `update invii_schedine set riga = '\\x00' where invio_id = ${damaged.id}`)
  await expire()
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso', 'acquisito/acquisita'])
  t.equal(police.acquired().length, 1)
  t.ok(logs.some((line) => line.level === 50 && line.invio === damaged.id), 'it is alarmed')
  t.same(await sql`select from invii where stato = 'pronto' and lease_fino_al < now()`, [], 'and tried again later')
})

t.test(
  'the sweep ends what another account left in flight, and does not send what that account had ready',
  async (t) => {
    const { police, sql, worker, reserve, expire, states } = await anew()
    const flying = await reserve([guestNo(1)], { account: 'RM000009' })
    const taken = await reserve([guestNo(2)], { account: 'RM000008' })
    const ready = await reserve([guestNo(3)], { account: 'RM000007' })
    await leftByTheDead(sql, flying, taken)
    await expire()
    await sweep(await worker())
    t.same(await states(), ['sconosciuto/sconosciuta', 'pronto/in_corso', 'pronto/in_corso'])
    t.same(police.calls, [])
    t.ok(ready)
  }
)

t.test('what is ready of an account that is not used any more ends; a person decides where in doubt', async (t) => {
  const { police, sql, worker, reserve, states, logs } = await anew()
  await reserve([guestNo(1)], { account: 'RM000009' })
  const doubtful = await reserve([guestNo(2)], { account: 'RM000009' })
  await reserve([guestNo(3)], { account: 'RM000008' })
  await reserve([guestNo(4)], { account: 'sandbox:RM000009' })
  await forced(sql, 'invii_tentativi', `insert into invii_tentativi
    select id, 1, 'primo', now(), now(), now(), now(), 1, 3, 'x' from invii where id = ${doubtful.id}`)
  await sql`update invii set lease_fino_al = now() - interval '16 minutes'`
  await sql`update invii set lease_fino_al = now() - interval '14 minutes' where utente = 'RM000008'`
  await sweep(await worker())
  t.same(await states(), ['non_inviato/non_inviata', 'da_verificare/in_corso', 'pronto/in_corso', 'pronto/in_corso'])
  t.match(await sql`select nota from invii where stato = 'non_inviato'`, [{ nota: /account/ }])
  t.ok(logs.some((line) => line.level === 50 && line.invio === doubtful.id))
  t.same(police.calls, [])
})

t.test('without credentials, too, what a dead process left is ended', async (t) => {
  const { police, sql, url, reserve, expire, states } = await ledgerBench(t)
  const [flying, taken, ready] = [await reserve([guestNo(1)]), await reserve([guestNo(2)]), await reserve([guestNo(3)])]
  await leftByTheDead(sql, flying, taken)
  await expire()
  await sql`update invii set lease_fino_al = now() - interval '16 minutes' where id = ${ready.id}`
  const { logs } = await build(t, { ALLOGGIATI_MODE: 'production', DATABASE_URL: url })
  await until(async () => (await states())[2] === 'non_inviato/non_inviata')
  t.same(await states(), ['sconosciuto/sconosciuta', 'pronto/in_corso', 'non_inviato/non_inviata'])
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === flying.ricevuta), 'what became unknown is alarmed')
  t.same(police.calls, [])
})

t.test('a lease from a clock that was ahead keeps a submission no longer than any other', async (t) => {
  const { sql, worker, reserve, states } = await anew()
  await reserve([guestNo(1)])
  await sql`update invii set stato = 'preso', proprietario = 'morto', lease_fino_al = now() + interval '1 day'`
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita'])
})

/** A change that the triggers of a table refuse. */
async function forced (sql: postgres.Sql, table: string, statement: string): Promise<void> {
  await sql.unsafe(`alter table ${table} disable trigger user; ${statement}; alter table ${table} enable trigger user`)
}
