import fc from 'fast-check'
import t from 'tap'
import { deriveFindings } from '#src/alloggiati/ledger/reconcile/findings.ts'
import type { State } from '#schemas/submission.ts'
import type { AccountDay, Counts, DayAttempt, DaySubmission } from '#src/alloggiati/ledger/reconcile/day.ts'
import { attempt, day, submission, twice } from './samples.ts'

/*
 * Any police: of each call it acquired all rows, some or none; the ledger saw the reply, or saw nothing, or a person
 * decided, rightly or wrongly. The receipt counts what was acquired, and what others filed with the account.
 */

interface Call {
  /** Nights of the rows handed over. */
  rows: number[]
  /** How many of them were acquired. */
  acquired: number
  seen: 'reply' | 'nothing' | 'decision'
  stato: State
  /** It is the second call of the submission before. */
  again: boolean
}

const call: fc.Arbitrary<Call> = fc.record({
  rows: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
  // Mostly all or nothing, as it will be after a rehearsal.
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

function input (all: readonly Call[], others: readonly number[], isExclusive: boolean): AccountDay {
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
  fc.assert(fc.property(calls, (all) => { checkFindings(all, input(all, [], true)) }), runs)
  t.pass()
})

t.test(
  'when others file with the account, no acquired submission is sent again, and the receipt proves none acquired',
  async (t) => {
    const others = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 })
    fc.assert(
      fc.property(calls, others, (all, more) => {
        const replied = all.map((one) => (one.seen === 'decision' ? { ...one, seen: 'nothing' as const } : one))
        const state = input(replied, more, false)
        checkFindings(replied, state)
        return deriveFindings(state).findings.every(({ proofs }) => proofs.every(({ esito }) => esito === 'N'))
      }),
      runs
    )
    t.pass()
  }
)

t.test('every unknown call is proven when all of them were acquired, or none was', async (t) => {
  fc.assert(fc.property(calls, fc.boolean(), (all, taken) => {
    const clean = all.map((one): Call =>
      one.seen === 'reply' ? one : { ...one, seen: 'nothing', acquired: taken ? one.rows.length : 0 }
    )
    const state = input(clean, [], true)
    const unknown = state.attempts.filter(({ esito }) => esito === '?').length
    return deriveFindings(state).findings.flatMap(({ proofs }) => proofs).length === unknown
  }), runs)
  t.pass()
})
