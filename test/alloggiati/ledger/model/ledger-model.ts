import type { State } from '#schemas/submission.ts'
import type { System } from './checker.ts'
import { key } from './key.ts'
import { peopleSteps } from './people.ts'
import { receiptSteps } from './receipts.ts'
import { surroundingSteps } from './surroundings.ts'
import { mayBeClaimed, workerSteps } from './worker.ts'
import { begin, known, ownAttempts, type Law, type Step, type Unit, type World } from './world.ts'

/*
 * The submission ledger as a finite state machine. The checker visits every reachable state. The files:
 *
 *   rules.ts         the rules that keep the ledger correct, which can be switched off one by one
 *   world.ts         a state: submissions with their attempts, workers, and the guests that the police has acquired
 *   trigger.ts       the database trigger, which allows only the state changes of its table, with their evidence
 *   worker.ts        the worker: claim, login, test call, commit, write, response
 *   record.ts        the change of a submission after an outcome
 *   surroundings.ts  network, time, crashes, the sweep
 *   receipts.ts      the reconciliation of one day with its receipt
 *   midnight.ts      the reconciliation of two days together
 *   people.ts        the caller, the administrator, others on the account
 *   mutants.ts       models with one rule switched off, and the invariant that each breaks
 *   key.ts           the identity of a state: equal keys mean equal states
 *   checker.ts       the search, which is independent of the ledger
 *
 * A step is a name and a change. `everyStep` yields every possible next step: a frozen process, a lost response and a
 * successful response are three steps from one state. A submission has two guests. Time has five values (world.ts).
 * Within one value, any action may take any time.
 *
 * Invariants of every state:
 *
 *   P1  A guest is acquired at most once. Each confirmed entry allows one more. So does each resend that a person
 *       decided when no earlier Send could still arrive.
 *   P2  From every state each submission can reach an end, or a state with an alarm (see RESTING). An acquired one can
 *       become ricevuto, unless another attempt of its day has an unknown outcome.
 *   P3  States agree with the police: acquisito and ricevuto are acquired there, rifiutato and non_inviato are not.
 *   P4  A known acquisition is not sent again, unless a person who could know it decided so.
 *   P5  One crash leaves at most one submission with an unknown outcome, and an unavailable database leaves none.
 *   P6  A worker in its test call, running or killed, blocks no other submission.
 *
 * Assumptions: The service processes written bytes within minutes. A process does not freeze between its last clock
 * check and its write. Two equal fetches of a receipt, hours apart, are complete. Committed data are durable.
 */

/** States in which a submission may stay: an end, or a state with an alarm that a person or a receipt ends. */
const RESTING: ReadonlySet<State> = new Set([
  'ricevuto', 'rifiutato', 'non_inviato', 'depositato_altrove', 'annullato', 'acquisito', 'parziale', 'da_verificare'
])

/** @param property the only invariant to check, for example `P1` */
export function ledgerModel (law: Law, property = ''): System<World> {
  return {
    initial: begin(law),
    steps: allSteps,
    key,
    wrong: (w) =>
      [w.fault, twice(w), ...w.units.map(untrue), unknowns(w), blocking(w)].find((what) => what?.startsWith(property)),
    atRest: (w) => w.units.every(({ stato }) => RESTING.has(stato) && !(stato === 'acquisito' && isProvable(w)))
  }
}

function * allSteps (w: World): Generator<Step> {
  for (const found of everyStep(w)) if (found[1].refused !== true || w.law.trigger === 'asserts') yield found
}

function * everyStep (w: World): Generator<Step> {
  for (const i of w.workers.keys()) yield * workerSteps(w, i)
  yield * surroundingSteps(w)
  yield * receiptSteps(w)
  yield * peopleSteps(w)
}

/** Whether receipts can confirm every acquisition: no attempt that may be on them has an unknown outcome. */
function isProvable ({ units, elsewhere, gone }: World): boolean {
  return !gone && elsewhere[0] + elsewhere[1] === 0 &&
    units.every(({ attempts }) => attempts.every((a) => a.outcome === 'N' || known(a)))
}

/** Checks P1. Acquisitions of two submissions with the same guests are added up. */
function twice ({ units, law: { scope } }: World): string | undefined {
  const groups = scope.twin === null ? units.map((u) => [u]) : [units]
  return groups.some((group) => total(group, timesTaken) > 1 + total(group, ({ accepted }) => accepted))
    ? 'P1: acquired twice, and no person accepted the risk'
    : undefined
}

function timesTaken ({ attempts }: Unit): number {
  return attempts.filter(({ taken }) => taken > 0).length
}

function total (units: readonly Unit[], value: (u: Unit) => number): number {
  return units.reduce((sum, u) => sum + value(u), 0)
}

function untrue (u: Unit): string | undefined {
  return isUntrue(u) ? `P3: the state ${u.stato} contradicts the police` : undefined
}

/**
 * Checks P3: whether a state contradicts the data of the police. A person's decision is accepted until it is disproven.
 */
function isUntrue (u: Unit): boolean {
  const own = ownAttempts(u)
  const most = Math.max(0, ...own.map(({ taken }) => taken))
  switch (u.stato) {
    case 'acquisito': return most < 2 && !own.some(({ decided }) => decided)
    case 'parziale': return most < 1
    case 'ricevuto': return most < 2
    case 'rifiutato': case 'non_inviato': return most > 0
    case 'pronto': case 'preso': case 'in_invio': case 'sconosciuto': case 'da_verificare': case 'annullato':
    case 'depositato_altrove': return false
  }
}

/** Checks P5: when only crashes occur, each leaves at most one submission with an unknown outcome. */
function unknowns ({ law: { scope }, units, crashes }: World): string | undefined {
  if (!scope.quiet) return undefined
  const doubtful = units.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === '?')).length
  return doubtful > scope.crashes - crashes ? 'P5: one crash left two submissions in doubt' : undefined
}

/** Checks P6: whether a worker that was killed in its test call blocks the claim of another submission. */
function blocking (w: World): string | undefined {
  const { units, workers } = w
  const isDead = (u: Unit): boolean =>
    u.stato === 'preso' && workers.every(({ phase, unit }) => phase === 'idle' || units[unit] !== u)
  if (!units.some(isDead) || units.some(({ stato }) => stato === 'in_invio')) return undefined
  return units.some((u) => u.stato === 'pronto' && !mayBeClaimed(w, u))
    ? 'P6: blocked by a worker that was killed in its test call'
    : undefined
}
