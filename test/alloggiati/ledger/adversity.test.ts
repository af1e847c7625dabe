import { sql as query } from 'drizzle-orm'
import type postgres from 'postgres'
import t from 'tap'
import { attribute, lockChain } from '#src/alloggiati/ledger/moves.ts'
import { carryOut } from '#src/alloggiati/ledger/sending/carry-out.ts'
import { suspendSending } from '#src/alloggiati/ledger/suspension.ts'
import { waitingCaller } from '#src/alloggiati/schedine/requester.ts'
import { addDays, dayInRome, instantInRome } from '#src/lib/time.ts'
import { connect, type Executor } from '#src/database/connect.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { response, respond } from '#test/alloggiati/service/soap/server.ts'
import { guestNo, held, invio, production, rowsReply, standIn, type StandIn, until } from '#test/alloggiati/stand-in.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { testClock } from '#test/clock.ts'
import { ledgerHarness } from './harness.ts'

/* The ledger when the database fails, around midnight, and in races with other processes. */

/** The shared ledger, which each test resets. */
const harness = await ledgerHarness(t)
const reset = () => emptied(harness, harness.police)

/** Makes the database refuse every claim until the returned function is called. */
async function refuseClaims (sql: postgres.Sql): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    create function refuse_claim () returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$;
    create trigger refuse_claim before update on invii for each row when (new.stato = 'preso')
      execute function refuse_claim ()`)
  return () => sql.unsafe('drop trigger refuse_claim on invii')
}

t.test(
  'a request whose claim fails returns INVIO_IN_CORSO with its reference, and the sweep sends it later',
  async (t) => {
    const police = await standIn(t)
    const server = await production(t, police)
    const { app, call, logs } = server
    const allow = await refuseClaims(app.sql)
    const failed = (await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).json()
    t.match(failed, { status: 422, codice: 'INVIO_IN_CORSO', ricevuta: /^AW-/ })
    t.ok(logs.some((line) => line.level === 50 && line.ricevuta === failed.ricevuta), 'an alarm names it')
    t.same(police.calls, [])
    await allow()
    await app.sql`update invii set lease_fino_al = now() - interval '1 second'`
    await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
    await until(() => police.acquired().length === 1)
  }
)

t.test('a submission that fails before the dispatch is not sent, and the waiting caller gets the error', async (t) => {
  const { police, sql, worker, reserve, states } = await reset()
  const { id } = await reserve([single()])
  await sql`alter table invii_schedine disable trigger user`
  await sql`update invii_schedine set riga = '\\x00'`
  t.match(await carryOut(await worker(), id, true), {
    stato: 'non_inviato', causa: undefined, errore: 'errore interno'
  })
  t.same(await states(), ['non_inviato/non_inviata'])
  t.same(police.calls, [])
})

t.test('a suspension between the test call and the Send stops the Send', async (t) => {
  const { police, db, worker, reserve, states } = await reset()
  const { id } = await reserve([single()])
  const testCall = held()
  police.on.Test = testCall.behaviour
  const done = carryOut(await worker(), id, true)
  await testCall.arrived
  await suspendSending(db, 'prova', 'prova')
  testCall.release(response(rowsReply('Test', [true])))
  t.equal((await done).stato, 'non_inviato')
  t.notOk(police.startedCalls.includes('Send'))
  t.same(await states(), ['non_inviato/non_inviata'])
  t.match(await carryOut(await worker(), id, true), { stato: 'non_inviato', causa: 'INVII_SOSPESI' }, 'also on retry')
})

t.test('a submission reported as in progress while the chain is locked is not withdrawn later', async (t) => {
  for (const failing of ['the suspension', 'Send']) {
    await t.test(`failure of ${failing}`, async (t) => {
      const { police, db, sql, worker, reserve, states } = await reset()
      const { id } = await reserve([guestNo(1)])
      const caller = waitingCaller({ isAsync: false, hasDisconnected: () => false, waitedMs: () => 0 })
      const [call, end] = [held(), Promise.withResolvers<void>()]
      let done: Promise<unknown> | undefined
      if (failing === 'the suspension') await suspendSending(db, 'prova', 'prova')
      else {
        police.on[failing] = call.behaviour
        done = carryOut(await worker(), id, caller)
        await call.arrived
      }
      const other = db.transaction(async (tx) => {
        await lockChain(tx)
        call.release(respond('404 Not Found', ''))
        done ??= carryOut(await worker(), id, caller)
        await end.promise
      })
      await until(async () => (await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`).length > 0)
      t.ok(caller.keepWaiting(), 'the caller gets the result')
      await caller.waitFor(Promise.resolve(), 0)
      end.resolve()
      await Promise.all([other, done])
      t.same(await states(), ['pronto/in_corso'])
    })
  }
})

t.test('when a worker\'s dispatch fails, it writes nothing about another worker\'s attempt in flight', async (t) => {
  const { police, sql, worker, reserve, states, headIn } = await reset()
  const { id } = await reserve([single()])
  const [reached, gate, reply] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), held()]
  const head = headIn(t.testdir())
  // Only the dispatch calls this query.
  const last = async () => {
    reached.resolve()
    await gate.promise
    return head.last()
  }
  const late = carryOut(await worker({ chainHead: { ...head, last } }), id, true)
  await reached.promise
  await sql`update invii set stato = 'pronto', proprietario = null`
  police.on.Send = reply.behaviour
  const other = carryOut(await worker(), id, true)
  await reply.arrived
  gate.resolve()
  await late
  t.same(await states(), ['in_invio/in_corso'])
  t.same(await sql`select from invii_esiti`, [])
  reply.release(response(rowsReply('Send', [true])))
  t.equal((await other).stato, 'acquisito')
})

t.test('the ledger commits synchronously, even if the default of the database is asynchronous', async (t) => {
  const { url } = await reset()
  const { db, close } = connect(url, 1, { synchronous_commit: 'off' })
  t.teardown(close)
  const setting = async (executor: Executor) =>
    (await executor.execute(query`select current_setting('synchronous_commit') as it`))[0]
  t.match(await setting(db), { it: 'off' })
  await db.transaction(async (tx) => {
    await attribute(tx, 'prova', 'prova')
    t.match(await setting(tx), { it: 'on' })
  })
})

t.test('the recording of a reply is retried after a database error, unless a trigger refused it', async (t) => {
  // Counts with a sequence, which a rollback does not reset.
  const refuse = (sql: postgres.Sql, code: string, times: number) => sql.unsafe(`
    create sequence tries;
    create function refuse_outcome () returns trigger language plpgsql as $$ begin
      if nextval('tries') <= ${times} then raise exception 'refused' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger refuse_outcome before insert on invii_esiti for each row execute function refuse_outcome ()`)
  for (const code of ['53100', 'XX000']) {
    await t.test(`a transient ${code}`, async (t) => {
      const { sql, worker, reserve, states } = await ledgerHarness(t)
      await refuse(sql, code, 1)
      await carryOut(await worker(), (await reserve([single()])).id, true)
      t.same(await states(), ['acquisito/acquisita'])
    })
  }
  for (const code of ['LC001']) {
    await t.test(`a permanent ${code}`, async (t) => {
      const { sql, worker, reserve, states } = await ledgerHarness(t)
      await refuse(sql, code, 1)
      await carryOut(await worker(), (await reserve([single()])).id, true)
      t.same(await states(), ['in_invio/in_corso'], 'the sweep retries it')
      t.same(await sql`select last_value::int as tries from tries`, [{ tries: 1 }])
    })
  }
})

t.test('from 23:58 no submission is dispatched: it stays ready, and is sent at 00:02', async (t) => {
  for (const quietAt of ['the start', 'the test call']) {
    await t.test(`quiet at ${quietAt}`, async (t) => {
      const { police, worker, reserve, states } = await reset()
      const today = testClock().today()
      const eve = instantInRome(today, 23, 58)
      let now = new Date(eve.getTime() - (quietAt === 'the start' ? 0 : 1000))
      const clock = { now: () => now, today: () => dayInRome(now) }
      const testCall = held()
      if (quietAt === 'the test call') police.on.Test = testCall.behaviour
      const { id } = await reserve([single()])
      const done = carryOut(await worker({ clock }), id, true)
      if (quietAt === 'the test call') {
        await testCall.arrived
        now = eve
        delete police.on.Test
        testCall.release(response(rowsReply('Test', [true])))
        await until(async () => (await states())[0] === 'pronto/in_corso')
      }
      t.same(await states(), ['pronto/in_corso'])
      t.notOk(police.startedCalls.includes('Send'))
      now = instantInRome(addDays(today, 1), 0, 2)
      t.equal((await done).stato, 'acquisito')
    })
  }
})

t.test('an arrival that the service accepts only until midnight is still sent at 23:59', async (t) => {
  const { worker, reserve } = await reset()
  const tomorrow = addDays(testClock().today(), 1)
  const now = instantInRome(tomorrow, 23, 59)
  const { id } = await reserve([single()])
  const late = await worker({ clock: { now: () => now, today: () => tomorrow } })
  t.equal((await carryOut(late, id, true)).stato, 'acquisito')
})

t.test('a submission is not created when the audit log cannot record it', async (t) => {
  const { sql, reserve } = await reset()
  const audit = { append: async () => { throw new Error('no audit') } }
  await t.rejects(reserve([single()], {}, { audit }), { message: 'no audit' })
  t.same(await sql`select from invii`, [])
})

/*
 * A person decides to resend a submission that may have been acquired. Then the reply to the first Send arrives late,
 * or the second Send fails.
 */

t.test('a late reply that the guests were acquired stops a resend that a person decided', async (t) => {
  const { police, worker, reserve, states, sql } = await reset()
  const { id } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const late = carryOut(await worker(), id, true)
  await reply.arrived
  await decideToResend(sql, id)
  t.same(await states(), ['pronto/in_corso'])
  delete police.on.Send
  reply.release(response(rowsReply('Send', [true])))
  t.equal((await late).stato, 'acquisito')
  t.equal((await carryOut(await worker(), id, true)).stato, 'acquisito')
  t.equal(police.callsOf('Send').length, 1)
})

t.test(
  'a late reply after a resend raises an alarm, and counts even if the second Send fails',
  async (t) => {
    const { police, worker, reserve, states, sql, logs } = await reset()
    const { id, ricevuta } = await reserve([single()])
    const [first, second] = [held(), held()]
    police.on.Send = first.behaviour
    const late = carryOut(await worker(), id, true)
    await first.arrived
    await decideToResend(sql, id)
    police.on.Send = second.behaviour
    const again = carryOut(await worker(), id, true)
    await second.arrived
    first.release(response(rowsReply('Send', [true])))
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

t.test('when the second Send fails, the outcome of the first one is still unknown, and a person decides', async (t) => {
  const failures: Record<string, (police: StandIn) => void> = {
    'the Send gets a 404': (police) => { police.on.Send = respond('404 Not Found', '') },
    'the Send refuses every row': (police) => { police.on.Send = response(rowsReply('Send', [false, false])) },
    'the test call refuses every row': (police) => { police.on.Test = response(rowsReply('Test', [false, false])) },
    'the test call refuses one row': (police) => { police.on.Test = response(rowsReply('Test', [true, false])) },
    'the login gets a 503': (police) => { police.on.GenerateToken = respond('503 Service Unavailable', '') }
  }
  for (const [name, fail] of Object.entries(failures)) {
    await t.test(name, async (t) => {
      const { police, worker, reserve, states, sql } = await reset()
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
  'when a second Send is acquired in part, a person decides: the first one may have filed the rest',
  async (t) => {
    const { police, worker, reserve, states, sql } = await reset()
    const { id } = await reserve([guestNo(1), guestNo(2)])
    police.on.Send = (socket) => socket.resetAndDestroy()
    await carryOut(await worker(), id, true)
    await decideToResend(sql, id)
    police.on.Send = response(rowsReply('Send', [true, false]))
    t.equal((await carryOut(await worker(), id, true)).stato, 'da_verificare')
    t.same(await states(), ['da_verificare/acquisita,sconosciuta'])
  }
)

t.test('a reply that contradicts the receipt is kept, and stops the resend', async (t) => {
  const { police, worker, reserve, states, sql, logs } = await reset()
  const { id, ricevuta } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const late = carryOut(await worker(), id, true)
  await reply.arrived
  await sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, 'N', 'ricevuta')`
  await sql`update invii set stato = 'sconosciuto'`
  await sql`update invii set stato = 'pronto'`
  reply.release(response(rowsReply('Send', [true])))
  t.equal((await late).stato, 'da_verificare')
  t.same(await states(), ['da_verificare/in_corso'])
  t.same(await sql`select esito, fonte, schedine, risposta is not null as kept from invii_esiti order by id`, [
    { esito: 'N', fonte: 'ricevuta', schedine: 0, kept: false },
    { esito: '?', fonte: 'risposta', schedine: 1, kept: true }
  ])
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === ricevuta))
})

/** Marks a submission in flight as unknown, and decides to send it again. */
async function decideToResend (sql: Awaited<ReturnType<typeof ledgerHarness>>['sql'], id: number): Promise<void> {
  await sql`insert into invii_esiti (invio_id, numero, esito, fonte) values (${id}, 1, '?', 'scadenza')`
  await sql`update invii set stato = 'sconosciuto' where id = ${id} and stato = 'in_invio'`
  await sql`update invii set stato = 'da_verificare' where id = ${id}`
  await sql`
    insert into invii_decisioni (invio_id, versione, decisione, chi, motivo)
    select id, versione, 'reinvia', 'prova', 'prova' from invii where id = ${id}`
  await sql`update invii_schedine set esito = 'in_corso' where invio_id = ${id} and esito = 'sconosciuta'`
  await sql`update invii set stato = 'pronto', lease_fino_al = now() where id = ${id}`
}
