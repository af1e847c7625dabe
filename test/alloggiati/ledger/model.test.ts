import t from 'tap'
import { TRANSITIONS } from './model/transitions.ts'
import { explore, type Outcome } from './model/checker.ts'
import { ledgerModel } from './model/ledger-model.ts'
import { MUTANTS, SMALL } from './model/mutants.ts'
import { RULES, type Rule } from './model/rules.ts'
import type { Scope, Trigger } from './model/world.ts'

/**
 * Worlds that are explored completely. Together they make every transition of the table. A second worker multiplies the
 * states, so most worlds of two submissions have one worker.
 */
const WORLDS: Record<string, Partial<Scope>> = {
  'one submission, two workers, a crash, a resend, partial acceptance, guests entered again': {
    workers: 2, attempts: 2, crashes: 1, resends: 1, reentries: 1, partial: true
  },
  'one submission, two workers, three attempts, a resend': { workers: 2, attempts: 3, resends: 1 },
  'one submission around midnight': { workers: 2, attempts: 2, resends: 1, midnight: true, partial: true },
  'one submission, its window closes at midnight': { attempts: 2, resends: 1, midnight: true, closing: true },
  'two submissions around midnight': { units: 2, workers: 1, midnight: true, partial: true },
  'one submission, its account is abandoned': { workers: 2, attempts: 2, crashes: 1, resends: 1, leaves: true },
  'the same guests under another spelling or corrected': {
    units: 2, workers: 2, reentries: 2, confirmations: 1, twin: 'respelled'
  },
  'two submissions, two workers, a crash': { units: 2, workers: 2, crashes: 1 },
  'two submissions, each tried twice': { units: 2, workers: 1, attempts: 2, crashes: 1 },
  'two submissions, a resend': { units: 2, workers: 1, attempts: 2, resends: 1 },
  'two submissions, somebody else files': { units: 2, workers: 1, strangers: 1, exclusive: false, partial: true },
  'two submissions, filings on the portal': { units: 2, workers: 1, attempts: 1, portal: true },
  'two submissions, two workers in one process that dies': {
    units: 2, workers: 2, attempts: 2, crashes: 1, outages: 1, quiet: true
  }
}

function run (
  scope: Partial<Scope>,
  trigger: Trigger,
  off: readonly Rule[] = [],
  property = '',
  made = new Set<string>()
): Outcome {
  return explore(ledgerModel({ scope: { ...SMALL, ...scope }, off: new Set(off), trigger, made }, property))
}

t.test('with all rules, no state is wrong, and every submission can reach a state at rest', async (t) => {
  const made = new Set<string>()
  for (const [world, scope] of Object.entries(WORLDS)) {
    const { states, steps, found } = run(scope, 'asserts', [], '', made)
    t.comment(`${states} states, ${steps} steps: ${world}`)
    t.same(found, undefined, world)
  }
  t.same(
    [...made].sort(),
    TRANSITIONS.map(({ da, a }) => `${da}>${a}`).sort(),
    'these worlds make every transition of the table'
  )
})

for (const { off, damage, triggerHolds = false, why, scope } of MUTANTS) {
  t.test(`without ${off.join(' and ')}: ${damage ?? `no harm, ${why}`}`, async (t) => {
    const { states, found } = run(scope, 'absent', off, damage ?? '')
    t.comment(
      found
        ? `${found.what}, in ${found.trace.length} steps: ${found.trace.join(' · ')}`
        : `${states} states, nothing found`
    )
    t.equal(found?.what.slice(0, 2) ?? null, damage)
    if (damage === null) return
    const held = run(scope, 'refuses', off, damage)
    t.equal(
      held.found === undefined,
      triggerHolds,
      triggerHolds ? 'the trigger alone holds it' : 'the trigger alone does not hold it'
    )
  })
}

t.test('every rule is switched off in at least one mutant', async (t) => {
  t.same([...new Set(MUTANTS.flatMap(({ off }) => off))].sort(), Object.keys(RULES).sort())
})
