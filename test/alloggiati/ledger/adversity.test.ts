import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql as query } from 'drizzle-orm'
import type postgres from 'postgres'
import t from 'tap'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { attribute, lockChain } from '#src/alloggiati/ledger/moves.ts'
import { suspendSending } from '#src/alloggiati/ledger/suspension.ts'
import { carryOut } from '#src/alloggiati/ledger/sending/worker.ts'
import { waitingCaller } from '#src/alloggiati/schedine/requester.ts'
import { connect, type Executor, type Transaction } from '#src/plugins/database/connect.ts'
import { addDays, createClock, dayInRome, instantInRome } from '#src/lib/time.ts'
import { single } from '#test/alloggiati/rules/samples.ts'
import { answer, respond } from '#test/alloggiati/service/soap/server.ts'
import { good, guestNo, held, invio, production, rowsReply, standIn, until } from '#test/alloggiati/stand-in.ts'
import { detail, ledgerServer, unknown } from './administrator.ts'
import { ledgerBench } from './bench.ts'

/* What the ledger does when the database fails, around midnight, or when another process is faster. */

/** The sessions that wait for a lock. */
function waiting (sql: postgres.Sql) {
  return sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
}

/** The database refuses every claim until the returned function is called. */
async function refuseClaims (sql: postgres.Sql): Promise<() => Promise<unknown>> {
  await sql.unsafe(`
    create function refuse_claim () returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$;
    create trigger refuse_claim before update on invii for each row when (new.stato = 'preso')
      execute function refuse_claim ()`)
  return () => sql.unsafe('drop trigger refuse_claim on invii')
}

t.test('a listener is told every step of a submission, in order', async (t) => {
  const { worker, reserve } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const heard: unknown[] = []
  const listen = (message: unknown) => { heard.push(message) }
  subscribe('locanda:ledger', listen)
  t.teardown(() => unsubscribe('locanda:ledger', listen))
  await carryOut(await worker(), id, true)
  const steps = ['claimed', 'logged-in', 'rehearsed', 'connected', 'dispatched', 'replied', 'recorded']
  t.same(heard, steps.map((step) => ({ step, id })))
})

t.test(
  'a request whose claim fails is answered as under way with its reference, and the sweep sends it later',
  async (t) => {
    const police = await standIn(t)
    const server = await production(t, police)
    const { app, call, logs } = server
    const allow = await refuseClaims(app.sql)
    const failed = (await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).json()
    t.match(failed, { status: 422, codice: 'INVIO_IN_CORSO', ricevuta: /^AW-/ })
    t.ok(
      logs.some((line) => line.level === 50 && line.ricevuta === failed.ricevuta),
      'an alarm names it'
    )
    t.same(police.calls, [])
    await allow()
    await app.sql`update invii set lease_fino_al = now() - interval '1 second'`
    await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
    await until(() => police.acquired().length === 1)
  }
)

t.test('a sweep whose claim fails raises an alarm and leaves the submission ready', async (t) => {
  const { sql, worker, reserve, expire, states, logs } = await ledgerBench(t)
  const { id } = await reserve([single()])
  await refuseClaims(sql)
  await expire()
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso'])
  t.ok(logs.some((line) => line.level === 50 && line.invio === id))
})

t.test('a decision to send again stands although its claim fails', async (t) => {
  const { police, server, decide } = await ledgerServer(t)
  const id = await unknown(police, server)
  await refuseClaims(server.app.sql)
  const decided = await decide(id, 'reinvia')
  t.equal(decided.statusCode, 200)
  t.match(await detail(server, id), { stato: 'pronto', decisioni: [{ decisione: 'reinvia' }] })
  t.ok(server.logs.some((line) => line.level === 50 && line.invio === id))
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a submission that fails before the dispatch is not sent, and the waiting caller is told so', async (t) => {
  const { police, sql, worker, reserve, states } = await ledgerBench(t)
  const { id } = await reserve([single()])
  await sql`alter table invii_schedine disable trigger user`
  await sql`update invii_schedine set riga = '\\x00'`
  t.match(await carryOut(await worker(), id, true), {
    stato: 'non_inviato',
    causa: undefined,
    errore: 'errore interno'
  })
  t.same(await states(), ['non_inviato/non_inviata'])
  t.same(police.calls, [])
})

t.test('sending that is suspended between rehearsal and Send stops the Send', async (t) => {
  const { police, db, worker, reserve, states } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const rehearsal = held()
  police.on.Test = rehearsal.behaviour
  const done = carryOut(await worker(), id, true)
  await rehearsal.arrived
  await suspendSending(db, 'prova', 'prova')
  rehearsal.release(answer(rowsReply('Test', [true])))
  t.equal((await done).stato, 'non_inviato')
  t.notOk(police.begun.includes('Send'))
  t.same(await states(), ['non_inviato/non_inviata'])
  t.match(await carryOut(await worker(), id, true), { stato: 'non_inviato', causa: 'INVII_SOSPESI' }, 'and stays so')
})

t.test('who was told that it goes on, while the chain was locked, does not find it withdrawn later', async (t) => {
  for (const failing of ['the suspension', 'GenerateToken', 'Send']) {
    await t.test(`what fails is ${failing}`, async (t) => {
      const { police, db, sql, worker, reserve, states } = await ledgerBench(t)
      const { id } = await reserve([guestNo(1)])
      const caller = waitingCaller({ isAsync: false, hasHungUp: () => false, waitedMs: () => 0 })
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
      t.ok(caller.hold(), 'the caller is kept')
      await caller.waitFor(Promise.resolve(), 0)
      end.resolve()
      await Promise.all([other, done])
      t.same(await states(), ['pronto/in_corso'])
    })
  }
})

t.test('a worker whose claim was lost during the rehearsal does not send', async (t) => {
  const { police, sql, worker, reserve, states } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const rehearsal = held()
  police.on.Test = rehearsal.behaviour
  const done = carryOut(await worker(), id, true)
  await rehearsal.arrived
  await sql`update invii set stato = 'pronto', proprietario = null`
  rehearsal.release(answer(good({ operation: 'Test', rows: [''] })))
  t.equal((await done).stato, 'pronto')
  t.notOk(police.begun.includes('Send'))
  t.same(await states(), ['pronto/in_corso'])
})

t.test('a worker whose dispatch fails writes nothing of another worker\'s attempt, whose Send is out', async (t) => {
  const { police, sql, worker, reserve, states, headIn } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const [reached, gate, reply] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), held()]
  const head = headIn(t.testdir())
  // The dispatch alone asks for it.
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
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await other).stato, 'acquisito')
})

t.test('what the ledger says is on the disk at its commit, whatever the database does by default', async (t) => {
  const { url } = await ledgerBench(t)
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

t.test('a caller whose request has used up the time is not waited for any more', async (t) => {
  const DAY_MS = 86_400_000
  const caller = waitingCaller({ isAsync: false, hasHungUp: () => false, waitedMs: () => DAY_MS })
  const work = Promise.withResolvers<void>()
  // Of two timers the one that is due first fires first, however busy the machine is.
  const answered = caller.waitFor(work.promise, DAY_MS).then(() => true)
  t.ok(await Promise.race([answered, sleep(1000, false)]))
  t.notOk(caller.hold(), 'they are answered')
  work.resolve()
})

t.test('a reply is written down although the database is away when it comes', async (t) => {
  const { police, db, worker, reserve, states } = await ledgerBench(t)
  const { id } = await reserve([single()])
  let refusals = 0
  police.firstByte = async (operation) => { if (operation === 'Send') refusals = 2 }
  const transaction: typeof db.transaction = (work) => {
    if (refusals-- <= 0) return db.transaction(work)
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    return Promise.reject(new Error('Failed query: begin', { cause }))
  }
  const flickering = Object.assign(Object.create(db) as typeof db, { transaction })
  t.equal((await carryOut(await worker({ db: flickering }), id, true)).stato, 'acquisito')
  t.same(await states(), ['acquisito/acquisita'])
})

t.test('a reply that the database does not take at once is written down later, unless it never will', async (t) => {
  // A sequence: what it has counted stays when the transaction is rolled back.
  const refuse = (sql: postgres.Sql, code: string, times: number) => sql.unsafe(`
    create sequence tries;
    create function refuse_outcome () returns trigger language plpgsql as $$ begin
      if nextval('tries') <= ${times} then raise exception 'refused' using errcode = '${code}'; end if;
      return new;
    end $$;
    create trigger refuse_outcome before insert on invii_esiti for each row execute function refuse_outcome ()`)
  for (const code of ['53100', '25006', 'XX000']) {
    await t.test(`a ${code} that passes`, async (t) => {
      const { sql, worker, reserve, states } = await ledgerBench(t)
      await refuse(sql, code, 1)
      await carryOut(await worker(), (await reserve([single()])).id, true)
      t.same(await states(), ['acquisito/acquisita'])
    })
  }
  for (const code of ['LC001']) {
    await t.test(`a ${code}, which never passes`, async (t) => {
      const { sql, worker, reserve, states } = await ledgerBench(t)
      await refuse(sql, code, 1)
      await carryOut(await worker(), (await reserve([single()])).id, true)
      t.same(await states(), ['in_invio/in_corso'], 'left to the sweep')
      t.same(await sql`select last_value::int as tries from tries`, [{ tries: 1 }])
    })
  }
})

t.test('an outcome that nobody has written down in time is told as such, whatever was the reason', async (t) => {
  const { police, sql, worker, reserve, expire } = await ledgerBench(t)
  const { id } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const late = carryOut(await worker(), id, true)
  await reply.arrived
  await expire()
  await sweep(await worker())
  t.match(await sql`select nota from invii`, [{ nota: /non è stato scritto in tempo/ }])
  reply.release((socket) => socket.destroy())
  await late
})

t.test('a connection that is idle within a transaction is ended before those who wait for its locks give up',
  async (t) => {
    const { sql } = await ledgerBench(t)
    t.match(await sql`
      select current_setting('idle_in_transaction_session_timeout')::interval between interval '1 second'
        and current_setting('statement_timeout')::interval as sooner`, [{ sooner: true }])
  }
)

t.test('around midnight nothing is dispatched: what waits is ready, and leaves two minutes after', async (t) => {
  for (const quietAt of ['the start', 'the rehearsal']) {
    await t.test(`quiet at ${quietAt}`, async (t) => {
      const { police, worker, reserve, states } = await ledgerBench(t)
      const today = createClock().today()
      const eve = instantInRome(today, 23, 58)
      let now = new Date(eve.getTime() - (quietAt === 'the start' ? 0 : 1000))
      const clock = { now: () => now, today: () => dayInRome(now) }
      const rehearsal = held()
      if (quietAt === 'the rehearsal') police.on.Test = rehearsal.behaviour
      const { id } = await reserve([single()])
      const done = carryOut(await worker({ clock }), id, true)
      if (quietAt === 'the rehearsal') {
        await rehearsal.arrived
        now = eve
        delete police.on.Test
        rehearsal.release(answer(rowsReply('Test', [true])))
        await until(async () => (await states())[0] === 'pronto/in_corso')
      }
      t.same(await states(), ['pronto/in_corso'])
      t.notOk(police.begun.includes('Send'))
      now = instantInRome(addDays(today, 1), 0, 2)
      t.equal((await done).stato, 'acquisito')
    })
  }
})

t.test('what has waited for the lock of the chain until it is quiet is not dispatched', async (t) => {
  const { police, db, sql, worker, reserve, states } = await ledgerBench(t)
  const today = createClock().today()
  const eve = instantInRome(today, 23, 58)
  let now = new Date(eve.getTime() - 1000)
  const rehearsal = held()
  police.on.Test = rehearsal.behaviour
  const { id } = await reserve([single()])
  const done = carryOut(await worker({ clock: { now: () => now, today: () => dayInRome(now) } }), id, true)
  await rehearsal.arrived
  await db.transaction(async (tx) => {
    await lockChain(tx)
    delete police.on.Test
    rehearsal.release(answer(rowsReply('Test', [true])))
    await until(async () => (await waiting(sql)).length > 0)
    now = eve
  })
  await until(async () => (await states())[0] === 'pronto/in_corso')
  t.notOk(police.begun.includes('Send'))
  now = instantInRome(addDays(today, 1), 0, 2)
  t.equal((await done).stato, 'acquisito')
})

t.test('an arrival that the service takes until midnight alone is sent until midnight', async (t) => {
  const { worker, reserve } = await ledgerBench(t)
  const tomorrow = addDays(createClock().today(), 1)
  const now = instantInRome(tomorrow, 23, 59)
  const { id } = await reserve([single()])
  const late = await worker({ clock: { now: () => now, today: () => tomorrow } })
  t.equal((await carryOut(late, id, true)).stato, 'acquisito')
})

t.test('of two sweeps at once one records an attempt whose process died, with one alarm', async (t) => {
  const { police, db, sql, worker, reserve, expire, states, logs } = await ledgerBench(t)
  const { id, ricevuta } = await reserve([single()])
  const reply = held()
  police.on.Send = reply.behaviour
  const dead = carryOut(await worker(), id, true)
  await reply.arrived
  await expire()
  const workers = [await worker(), await worker()]
  const sweeps = await db.transaction(async (tx) => {
    await tx.execute('select from invii for update')
    const both = Promise.all(workers.map(sweep))
    await until(async () => (await waiting(sql)).length === 2)
    return { both }
  })
  await sweeps.both
  t.same(await states(), ['sconosciuto/sconosciuta'])
  t.equal(logs.filter((line) => line.level === 50 && line.ricevuta === ricevuta).length, 1)
  reply.release((socket) => socket.destroy())
  await dead
})

t.test('a guest who was made live between the look and the writing is looked at again', async (t) => {
  const { reserve, states } = await ledgerBench(t)
  let entries = 0
  const audit = {
    append: async (tx: Transaction) => {
      if (entries++ > 0) return
      await tx.execute(query`
        insert into invii_schedine
          (invio_id, indice, capo, utente, permanenza, impronta_identita, impronta_persona, esito)
        select invio_id, 1, 1, utente, permanenza, impronta_identita, impronta_persona, esito from invii_schedine`)
    }
  }
  await t.resolves(reserve([single()], {}, { audit }))
  t.equal(entries, 2)
  t.same(await states(), ['pronto/in_corso'])
})

t.test('a submission that the audit log cannot record is not written down', async (t) => {
  const { sql, reserve } = await ledgerBench(t)
  const audit = { append: async () => { throw new Error('no audit') } }
  await t.rejects(reserve([single()], {}, { audit }), { message: 'no audit' })
  t.same(await sql`select from invii`, [])
})
