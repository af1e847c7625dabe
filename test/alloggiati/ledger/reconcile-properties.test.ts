import fc from 'fast-check'
import t from 'tap'
import { decideDay } from '#src/alloggiati/ledger/reconcile/decide.ts'
import type { Counts, DayAttempt, DayInput, DayUnit } from '#src/alloggiati/ledger/reconcile/day.ts'
import type { State } from '#schemas/submission.ts'
import { attempt, day, twice, unit } from './reconcile-samples.ts'

/*
 * The police as it may be: of each call it acquired all rows, some or none, and the ledger saw the reply, or did not,
 * or only has a person's word, right or wrong. The receipt counts what was acquired, and what others filed.
 */

interface Call {
  /** Nights of the rows handed over. */
  rows: number[]
  /** How many of them were acquired. */
  acquired: number
  seen: 'reply' | 'nothing' | 'word'
  stato: State
  /** It is the second call of the submission before. */
  again: boolean
}

const call: fc.Arbitrary<Call> = fc.record({
  rows: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 3 }),
  // Mostly all or nothing, as it will be after a rehearsal.
  acquired: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(0, 99) }, fc.integer({ min: 0, max: 3 })),
  seen: fc.constantFrom('reply', 'nothing', 'nothing', 'nothing', 'word'),
  stato: fc.constantFrom('sconosciuto', 'sconosciuto', 'da_verificare', 'depositato_altrove', 'pronto'),
  again: fc.boolean()
})
const calls = fc.array(call, { minLength: 1, maxLength: 6 })

const of = (rows: readonly number[]): Counts => ({
  schedine: rows.length,
  notti: rows.reduce((sum, nights) => sum + nights, 0)
})
const truth = ({ rows, acquired }: Call) => rows.slice(0, acquired)
const id = (all: readonly Call[], at: number): number => at > 0 && all[at]!.again && !all[at - 1]!.again ? at : at + 1

function attemptOf (all: readonly Call[], at: number): DayAttempt {
  const one = all[at]!
  const invio = id(all, at)
  const esito = one.seen === 'reply' ? truth(one).length > 0 ? 'K' : 'N' : one.seen === 'word' ? 'K' : '?'
  const counts = of(one.seen === 'reply' && esito === 'K' ? truth(one) : one.rows)
  return attempt(invio, { numero: invio === at + 1 ? 1 : 2, ...counts, esito, per_decisione: one.seen === 'word' })
}

function unitOf (all: readonly Call[], attempts: readonly DayAttempt[], invio: number): DayUnit {
  const own = attempts.filter((one) => one.invio === invio)
  const stato = own.some(({ esito }) => esito === 'K')
    ? 'acquisito'
    : own.every(({ esito }) => esito === 'N')
      ? 'rifiutato'
      : all[invio - 1]!.stato
  return unit(invio, { stato, tentativo: own.length })
}

function input (all: readonly Call[], others: readonly number[], esclusivo: boolean): DayInput {
  const attempts = all.map((_, at) => attemptOf(all, at))
  const { schedine, notti } = of([...all.flatMap(truth), ...others])
  const units = [...new Set(attempts.map(({ invio }) => invio))].map((invio) => unitOf(all, attempts, invio))
  return day({ attempts, units, looks: twice(schedine, notti), esclusivo })
}

/** Fails unless all that was decided is true. */
function judge (all: readonly Call[], state: DayInput): void {
  for (const { invio, prove, verso } of decideDay(state).decisions) {
    const own = state.attempts.flatMap((one, at) => one.invio === invio ? [{ ...one, call: all[at]! }] : [])
    for (const { numero, esito } of prove) {
      const { rows, acquired } = own.find((one) => one.numero === numero)!.call
      if (esito === 'K' ? acquired < rows.length : acquired > 0) throw new Error(`${invio}/${numero} is not ${esito}`)
    }
    const taken = own.some((one) => truth(one.call).length > 0)
    if (verso.includes('pronto') && taken) throw new Error(`${invio} would be sent twice`)
    if (verso.some((stato) => stato === 'acquisito' || stato === 'parziale' || stato === 'ricevuto') && !taken) {
      throw new Error(`${invio} would be lost`)
    }
  }
}

const runs = { numRuns: 3000 }

t.test('with an exclusive account and a complete receipt no decision is ever wrong', async (t) => {
  fc.assert(fc.property(calls, (all) => { judge(all, input(all, [], true)) }), runs)
  t.pass()
})

t.test(
  'whatever others file with the account, nothing that was acquired is sent again, and nothing is called acquired by the receipt',
  async (t) => {
    const others = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 })
    fc.assert(
      fc.property(calls, others, (all, more) => {
        const replied = all.map((one) => (one.seen === 'word' ? { ...one, seen: 'nothing' as const } : one))
        const state = input(replied, more, false)
        judge(replied, state)
        return decideDay(state).decisions.every(({ prove }) => prove.every(({ esito }) => esito === 'N'))
      }),
      runs
    )
    t.pass()
  }
)

t.test('the days that can be decided are decided: all or none of the unknown calls', async (t) => {
  fc.assert(fc.property(calls, fc.boolean(), (all, taken) => {
    const clean = all.map((one): Call =>
      one.seen === 'reply' ? one : { ...one, seen: 'nothing', acquired: taken ? one.rows.length : 0 }
    )
    const state = input(clean, [], true)
    const unknown = state.attempts.filter(({ esito }) => esito === '?').length
    return decideDay(state).decisions.flatMap(({ prove }) => prove).length === unknown
  }), runs)
  t.pass()
})

t.test('a receipt that lacks rows never makes anything acquired that was not', async (t) => {
  fc.assert(fc.property(calls, fc.nat({ max: 4 }), (all, lacking) => {
    const state = input(all, [], true)
    const { schedine, notti } = of(all.flatMap(truth).slice(lacking))
    const verdict = decideDay({ ...state, looks: twice(schedine, notti) })
    const wrong = verdict.decisions.some(({ invio, prove }) => prove.some(({ numero, esito }) => {
      const at = state.attempts.findIndex((one) => one.invio === invio && one.numero === numero)
      return esito === 'K' && all[at]!.acquired < all[at]!.rows.length
    }))
    return !wrong
  }), runs)
  t.pass()
})
