import type { State } from '#schemas/submission.ts'
import type { System } from './checker.ts'
import { key } from './key.ts'
import { peopleSteps } from './people.ts'
import { receiptSteps } from './receipts.ts'
import { surroundingSteps } from './surroundings.ts'
import { workerSteps } from './worker.ts'
import { begin, known, ownAttempts, type Attempt, type Law, type Step, type Unit, type World } from './world.ts'

/*
 * The submission ledger as a finite model, looked at in full. How to read it:
 *
 *   rules.ts         what keeps the ledger honest, rule by rule; each can be switched off
 *   world.ts         what a state holds: submissions with their attempts, workers, looks at receipts, and the truth
 *                    at the police
 *   trigger.ts       the only way to change a submission's state: through the table of states.ts, with its evidence
 *   worker.ts        claim, login, rehearsal, commit, write, answer
 *   record.ts        what an outcome does to its submission
 *   surroundings.ts  network, time, crashes, the sweep
 *   receipts.ts      looks, and the equation of a day
 *   people.ts        the caller, the administrator, others on the account
 *   mutants.ts       each rule off, and the damage
 *   key.ts           which states are the same
 *   checker.ts       the search; knows nothing of ledgers
 *
 * A step is a name and a change; whatever may happen next is yielded, so a frozen process, a lost answer and a good one
 * are three steps from one state. A submission has two guests. Time has four places (world.ts); within a place,
 * anything may take any time.
 *
 * What must hold in every state:
 *   P1  no guest is acquired more often than once, and once more for each resend that a person decided
 *   P2  from every state each submission can still come to an end, or to where an alarm is up (see RESTING)
 *   P3  what a state says is so at the police: acquisito and ricevuto are there, rifiutato and non_inviato are not
 *   P4  nothing is sent of which an acquisition was known, unless a person who could know it decided to
 *   P5  one crash leaves one submission in doubt
 *
 * Assumed, not shown: bytes written are dealt with within minutes; a process does not freeze between its last look at
 * the clock and its write; two equal looks at a receipt hours apart show all of it; what the database has committed
 * stays.
 */

/** Where a submission may stay: an end, or a place where an alarm is up until a person or a receipt comes. */
const RESTING: ReadonlySet<State> = new Set([
  'ricevuto', 'rifiutato', 'non_inviato', 'depositato_altrove', 'annullato', 'acquisito', 'parziale', 'da_verificare'
])

/** @param property looks only for violations of this one, as `P1` */
export function ledgerModel (law: Law, property = ''): System<World> {
  return {
    initial: begin(law),
    steps: allSteps,
    key,
    wrong: (w) => [w.fault, ...w.units.flatMap(wrongOf), blurred(w)].find((what) => what?.startsWith(property)),
    atRest: (w) => w.units.every(({ stato }) => RESTING.has(stato))
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

function wrongOf (u: Unit): string[] {
  const times = u.attempts.filter(({ taken }) => taken > 0).length
  return [
    ...(times > 1 + u.accepted ? ['P1: acquired twice, and nobody accepted the risk'] : []),
    ...(untrue(u) ? [`P3: called ${u.stato}, and it is not so`] : [])
  ]
}

/**
 * Whether a state says something of the police's records that they do not bear out. A person's word is believed until
 * disproven.
 */
function untrue (u: Unit): boolean {
  const own = ownAttempts(u)
  const most = Math.max(0, ...own.map(({ taken }) => taken))
  switch (u.stato) {
    case 'acquisito': return most < 2 && !own.some(({ decided }) => decided)
    case 'parziale': return most < 1
    case 'ricevuto': return most < (saidToBeWhole(own) ? 2 : 1)
    case 'rifiutato': case 'non_inviato': return most > 0
    case 'pronto': case 'preso': case 'in_invio': case 'sconosciuto': case 'da_verificare': case 'annullato':
    case 'depositato_altrove': return false
  }
}

/** Whether both guests count as acquired. What is known goes before what a person said. */
function saidToBeWhole (own: readonly Attempt[]): boolean {
  const proof = own.filter(known)
  return (proof.length > 0 ? proof : own).some(({ outcome }) => outcome === 'K')
}

/** Where only crashes go wrong, each leaves one submission in doubt at most. */
function blurred ({ law: { scope }, units, crashes }: World): string | undefined {
  if (!scope.quiet) return undefined
  const doubtful = units.filter(({ attempts }) => attempts.some(({ outcome }) => outcome === '?')).length
  return doubtful > scope.crashes - crashes ? 'P5: one crash left two submissions in doubt' : undefined
}
