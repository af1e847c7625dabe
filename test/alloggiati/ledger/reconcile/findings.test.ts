import fc from 'fast-check'
import t from 'tap'
import type { AttemptOutcome, State } from '#schemas/submission.ts'
import type {
  AccountDay, Counts, DayAttempt, DayFindings, DaySubmission, ReceiptFetch
} from '#src/alloggiati/ledger/reconcile/account-day.ts'
import { isFetchDue } from '#src/alloggiati/ledger/reconcile/fetches.ts'
import { deriveFindings } from '#src/alloggiati/ledger/reconcile/findings.ts'
import type { AttemptDay } from '#src/alloggiati/receipts/receipt-days.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { attempt, day, DAY, fetched, NEXT, submission, twice } from './samples.ts'

const known = (invio_id: number, more: Partial<DayAttempt> = {}) => attempt(invio_id, { esito: 'K', ...more })
const MORNING = new Date(`${NEXT}T09:00:00Z`)

/** The new state of each submission, and the proven outcomes of its attempts. */
function outcome (input: AccountDay): Record<number, string> {
  return shown(deriveFindings(input))
}

function shown ({ findings }: DayFindings): Record<number, string> {
  return Object.fromEntries(
    findings.map(({ invio_id, proofs, path }) => [
      invio_id,
      [...proofs.map(({ numero, esito }) => `${numero}${esito}`), ...path].join(' ')
    ])
  )
}

function notes (input: AccountDay): Record<number, string> {
  return Object.fromEntries(deriveFindings(input).findings.map(({ invio_id, note }) => [invio_id, note]))
}

t.test('a day has no findings while a call of that day is in flight', async (t) => {
  const inFlight = day({
    attempts: [attempt(1), attempt(2)],
    submissions: [submission(1, 'in_invio'), submission(2)],
    fetches: twice(0, 0)
  })
  t.same(deriveFindings(inFlight), { rule: 'in_volo', findings: [] })
})

t.test('a missing receipt does not mean zero schedine', async (t) => {
  const input = day({
    attempts: [attempt(1), known(2)],
    submissions: [submission(1), submission(2, 'acquisito')],
    fetches: [fetched('07:00', null, null)]
  })
  t.test('no findings exist before noon of the next day', async (t) =>
    t.same(deriveFindings({ ...input, now: MORNING }), { rule: 'senza_ricevuta', findings: [] })
  )
  t.test('from noon on, exactly the unknown submissions are referred to a person', async (t) =>
    t.same(outcome(input), { 1: 'da_verificare' })
  )
  t.test('a receipt that was fetched before six o\'clock may be incomplete, and is ignored', async (t) => {
    t.same(
      deriveFindings({ ...input, now: MORNING, fetches: [fetched('00:10', 2, 6), fetched('05:59', 2, 6)] }).rule,
      'senza_ricevuta'
    )
  })
})

t.test('with an attempt around midnight, the receipt decides no outcome of its day', async (t) => {
  const aroundMidnight = { giorno_da: DAY, giorno_a: NEXT }
  const input = day({
    attempts: [attempt(1, aroundMidnight), attempt(2), known(3)],
    submissions: [submission(1), submission(2), submission(3, 'acquisito')],
    fetches: twice(2, 6)
  })
  t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
  t.match(notes(input)[1], /20\/11\/2026 o del 21\/11\/2026/)
  t.test('an acquired attempt around midnight may be on the other receipt, so no state changes', async (t) => {
    const balanced = day({
      attempts: [known(1, aroundMidnight), known(2)],
      submissions: [submission(1, 'acquisito'), submission(2, 'acquisito')],
      fetches: twice(4, 12)
    })
    t.same(outcome(balanced), {})
  })
  t.test('an attempt around midnight that was not acquired is on neither receipt', async (t) => {
    const gone = day({
      attempts: [attempt(1, { ...aroundMidnight, esito: 'N' }), attempt(2)],
      submissions: [submission(1, 'rifiutato'), submission(2)],
      fetches: twice(2, 6)
    })
    t.same(outcome(gone), { 2: '1K acquisito ricevuto' })
  })
})

t.test('a receipt that does not count attempts of unknown outcome proves that they were not acquired', async (t) => {
  const input = day({
    attempts: [attempt(1), known(2)], submissions: [submission(1), submission(2, 'acquisito')], fetches: twice(2, 6)
  })
  t.test('their submissions are sent again while the service accepts their arrival', async (t) => {
    t.same(outcome(input), { 1: '1N pronto', 2: 'ricevuto' })
    t.same(
      outcome({ ...input, isExclusive: false }),
      { 1: '1N pronto', 2: 'ricevuto' },
      'whether or not the account is used elsewhere'
    )
  })
  t.test('their submissions are referred to a person when the service no longer accepts their arrival', async (t) => {
    const late = submission(1, 'sconosciuto', { data_arrivo: '2026-11-19' })
    t.same(outcome({ ...input, submissions: [late, submission(2, 'acquisito')] }), {
      1: '1N da_verificare',
      2: 'ricevuto'
    })
  })
  t.test('two fetches that disagree raise an alarm and refer attempts of unknown outcome to a person', async (t) => {
    const fetches = [fetched('07:00', 1, 3), fetched('09:00', 2, 6), fetched('12:00', 2, 6)]
    const result = deriveFindings({ ...input, fetches })
    t.same(shown(result), { 1: 'da_verificare' })
    t.match(result, { rule: 'ricevuta_mutata', alarm: 'changed' })
  })
  t.test('no submission is sent again while another attempt of it may have been acquired', async (t) => {
    const resent = {
      ...input,
      attempts: [attempt(1, { numero: 2 }), known(2)],
      submissions: [submission(1, 'sconosciuto', { tentativo: 2, otherOutcomes: ['?'] }), submission(2, 'ricevuto')]
    }
    t.same(outcome(resent), { 1: '2N da_verificare' })
    const certain = submission(1, 'sconosciuto', { tentativo: 2, otherOutcomes: ['N'] })
    t.same(outcome({ ...resent, submissions: [certain, submission(2, 'ricevuto')] }), { 1: '2N pronto' })
  })
})

t.test('a receipt that counts all attempts of unknown outcome proves that they were acquired', async (t) => {
  const input = day({
    attempts: [attempt(1), attempt(2, { schedine: 1, notti: 1 }), known(3)],
    submissions: [submission(1), submission(2), submission(3, 'parziale')],
    fetches: [fetched('07:00', 5, 13)]
  })
  t.test('the submissions become `ricevuto` when only this server uses the account', async (t) => {
    t.same(outcome(input), { 1: '1K acquisito ricevuto', 2: '1K acquisito ricevuto' },
      'a partly acquired submission stays partial')
    t.same(deriveFindings(input).findings[1]!.proofs, [{ numero: 1, esito: 'K', schedine: 1, notti: 1 }])
  })
  t.test('a person gets a suggestion when another program may use the account', async (t) => {
    const shared = { ...input, isExclusive: false }
    t.same(outcome(shared), { 1: 'da_verificare', 2: 'da_verificare' })
    t.match(notes(shared)[1], /^Suggerimento: acquisito/)
  })
  t.test('the receipt stops a submission that a person decided to send again', async (t) => {
    for (const stato of ['pronto', 'preso'] as const) {
      t.same(
        outcome({ ...input, submissions: [submission(1, stato), submission(2), submission(3, 'ricevuto')] })[1],
        '1K da_verificare acquisito ricevuto'
      )
    }
  })
  t.test('the receipt raises an alarm about a possible duplicate', async (t) => {
    const findingFor = (first: DaySubmission) =>
      deriveFindings({ ...input, submissions: [first, submission(2), submission(3)] }).findings[0]
    const sentTwice = (otherOutcome: AttemptOutcome) => ({ tentativo: 2, otherOutcomes: [otherOutcome] })
    t.match(findingFor(submission(1, 'ricevuto', sentTwice('K'))), { alarm: 'twice' })
    t.match(findingFor(submission(1, 'sconosciuto', sentTwice('?'))), {
      path: ['acquisito', 'ricevuto'],
      alarm: 'twice'
    })
    t.match(findingFor(submission(1, 'depositato_altrove')), { path: [], alarm: 'elsewhere' })
    t.equal(findingFor(submission(1))!.alarm, undefined)
  })
})

t.test('when one combination adds up, a person gets a suggestion, and nothing is proven', async (t) => {
  const input = day({
    attempts: [attempt(1), attempt(2, { schedine: 1, notti: 3 })],
    submissions: [submission(1), submission(2)],
    fetches: twice(1, 3)
  })
  t.match(deriveFindings(input), { rule: 'suggerita', alarm: undefined })
  t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
  t.match(notes(input), { 1: /^Suggerimento: non acquisito/, 2: /^Suggerimento: acquisito/ })
  t.test('several combinations that add up give no suggestion', async (t) => {
    const alike = { ...input, attempts: [attempt(1), attempt(2)], fetches: twice(2, 6) }
    t.match(deriveFindings(alike), { rule: 'ambigua', findings: { length: 2 } })
    t.notMatch(notes(alike)[1], /Suggerimento/)
  })
})

t.test('a receipt that no combination explains raises an alarm, and nothing is proven', async (t) => {
  const input = day({ attempts: [attempt(1)], submissions: [submission(1)], fetches: twice(1, 3) })
  t.match(deriveFindings(input), { rule: 'contraddetta', alarm: 'no-match' })
  t.same(outcome(input), { 1: 'da_verificare' })
  t.test('both the nights and the schedine must add up', async (t) => {
    t.equal(deriveFindings({ ...input, fetches: twice(2, 5) }).rule, 'contraddetta')
    const fetches = [fetched('07:00', 2, 5), fetched('10:00', 2, 6)]
    t.equal(deriveFindings({ ...input, fetches }).rule, 'ricevuta_mutata')
  })
})

t.test('a receipt with lower counts than the replies refers the whole day to a person', async (t) => {
  for (const fetches of [twice(1, 6), twice(2, 5)]) {
    const submissions = [submission(1, 'acquisito'), submission(2)]
    const input = day({ attempts: [known(1), attempt(2)], submissions, fetches })
    t.match(deriveFindings(input), { rule: 'contraddetta', alarm: 'contradiction' })
    t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
    const alone = day({ attempts: [known(1)], submissions: [submission(1, 'acquisito')], fetches })
    t.same(outcome(alone), { 1: 'da_verificare' })
    t.test('a submission is referred once for the same reason, and the person\'s decision is final', async (t) => {
      const referred = submission(1, 'acquisito', { reasons: Object.values(notes(alone)) })
      t.same(outcome({ ...alone, submissions: [referred] }), {})
    })
  }
})

t.test('a day without attempts of unknown outcome becomes `ricevuto` when the receipt adds up', async (t) => {
  const input = day({
    attempts: [known(1), known(2)],
    submissions: [submission(1, 'acquisito'), submission(2, 'parziale')],
    fetches: [fetched('07:00', 4, 12)]
  })
  t.same(outcome(input), { 1: 'ricevuto' }, 'a partly acquired submission stays partial')
  t.same(
    outcome({ ...input, attempts: [known(1, { isPartial: true }), known(2)] }),
    {},
    'a partly acquired attempt does not make a submission `ricevuto`'
  )
  t.same(
    outcome({ ...input, submissions: [submission(1, 'ricevuto'), submission(2, 'ricevuto')] }),
    {},
    'a day that is `ricevuto` stays as it is'
  )
  t.test('a receipt that counts more raises an alarm when only this server uses the account', async (t) => {
    const more = { ...input, fetches: [fetched('07:00', 5, 13)] }
    t.match(deriveFindings(more), { findings: [], alarm: 'excess' })
    t.same(deriveFindings({ ...more, isExclusive: false }), { rule: 'senza_incogniti', findings: [] })
  })
})

t.test('a person\'s decision decides no outcome of other submissions', async (t) => {
  const decided = known(1, { isDecided: true })
  const submissions = [submission(1, 'acquisito'), submission(2)]
  t.test('the receipt may contradict the decision, and then the submission is referred to a person once', async (t) => {
    const denied = day({ attempts: [decided, attempt(2)], submissions, fetches: twice(0, 0) })
    t.same(outcome(denied), { 1: 'da_verificare', 2: '1N pronto' })
    t.match(deriveFindings(denied).findings[0], { alarm: 'denied' })
    t.same(
      outcome(day({ attempts: [decided], submissions: [submissions[0]!], fetches: twice(0, 0) })),
      { 1: 'da_verificare' },
      'even if it is the only attempt of the day'
    )
    t.same(
      outcome(
        day({
          attempts: [decided],
          submissions: [submission(1, 'acquisito', { reasons: Object.values(notes(denied)) })],
          fetches: twice(0, 0)
        })
      ),
      {},
      'a person is not asked twice'
    )
  })
  t.test('the receipt may confirm the attempt', async (t) => {
    t.same(outcome(day({ attempts: [decided, attempt(2)], submissions, fetches: twice(4, 12) })), {
      1: 'ricevuto',
      2: '1K acquisito ricevuto'
    })
    const alone = day({ attempts: [decided], submissions: [submissions[0]!], fetches: twice(2, 6) })
    t.same(outcome(alone), { 1: 'ricevuto' })
  })
})

t.test('a receipt is fetched only when the fetch can decide an outcome', async (t) => {
  const none = fetched('06:00', null, null)
  const seen = fetched('06:00', 2, 6)
  const ofDay = { account: 'RM000001', day: DAY, hasReceipt: false, hasUncertain: true }
  const due = (rome: string, fetches: ReceiptFetch[], changes: Partial<AttemptDay> = {}) =>
    isFetchDue({ ...ofDay, ...changes }, fetches, clockAt(`${rome}:00+01:00`))
  t.notOk(due('2026-11-21T05:59', []), 'no fetch before the receipt is complete')
  t.ok(due('2026-11-21T06:00', [fetched('00:30', 2, 6)], { hasReceipt: true }), 'an earlier fetch does not count')
  t.notOk(due('2026-11-21T07:59', [none]))
  t.ok(due('2026-11-21T08:00', [none]), 'every two hours')
  t.ok(due('2026-11-22T23:00', [none], { hasUncertain: false }), 'for two days')
  t.notOk(due('2026-11-23T06:00', [none]), 'then only the nightly job fetches it')
  t.ok(due('2026-11-21T08:00', [seen], { hasReceipt: true }), 'a second fetch if an outcome is unknown')
  t.notOk(due('2026-11-21T08:00', [seen], { hasReceipt: true, hasUncertain: false }))
  t.notOk(due('2026-11-21T12:00', [seen, fetched('08:00', 2, 6)], { hasReceipt: true }), 'never a third time')
  t.ok(
    due('2026-11-21T06:00', [fetched('00:30', 2, 6)], { hasReceipt: true, hasUncertain: false }),
    'a receipt fetched too early is fetched again, even if every outcome is known'
  )
  const unreadable = (...hours: string[]) => hours.map((hour) => fetched(hour, 2, null, true))
  t.ok(due('2026-11-21T12:00', unreadable('06:00', '07:00'), { hasReceipt: true }))
  t.notOk(
    due('2026-11-21T12:00', unreadable('06:00', '08:00'), { hasReceipt: true }),
    'an unreadable receipt is not fetched a third time'
  )
  t.ok(due('2026-11-30T12:00', [], { hasReceipt: true }), 'even an old day, if the stored copy has no complete fetch')
})

/*
 * Any behaviour of the police: it acquired all, some or no rows of each call. The ledger saw the reply or none, or a
 * person decided, rightly or wrongly. The receipt counts the acquired rows, and those that other people filed with the
 * account.
 */

interface Call {
  /** The nights of the sent rows. */
  rows: number[]
  /** The number of acquired rows. 99 means all. */
  acquired: number
  seen: 'reply' | 'nothing' | 'decision'
  stato: State
  /** Whether it is the second call of the previous submission. */
  again: boolean
}

const call: fc.Arbitrary<Call> = fc.record({
  rows: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
  // Usually all or none, as after a test call.
  acquired: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 99) }, fc.integer({ min: 0, max: 3 })),
  seen: fc.constantFrom('reply', 'nothing', 'nothing', 'nothing', 'decision'),
  stato: fc.constantFrom('sconosciuto', 'sconosciuto', 'da_verificare', 'depositato_altrove', 'pronto'),
  again: fc.boolean()
})
const calls = fc.array(call, { minLength: 1, maxLength: 6 })

const countsOf = (rows: readonly number[]): Counts => ({
  schedine: rows.length,
  notti: rows.reduce((sum, nights) => sum + nights, 0)
})
const acquiredRows = ({ rows, acquired }: Call) => rows.slice(0, acquired)
const id = (all: readonly Call[], at: number): number => at > 0 && all[at]!.again && !all[at - 1]!.again ? at : at + 1

function attemptOf (all: readonly Call[], at: number): DayAttempt {
  const one = all[at]!
  const invio_id = id(all, at)
  const esito = one.seen === 'reply' ? acquiredRows(one).length > 0 ? 'K' : 'N' : one.seen === 'decision' ? 'K' : '?'
  const counts = countsOf(one.seen === 'reply' && esito === 'K' ? acquiredRows(one) : one.rows)
  const numero = invio_id === at + 1 ? 1 : 2
  return attempt(invio_id, { numero, ...counts, esito, isDecided: one.seen === 'decision' })
}

function submissionOf (all: readonly Call[], attempts: readonly DayAttempt[], invio_id: number): DaySubmission {
  const own = attempts.filter((one) => one.invio_id === invio_id)
  const stato = own.some(({ esito }) => esito === 'K')
    ? 'acquisito'
    : own.every(({ esito }) => esito === 'N') ? 'rifiutato' : all[invio_id - 1]!.stato
  return submission(invio_id, stato, { tentativo: own.length })
}

function dayOf (all: readonly Call[], others: readonly number[], isExclusive: boolean): AccountDay {
  const attempts = all.map((_, at) => attemptOf(all, at))
  const { schedine, notti } = countsOf([...all.flatMap(acquiredRows), ...others])
  const ids = [...new Set(attempts.map(({ invio_id }) => invio_id))]
  const submissions = ids.map((invio_id) => submissionOf(all, attempts, invio_id))
  return day({ attempts, submissions, fetches: twice(schedine, notti), isExclusive })
}

/** Throws unless every finding is true. */
function checkFindings (all: readonly Call[], state: AccountDay): void {
  for (const { invio_id, proofs, path } of deriveFindings(state).findings) {
    const own = state.attempts.flatMap((one, at) => one.invio_id === invio_id ? [{ ...one, call: all[at]! }] : [])
    for (const { numero, esito } of proofs) {
      const { rows, acquired } = own.find((one) => one.numero === numero)!.call
      const isWrong = esito === 'K' ? acquired < rows.length : acquired > 0
      if (isWrong) throw new Error(`${invio_id}/${numero} is not ${esito}`)
    }
    const isAcquired = own.some((one) => acquiredRows(one.call).length > 0)
    if (path.includes('pronto') && isAcquired) throw new Error(`${invio_id} would be sent twice`)
    if (path.some((stato) => stato === 'acquisito' || stato === 'parziale' || stato === 'ricevuto') && !isAcquired) {
      throw new Error(`${invio_id} would be lost`)
    }
  }
}

const runs = { numRuns: 3000 }

t.test('no finding is wrong when the account is exclusive and the receipt complete', async (t) => {
  fc.assert(fc.property(calls, (all) => { checkFindings(all, dayOf(all, [], true)) }), runs)
  t.pass()
})

t.test(
  'when others file with the account, no acquired submission is sent again and no acquisition is proven',
  async (t) => {
    const others = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 })
    fc.assert(
      fc.property(calls, others, (all, more) => {
        const replied = all.map((one) => (one.seen === 'decision' ? { ...one, seen: 'nothing' as const } : one))
        const state = dayOf(replied, more, false)
        checkFindings(replied, state)
        return deriveFindings(state).findings.every(({ proofs }) => proofs.every(({ esito }) => esito === 'N'))
      }),
      runs
    )
    t.pass()
  }
)

t.test('the outcome of every unknown call is proven when all or none of them were acquired', async (t) => {
  fc.assert(fc.property(calls, fc.boolean(), (all, taken) => {
    const clean = all.map((one): Call =>
      one.seen === 'reply' ? one : { ...one, seen: 'nothing', acquired: taken ? one.rows.length : 0 }
    )
    const state = dayOf(clean, [], true)
    const unknown = state.attempts.filter(({ esito }) => esito === '?').length
    return deriveFindings(state).findings.flatMap(({ proofs }) => proofs).length === unknown
  }), runs)
  t.pass()
})
