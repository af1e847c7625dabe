import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import t from 'tap'
import type { Reserved } from '#src/alloggiati/ledger/reserve.ts'
import { SendQueue } from '#src/alloggiati/ledger/ledger-context.ts'
import { carryOut } from '#src/alloggiati/ledger/sending/carry-out.ts'
import { sweep } from '#src/alloggiati/ledger/sweep.ts'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { family, single } from '#test/alloggiati/rules/samples.ts'
import { response, respond } from '#test/alloggiati/service/soap/server.ts'
import { successReply, guestNo, held, refusalReply, rowsReply, until } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { build } from '#test/helper.ts'
import { ledgerHarness } from './harness.ts'

/* The steps of one submission, its worker, and the rows that are sent. */

/** The shared ledger, which each test resets. */
const harness = await ledgerHarness(t)
const reset = () => emptied(harness, harness.police)

t.test('a test call with the same rows precedes the Send', async (t) => {
  const { police, worker, reserve, states } = await reset()
  const { id } = await reserve([guestNo(1), guestNo(2)])
  t.match(await carryOut(await worker(), id, true), {
    stato: 'acquisito',
    schedine: [{ indice: 0, esito: 'acquisita' }, { indice: 1, esito: 'acquisita' }]
  })
  t.same(police.calls.map(({ operation }) => operation), ['GenerateToken', 'Test', 'Send'])
  t.same(police.callsOf('Test')[0]!.rows, police.callsOf('Send')[0]!.rows)
  t.same(await states(), ['acquisito/acquisita,acquisita'])
})

t.test('a row that the test call refuses is not sent, nor is the rest of its family', async (t) => {
  const { police, worker, reserve, states } = await reset()
  police.on.Test = response(rowsReply('Test', [true, false, true]))
  const { id } = await reserve([...family(), guestNo(1)])
  const { schedine } = await carryOut(await worker(), id, true)
  t.match(schedine, [
    { esito: 'rifiutata', codice_errore: null, dettaglio: /stessa famiglia/ },
    { esito: 'rifiutata', codice_errore: '12', messaggio_soap: 'SCHEDINA_CAMPO_NON_CORRETTO' },
    { esito: 'acquisita' }
  ])
  t.same(await states(), ['parziale/rifiutata,rifiutata,acquisita'])
  t.same(police.acquired(), [police.callsOf('Test')[0]!.rows[2]])

  delete police.on.Test
  await t.rejects(reserve([guestNo(1)]), { code: 'SCHEDINE_GIA_INVIATE' })
  t.equal(
    (await carryOut(await worker(), (await reserve(family())).id, true)).stato,
    'acquisito',
    'the family can be corrected and sent'
  )
})

t.test('only one of several concurrent workers sends a submission', async (t) => {
  const { police, sql, worker, reserve } = await reset()
  const { id } = await reserve([single()])
  const workers = await Promise.all(Array.from({ length: 5 }, () => worker()))
  await Promise.all(workers.map((each) => carryOut(each, id, true)))
  t.equal(police.callsOf('Send').length, 1)
  t.equal((await sql`select from invii_tentativi`).length, 1)
  t.equal((await carryOut(await worker(), id, true)).stato, 'acquisito', 'a second call only reports the state')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('an account has one Send in flight: another process makes the next test call, and waits', async (t) => {
  const { police, worker, reserve, states } = await reset()
  const [one, other] = [await reserve([guestNo(1)]), await reserve([guestNo(2)])]
  const reply = held()
  police.on.Send = reply.behaviour
  const first = carryOut(await worker(), one.id, true)
  await reply.arrived
  const second = carryOut(await worker(), other.id, true)
  await until(() => police.callsOf('Test').length === 2)
  t.same(await states(), ['in_invio/in_corso', 'preso/in_corso'])
  t.equal(police.startedCalls.filter((operation) => operation === 'Send').length, 1)
  delete police.on.Send
  reply.release(response(rowsReply('Send', [true])))
  t.same((await Promise.all([first, second])).map(({ stato }) => stato), ['acquisito', 'acquisito'])
  t.same(await states(), ['acquisito/acquisita', 'acquisito/acquisita'])
  t.equal(police.callsOf('Test').length, 2, 'the test call stays valid')
})

t.test('a process makes up to four test calls at a time, and sends submissions in order of arrival', async (t) => {
  const { police, worker, reserve, states } = await reset()
  const reserved = []
  for (let n = 0; n < 7; n++) reserved.push(await reserve([guestNo(n)]))
  const reply = held()
  police.on.Send = reply.behaviour
  const mine = await worker()
  const all = reserved.map(({ id }) => carryOut(mine, id, true))
  await reply.arrived
  await until(() => police.callsOf('Test').length === 5)
  t.same(
    (await states()).map((state) => state.split('/')[0]),
    ['in_invio', 'preso', 'preso', 'preso', 'preso', 'pronto', 'pronto'],
    'one Send in flight, four test calls, and the others have written nothing'
  )
  delete police.on.Send
  police.acquire(police.callsOf('Send')[0]!.rows)
  reply.release(response(rowsReply('Send', [true])))
  t.same((await Promise.all(all)).map(({ stato }) => stato), reserved.map(() => 'acquisito'))
  const numbers = police.acquired().map((line) => /CA(\d{5})AA/.exec(line)![1])
  t.same(numbers, [...numbers].sort(), 'sent in order of arrival')
})

t.test('on shutdown waiting submissions stay ready, and the Send in flight is completed', async (t) => {
  const { police, worker, reserve, states } = await reset()
  const reserved = []
  for (let n = 0; n < 6; n++) reserved.push(await reserve([guestNo(n)]))
  const reply = held()
  police.on.Send = reply.behaviour
  const end = new AbortController()
  const sendQueue = new SendQueue(end.signal)
  const dying = await worker({ sendQueue })
  const all = reserved.map(({ id }) => carryOut(dying, id, true))
  await reply.arrived
  await until(() => police.callsOf('Test').length === 5)
  end.abort()
  const results = await Promise.all(all.slice(1))
  t.ok(results.every(({ stato }) => stato === 'pronto'))
  let isEmpty = false
  const emptied = sendQueue.whenEmpty().then(() => { isEmpty = true })
  t.notOk(isEmpty, 'one Send is in flight')
  delete police.on.Send
  police.acquire(police.callsOf('Send')[0]!.rows)
  reply.release(response(rowsReply('Send', [true])))
  t.equal((await all[0]!).stato, 'acquisito')
  await emptied
  await sweep(await worker())
  t.ok((await states()).every((state) => state === 'acquisito/acquisita'))
  t.same(twice(police.acquired()), [])
})

t.test('a refused token is replaced once before the submission fails', async (t) => {
  const { police, worker, reserve } = await reset()
  const mine = await worker()
  await carryOut(mine, (await reserve([guestNo(1)])).id, true)
  let tests = 0
  police.on.Test = (socket, received) => {
    const reply = ++tests === 1 ? refusalReply('Test', 'TOKEN_NON_VALIDO') : rowsReply('Test', [true])
    response(reply)(socket, received)
  }
  t.equal((await carryOut(mine, (await reserve([guestNo(2)])).id, true)).stato, 'acquisito')
  police.on.Test = response(refusalReply('Test', 'TOKEN_NON_VALIDO'))
  const before = police.callsOf('Test').length
  t.match(await carryOut(mine, (await reserve([guestNo(3)])).id, true), { causa: 'RIFIUTATO_DAL_SERVIZIO' })
  t.equal(police.callsOf('Test').length, before + 2, 'the test call is retried only once')
})

t.test('each step of a worker renews its lease', async (t) => {
  const { police, sql, worker, reserve, expire } = await reset()
  const steps = { GenerateToken: held(), Test: held(), Send: held() }
  for (const [operation, { behaviour }] of Object.entries(steps)) police.on[operation] = behaviour
  const { id } = await reserve([single()])
  const done = carryOut(await worker(), id, true)
  for (const [operation, { arrived, release }] of Object.entries(steps)) {
    await arrived
    t.same(
      await sql`select lease_fino_al > now() + interval '60 seconds' as enough from invii`,
      [{ enough: true }],
      operation
    )
    await expire()
    release(response(successReply({ operation, rows: [''] })))
  }
  t.equal((await done).stato, 'acquisito')
})

t.test('an attempt records the Rome days on which the service may count it', async (t) => {
  const { sql, worker, reserve } = await reset()
  const today = testClock().today()
  const now = new Date(`${today}T22:55:00Z`)
  const { id } = await reserve([single()])
  await carryOut(await worker({ clock: { now: () => now, today: () => today } }), id, true)
  const [days] = await sql`select giorno_da::text, giorno_a::text from invii_tentativi`
  const summer =
    new Date(`${today}T12:00:00Z`).toLocaleString('en', {
      timeZone: 'Europe/Rome', hour: 'numeric', hourCycle: 'h23'
    }) === '14'
  t.same(
    days,
    summer
      ? { giorno_da: addDays(today, 1), giorno_a: addDays(today, 1) }
      : { giorno_da: today, giorno_a: addDays(today, 1) }
  )
})

t.test('a submission whose arrival the service no longer accepts is referred to a person without a call', async (t) => {
  const { police, worker, reserve, states } = await reset()
  const later = { now: () => new Date(), today: () => addDays(testClock().today(), 2) }
  const { id } = await reserve([single()])
  t.equal((await carryOut(await worker({ clock: later }), id, true)).stato, 'da_verificare')
  t.same(police.calls, [])
  t.same(await states(), ['da_verificare/in_corso'])
  await t.rejects(reserve([single()]), { code: 'SCHEDINE_GIA_INVIATE' })
})

t.test('a worker that was paused between the commit and the first byte sends nothing', async (t) => {
  const { police, sql, worker, reserve, states, headIn } = await reset()
  const { id } = await reserve([single()])
  const chainHead = { ...headIn(t.testdir()), note: async () => { await sleep(5100) } }
  t.match(await carryOut(await worker({ chainHead }), id, true), { stato: 'non_inviato' })
  t.notOk(police.startedCalls.includes('Send'))
  t.same(await sql`select numero, esito from invii_esiti`, [{ numero: 1, esito: 'N' }])
  t.same(await states(), ['non_inviato/non_inviata'])
})

t.test('a committed attempt that could not be sent is recorded as not sent', async (t) => {
  const { police, worker, reserve, states, headIn } = await reset()
  const { id } = await reserve([single()])
  const note = async () => { throw new Error('no space left on the device') }
  const chainHead = { ...headIn(t.testdir()), note }
  t.match(await carryOut(await worker({ chainHead }), id, true), { stato: 'non_inviato' })
  t.notOk(police.startedCalls.includes('Send'))
  t.same(await states(), ['non_inviato/non_inviata'])
})

t.test('a worker that lost its claim frees no row that another worker is about to send', async (t) => {
  const { police, worker, reserve, states, sql } = await reset()
  const { id } = await reserve([guestNo(1), guestNo(2)])
  const [mine, its] = [held(), held()]
  police.on.Test = mine.behaviour
  const sleeper = carryOut(await worker(), id, true)
  await mine.arrived
  await sql`update invii set stato = 'pronto', proprietario = null`

  police.on.Test = its.behaviour
  const other = carryOut(await worker(), id, true)
  await its.arrived
  mine.release(response(rowsReply('Test', [true, false])))
  t.equal((await sleeper).stato, 'preso')
  t.same(await states(), ['preso/in_corso,in_corso'])
  await t.rejects(reserve([guestNo(2)]), { code: 'INVIO_IN_CORSO' })
  its.release(response(rowsReply('Test', [true, true])))
  t.equal((await other).stato, 'acquisito')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('the raw reply is stored encrypted', async (t) => {
  const { worker, reserve, sql } = await reset()
  await carryOut(await worker(), (await reserve([single()])).id, true)
  const [{ risposta } = {}] = await sql<{ risposta: Buffer }[]>`select risposta from invii_esiti`
  t.ok(risposta!.length > '<soap:Envelope>'.length)
  t.notOk(risposta!.includes('Envelope'))
})

t.test(
  'an attempt records the number of rows sent, and its outcome the number acquired, with their nights',
  async (t) => {
    const { police, worker, reserve, sql } = await reset()
    police.on.Test = response(rowsReply('Test', [true, true, false]))
    police.on.Send = response(rowsReply('Send', [true, false]))
    await carryOut(await worker(), (await reserve([guestNo(1), guestNo(2), guestNo(3)])).id, true)
    t.same(await sql`select schedine, notti from invii_tentativi`, [{ schedine: 2, notti: 6 }])
    t.same(await sql`select esito, schedine, notti from invii_esiti`, [{ esito: 'K', schedine: 1, notti: 3 }])
  }
)

t.test('the same guest can be entered neither for two accounts nor for two apartments of one account', async (t) => {
  const { reserve } = await reset()
  await reserve([single()])
  await t.rejects(reserve([single()]), { code: 'INVIO_IN_CORSO' })
  await t.rejects(reserve([single()], { account: 'RM000002' }), { code: 'INVIO_IN_CORSO' })
  await t.rejects(reserve([single()], { id_appartamento: 0 }), { code: 'INVIO_IN_CORSO' })
})

t.test('a refused reservation uses up no reference', async (t) => {
  const { reserve } = await reset()
  const first = await reserve([guestNo(1)])
  await t.rejects(reserve([guestNo(1)]))
  t.equal((await reserve([guestNo(2)])).ricevuta, first.ricevuta.replace(/1$/, '2'))
})

t.test(
  'a waiting caller gets an error at once when the service is down. Without a caller the server retries later',
  async (t) => {
    const { police, worker, reserve, expire, states, sql } = await reset()
    await police.stop()
    t.match(await carryOut(await worker(), (await reserve([guestNo(1)])).id, true), {
      stato: 'non_inviato',
      causa: 'SERVIZIO_NON_RAGGIUNGIBILE'
    })
    const other = await reserve([guestNo(2)])
    t.match(await carryOut(await worker(), other.id, false), { stato: 'pronto' })
    t.same(await states(), ['non_inviato/non_inviata', 'pronto/in_corso'])
    t.same(await sql`select lease_fino_al > now() + interval '1 minute' as later from invii where id = ${other.id}`, [
      { later: true }
    ])
    await police.start()
    await expire()
    t.equal((await carryOut(await worker(), other.id, false)).stato, 'acquisito')
    await until(() => police.acquired().length === 1)
  }
)

/* Submissions whose process was killed, or for which no caller waits. */

/** Simulates a killed process with one submission in flight and another one claimed. */
async function leftByKilledProcess (sql: postgres.Sql, flying: Reserved, taken: Reserved): Promise<void> {
  await sql`update invii set stato = 'preso', proprietario = 'morto' where id in (${flying.id}, ${taken.id})`
  await sql`
    insert into invii_tentativi select id, 1, 'primo', now(), now(), now(), now(), 1, 3, 'x'
    from invii where id = ${flying.id}`
  await sql`update invii set stato = 'in_invio', tentativo = 1 where id = ${flying.id}`
}

t.test('the sweep does not touch a submission that is claimed, or whose outcome is known', async (t) => {
  const { police, worker, reserve, expire, states, logs } = await reset()
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
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === sent.ricevuta), 'an unknown outcome raises an alarm')
  delete police.on.Send
  await expire(ready)
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita', 'sconosciuto/sconosciuta', 'acquisito/acquisita'])
  reply.release(respond('503 Service Unavailable', ''))
  await flight
})

t.test('the sweep sends a submission that no worker has claimed, when its lease expires', async (t) => {
  const { police, worker, reserve, expire, states } = await reset()
  await reserve(family())
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso,in_corso'], 'not before: a caller may be waiting')
  await expire()
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita,acquisita'])
  t.equal(police.acquired().length, 2)
})

t.test('the sweep sends the submission of a worker killed before the dispatch, but never after it', async (t) => {
  for (const [operation, state, sends] of [
    ['GenerateToken', 'acquisito/acquisita', 1],
    ['Test', 'acquisito/acquisita', 1],
    ['Send', 'sconosciuto/sconosciuta', 1]
  ] as const) {
    await t.test(`the worker was killed at ${operation}`, async (t) => {
      const { police, worker, reserve, expire, states } = await reset()
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

t.test('concurrent sweeps send a submission once', async (t) => {
  const { police, worker, reserve, expire } = await reset()
  for (let n = 0; n < 4; n++) await reserve([guestNo(n)])
  await expire()
  const workers = await Promise.all(Array.from({ length: 4 }, () => worker()))
  await Promise.all(workers.map((worker) => sweep(worker)))
  await sweep(workers[0]!)
  t.equal(police.acquired().length, 4)
  t.same(twice(police.acquired()), [])
})

t.test('the submission with the earliest deadline is sent first', async (t) => {
  const { police, sql, worker, reserve, expire } = await reset()
  const late = await reserve([guestNo(1)])
  await reserve([guestNo(2)])
  await forced(sql, 'invii', `update invii set scadenza = scadenza + interval '1 hour' where id = ${late.id}`)
  await expire()
  await sweep(await worker())
  t.match(police.acquired(), [/NUMERATI BB /, /NUMERATI B /])
})

t.test('a Send that the web server refuses is retried later, and its guests stay live until then', async (t) => {
  const { police, sql, worker, reserve, expire, states } = await reset()
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
  'rows refused by an earlier test call still count after a retry, so the submission is acquired in part',
  async (t) => {
    const { police, worker, reserve, expire, states } = await reset()
    await reserve([guestNo(1), guestNo(2)])
    police.on.Test = response(rowsReply('Test', [true, false]))
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

t.test('a submission that always fails blocks neither other submissions nor the account', async (t) => {
  const { police, sql, worker, reserve, expire, states, logs } = await reset()
  const damaged = await reserve([guestNo(1)])
  await reserve([guestNo(2)])
  await forced(sql, 'invii_schedine', `update invii_schedine set riga = '\\x00' where invio_id = ${damaged.id}`)
  await expire()
  await sweep(await worker())
  t.same(await states(), ['pronto/in_corso', 'acquisito/acquisita'])
  t.equal(police.acquired().length, 1)
  t.ok(logs.some((line) => line.level === 50 && line.invio === damaged.id), 'it raises an alarm')
  t.same(await sql`select from invii where stato = 'pronto' and lease_fino_al < now()`, [], 'no retry is due yet')
})

t.test(
  'the sweep ends submissions that another account left in flight, and sends none that it left ready',
  async (t) => {
    const { police, sql, worker, reserve, expire, states } = await reset()
    const flying = await reserve([guestNo(1)], { account: 'RM000009' })
    const taken = await reserve([guestNo(2)], { account: 'RM000008' })
    const ready = await reserve([guestNo(3)], { account: 'RM000007' })
    await leftByKilledProcess(sql, flying, taken)
    await expire()
    await sweep(await worker())
    t.same(await states(), ['sconosciuto/sconosciuta', 'pronto/in_corso', 'pronto/in_corso'])
    t.same(police.calls, [])
    t.ok(ready)
  }
)

t.test('ready submissions of an abandoned account end, and a person decides on unknown ones', async (t) => {
  const { police, sql, worker, reserve, states, logs } = await reset()
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

t.test('submissions of a killed process end even without credentials', async (t) => {
  const { police, sql, url, reserve, expire, states } = await ledgerHarness(t)
  const [flying, taken, ready] = [await reserve([guestNo(1)]), await reserve([guestNo(2)]), await reserve([guestNo(3)])]
  await leftByKilledProcess(sql, flying, taken)
  await expire()
  await sql`update invii set lease_fino_al = now() - interval '16 minutes' where id = ${ready.id}`
  const { logs } = await build(t, { ALLOGGIATI_MODE: 'production', DATABASE_URL: url })
  await until(async () => (await states())[2] === 'non_inviato/non_inviata')
  t.same(await states(), ['sconosciuto/sconosciuta', 'pronto/in_corso', 'non_inviato/non_inviata'])
  t.ok(logs.some((line) => line.level === 50 && line.ricevuta === flying.ricevuta), 'the unknown one raises an alarm')
  t.same(police.calls, [])
})

t.test('a lease that ends later than any worker could have set it counts as expired', async (t) => {
  const { sql, worker, reserve, states } = await reset()
  await reserve([guestNo(1)])
  await sql`update invii set stato = 'preso', proprietario = 'morto', lease_fino_al = now() + interval '1 day'`
  await sweep(await worker())
  t.same(await states(), ['acquisito/acquisita'])
})

/** Makes a change with the triggers of a table disabled, because they would refuse it. */
async function forced (sql: postgres.Sql, table: string, statement: string): Promise<void> {
  await sql.unsafe(`alter table ${table} disable trigger user; ${statement}; alter table ${table} enable trigger user`)
}
