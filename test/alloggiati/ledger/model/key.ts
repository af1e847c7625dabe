import { STATES, type State } from '#schemas/submission.ts'
import type { Attempt, Outcome, Unit, Wire, Worker, World } from './world.ts'

function numbered<K extends string> (...names: K[]): Record<K, number> {
  return Object.fromEntries(names.map((name, index) => [name, index])) as Record<K, number>
}

const STATO = numbered(...Object.keys(STATES) as State[])
const OUTCOME = numbered<Outcome>('', '?', 'K', 'P', 'N')
const WIRE = numbered<Wire>('unwritten', 'flying', 'answered', 'over')
const PHASE = numbered<Worker['phase']>('idle', 'claimed', 'committed', 'waiting')

/**
 * A world as a short text. Submissions and workers are interchangeable: worlds that differ only in their order have the
 * same text.
 */
export function key (w: World): string {
  const [one, two = ''] = w.units.map((u) => unitCode(w, u)) as [string, string?]
  const straight = workerCodes(w.workers, 0)
  if (two === '' || one < two) return worldCode(w) + one + two + straight
  const swapped = workerCodes(w.workers, 1)
  return worldCode(w) + two + one + (one === two && straight < swapped ? straight : swapped)
}

function workerCodes ([one, two]: readonly Worker[], swapped: 0 | 1): string {
  const a = workerCode(one!, swapped)
  if (two === undefined) return String.fromCharCode(a)
  const b = workerCode(two, swapped)
  return a < b ? String.fromCharCode(a, b) : String.fromCharCode(b, a)
}

// Each number is in mixed radix: every digit is multiplied by the number of values of the next digit.

function worldCode (w: World): string {
  const { time, elsewhere, portal, crashes, resends, reentries, strangers, confirmations, outages, gone } = w
  const budgets = (((crashes * 4 + resends) * 4 + reentries) * 2 + strangers) * 2 + confirmations
  const onPortal = Number(portal[0]) * 2 + Number(portal[1])
  // The key of a closed submission omits `accepted`. When both have the same guests, only the sum matters.
  const accepted = w.law.scope.twin === null ? 0 : w.units.reduce((sum, u) => sum + u.accepted, 0)
  return String.fromCharCode(
    ((budgets * 2 + outages) * 2 + Number(gone)) * 5 + time,
    ((elsewhere[0] * 10 + elsewhere[1]) * 4 + onPortal) * 6 + accepted
  )
}

function unitCode (w: World, u: Unit): string {
  const { stato, attempts, first, accepted, knowing } = u
  if (isClosed(w, u)) {
    return attempts.reduce((code, a) => (isInert(a) ? code : code + String.fromCharCode(attemptCode(a))), CLOSED)
  }
  let code = String.fromCharCode(
    (((STATO[stato] * 4 + attempts.length) * 4 + first) * 6 + accepted) * 2 + Number(knowing)
  )
  for (const a of attempts) code += String.fromCharCode(isInert(a) ? INERT : attemptCode(a))
  return code
}

const CLOSED = '\uffff'
const INERT = 0xfffe

/** Whether a submission has permanently ended. Then the rest of the world does not depend on its final state. */
function isClosed ({ reentries }: World, { stato, attempts }: Unit): boolean {
  const end = stato === 'ricevuto' || stato === 'depositato_altrove' ||
    (reentries === 0 && (stato === 'annullato' || stato === 'rifiutato' || stato === 'non_inviato'))
  return end && attempts.every(({ wire }) => wire === 'over')
}

/** Whether an attempt is known to have had no effect, and can have none later. */
function isInert ({ outcome, wire, taken }: Attempt): boolean {
  return outcome === 'N' && wire === 'over' && taken === 0
}

function attemptCode ({ at, outcome, decided, wire, taken, day }: Attempt): number {
  return ((((at * 5 + OUTCOME[outcome]) * 2 + Number(decided)) * 4 + WIRE[wire]) * 3 + taken) * 2 + day
}

function workerCode ({ phase, unit, attempt, owns, lapsed }: Worker, swapped: number): number {
  return phase === 'idle'
    ? 0
    : (((PHASE[phase] * 2 + (unit ^ swapped)) * 4 + attempt) * 2 + Number(owns)) * 2 + Number(lapsed)
}
