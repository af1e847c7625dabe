import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { encode } from '#src/alloggiati/codec/codec.ts'
import { classifyFailure, classifyReply, type Verdict } from '#src/alloggiati/ledger/classify.ts'
import { ledger, type Reserved } from '#src/alloggiati/ledger/ledger.ts'
import { SchedineGiaInviate } from '#src/alloggiati/errors.ts'
import { SoapTransportError } from '#src/alloggiati/soap/errors.ts'
import { createKeys } from '#src/keys.ts'
import { createClock } from '#src/time.ts'
import { judge, single, today } from '#test/alloggiati/rules/samples.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

const done = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }
const bad = { ...done, esito: false, ErroreCod: '12', ErroreDes: 'SCHEDINA_CAMPO_NON_CORRETTO' }
const reply = (...esiti: boolean[]) => classifyReply({
  esito: done,
  result: { SchedineValide: esiti.filter(Boolean).length, Dettaglio: esiti.map((esito) => esito ? done : bad) },
  httpStatus: 200,
  raw: '<risposta/>'
}, esiti.length)
const VERDICTS: Record<string, Verdict> = {
  acquired: reply(true),
  refused: reply(false),
  unknown: classifyFailure(new SoapTransportError('reset', { sent: true }), 1),
  unsent: classifyFailure(new SoapTransportError('refused', { sent: false }), 1)
}

async function setUp (t: Test) {
  const { db, sql } = await testDatabase(t)
  const book = ledger(db, createKeys(randomBytes(32)), createClock(today))
  const submission = (ospiti: object[], { account = 'RM000001', id_appartamento }: { account?: string, id_appartamento?: number } = {}) => {
    const { records } = judge(ospiti)
    return { account, metodo: 'Send', records: records!, lines: records!.map(encode), id_appartamento, prenotazione_id: null }
  }
  return {
    sql,
    book,
    reserve: (...args: Parameters<typeof submission>) => book.reserve(submission(...args)),
    expire: async (id?: number) => { await sql`update invii set lease_fino_al = now() - interval '1 second' where id = ${id ?? null} or ${id === undefined}` },
    states: async () => (await sql`select i.stato, s.esito from invii i join invii_schedine s on s.invio_id = i.id order by i.id`).map((row) => `${row.stato}/${row.esito}`)
  }
}

t.test('a submission is dispatched once: a second dispatch is refused', async (t) => {
  const { book, reserve, sql } = await setUp(t)
  const reserved = await reserve([single()])
  await book.dispatch(reserved)
  await t.rejects(book.dispatch(reserved), /no longer ready/)
  t.equal((await sql`select from invii_tentativi`).length, 1)
})

t.test('of dispatches at once of one submission one succeeds', async (t) => {
  const { book, reserve } = await setUp(t)
  const reserved = await reserve([single()])
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => book.dispatch(reserved)))
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
})

t.test('a submission that was given up cannot be dispatched any more', async (t) => {
  const { book, reserve, expire, states } = await setUp(t)
  const reserved = await reserve([single()])
  await expire()
  await book.sweep()
  await t.rejects(book.dispatch(reserved))
  t.same(await states(), ['non_inviato/non_inviata'])
})

t.test('the sweep leaves alone what somebody is at work on, and what is settled', async (t) => {
  const { book, reserve, expire, states } = await setUp(t)
  const [ready, sent, settled] = [await reserve([guestNo(1)]), await reserve([guestNo(2)]), await reserve([guestNo(3)])]
  await book.dispatch(sent)
  await book.dispatch(settled)
  await book.settle(settled, VERDICTS.acquired!)
  t.same(await book.sweep(), [])
  await expire(settled.id)
  t.same(await book.sweep(), [])
  t.same(await states(), ['pronto/in_corso', 'in_invio/in_corso', 'acquisito/acquisita'])
  await expire()
  t.same(await book.sweep(), [sent.ricevuta], 'it names what became unknown')
  t.same(await states(), ['non_inviato/non_inviata', 'sconosciuto/sconosciuta', 'acquisito/acquisita'])
  t.ok(ready)
})

t.test('a dispatch renews the lease: the call has its whole time', async (t) => {
  const { book, reserve, expire, sql } = await setUp(t)
  const reserved = await reserve([single()])
  await expire()
  await book.dispatch(reserved)
  t.same(await sql`select lease_fino_al > now() + interval '60 seconds' as enough from invii`, [{ enough: true }])
})

t.test('an attempt carries the Rome days on which the service may count it', async (t) => {
  const { db, sql } = await testDatabase(t)
  const now = new Date('2026-11-21T22:55:00Z')
  const book = ledger(db, createKeys(randomBytes(32)), { now: () => now, today: () => '2026-11-21' })
  const { records } = judge([single()])
  await book.dispatch(await book.reserve({
    account: 'RM000001', metodo: 'Send', records: records!, lines: records!.map(encode), id_appartamento: undefined, prenotazione_id: null
  }))
  t.match(await sql`select giorno_da::text, giorno_a::text from invii_tentativi`, [{ giorno_da: '2026-11-21', giorno_a: '2026-11-22' }])
})

t.test('each account and each apartment is another registration', async (t) => {
  const { reserve } = await setUp(t)
  await reserve([single()])
  await t.rejects(reserve([single()]), { code: 'SCHEDINE_GIA_INVIATE' })
  await t.resolves(reserve([single()], { account: 'RM000002' }))
  await t.resolves(reserve([single()], { id_appartamento: 0 }))
  await t.rejects(reserve([single()], { id_appartamento: 0 }), { code: 'SCHEDINE_GIA_INVIATE' })
  await t.resolves(reserve([single()], { id_appartamento: 1 }))
})

t.test('a refused reservation uses up no reference', async (t) => {
  const { reserve } = await setUp(t)
  await reserve([guestNo(1)])
  await t.rejects(reserve([guestNo(1)]), { code: 'SCHEDINE_GIA_INVIATE' })
  t.equal((await reserve([guestNo(2)])).ricevuta, 'AW-20261121-2')
})

t.test('the raw reply is kept encrypted', async (t) => {
  const { book, reserve, sql } = await setUp(t)
  const reserved = await reserve([single()])
  await book.dispatch(reserved)
  await book.settle(reserved, VERDICTS.acquired!)
  const [{ risposta } = {}] = await sql<{ risposta: Buffer }[]>`select risposta from invii_tentativi`
  t.ok(risposta!.length > '<risposta/>'.length)
  t.notOk(risposta!.includes('<risposta/>'))
})

type Act = 'reserve' | 'dispatch' | 'settle' | 'expire' | 'sweep'
/** `at` counts back from the submission reserved last. */
interface Step { act: Act, at: number, verdict: keyof typeof VERDICTS }
const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom<Act>('reserve', 'reserve', 'dispatch', 'dispatch', 'settle', 'settle', 'expire', 'sweep'),
  at: fc.constantFrom(0, 0, 1),
  verdict: fc.constantFrom(...Object.keys(VERDICTS))
})

t.test('in whatever order things happen, no guest is sent while an earlier Send may have acquired it', async (t) => {
  const { book, reserve, expire } = await setUp(t)
  let run = 0
  let repeated = 0
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
    const account = `PROVA${run++}`
    const all: { reserved: Reserved, dispatched: boolean, outcome?: Verdict }[] = []
    const acts: Record<Act, (one: typeof all[number], step: Step) => Promise<unknown>> = {
      reserve: async () => {
        const reserved = await reserve([single()], { account }).catch((err) => { if (!(err instanceof SchedineGiaInviate)) throw err })
        if (reserved) all.push({ reserved, dispatched: false })
      },
      dispatch: async (one) => { if (await book.dispatch(one.reserved).then(() => true, () => false)) one.dispatched = true },
      settle: async (one, { verdict }) => {
        if (!one.dispatched || one.outcome) return
        one.outcome = VERDICTS[verdict]!
        await book.settle(one.reserved, one.outcome)
      },
      expire: (one) => expire(one.reserved.id),
      sweep: () => book.sweep()
    }
    await acts.reserve({ reserved: { id: 0, ricevuta: '' }, dispatched: false }, steps[0]!)
    for (const step of steps) await acts[step.act](all.at(-1 - step.at) ?? all[0]!, step)
    const sent = all.filter(({ dispatched }) => dispatched)
    if (sent.length > 1) repeated++
    return sent.slice(0, -1).every(({ outcome }) => outcome?.tentativo === 'N')
  }), { numRuns: 80 })
  t.ok(repeated > 0, 'guests that were proven not sent were sent again')
})
