import { go, inTable } from './trigger.ts'
import {
  IDLE,
  known,
  mayBeThere,
  off,
  provenState,
  step,
  type Attempt,
  type Outcome,
  type Step,
  type Unit,
  type World
} from './world.ts'

type NegativeEnd = 'pronto' | 'non_inviato' | 'rifiutato'

/** Records an outcome and moves the submission. `to` is the state after an N. */
export function recordOutcome (w: World, i: number, label: string, outcome: Outcome, to: NegativeEnd = 'pronto'): Step {
  return step(w, label, (n) => {
    const { unit, attempt, lapsed } = n.workers[i]!
    const u = n.units[unit]!
    release(n, i)
    if (lapsed && off(n, 'lateCounts')) return
    if (u.stato === 'preso' && off(n, 'writeAhead')) go(n, u, 'in_invio')
    const present = u.attempts.length - 1
    const index = off(n, 'ownAttempt') ? present : attempt
    if (!record(n, u, u.attempts[index]!, outcome)) return
    if (index === present && index >= u.first) moveAfter(n, u, outcome, to)
    else if (!off(n, 'anyAttempt')) conclude(n, u)
  })
}

/**
 * @returns false when it contradicts a person's decision: then a person must decide again, because a decided K cannot
 * be deleted
 */
function record (n: World, u: Unit, a: Attempt, outcome: Outcome): boolean {
  const denied = a.decided && outcome !== 'K' && outcome !== '?' && u.stato === 'acquisito'
  if (denied) go(n, u, 'da_verificare')
  else if (a.outcome === '' || (a.outcome === '?' && outcome !== '?')) a.outcome = outcome
  return !denied
}

function moveAfter (n: World, u: Unit, outcome: Outcome, to: NegativeEnd): void {
  if (outcome === 'N') return negative(n, u, to)
  if (outcome === '?' && u.stato === 'in_invio') go(n, u, 'sconosciuto')
  conclude(n, u)
}

/** Records that the current attempt was not acquired. Other attempts of the same submission may be acquired. */
function negative (n: World, u: Unit, to: NegativeEnd): void {
  if (u.stato !== 'in_invio' && u.stato !== 'sconosciuto') return
  if (u.attempts.some(known) && !off(n, 'anyAttempt')) return conclude(n, u)
  if (to === 'pronto' || !mayBeThere(u) || off(n, 'negativeEnds')) return go(n, u, to)
  if (u.stato === 'in_invio') go(n, u, 'sconosciuto')
  go(n, u, 'da_verificare')
}

/** Moves a submission with a known acquisition to the matching state, unless a call is in flight. */
export function conclude (n: World, u: Unit): void {
  const goal = provenState(u)
  if (goal === undefined) return
  if ((u.stato === 'pronto' || u.stato === 'preso') && !off(n, 'lateStops')) go(n, u, 'da_verificare')
  const flying = u.stato === 'in_invio' && u.attempts.at(-1)!.outcome === ''
  const waits = u.stato === 'in_invio' || u.stato === 'sconosciuto' || u.stato === 'da_verificare'
  if (waits && !flying && inTable(u.stato, goal)) go(n, u, goal)
}

/** A worker has finished its call or was killed. It writes no more, and a later reply is lost. */
export function release (n: World, i: number): void {
  const { phase, unit, attempt } = n.workers[i]!
  n.workers[i] = IDLE
  if (phase !== 'committed' && phase !== 'waiting') return
  const a = n.units[unit]!.attempts[attempt]!
  if (a.wire !== 'flying') a.wire = 'over'
}

/** Removes the owner of a submission. */
export function disown (n: World, unit: number): void {
  for (const worker of n.workers) if (worker.phase !== 'idle' && worker.unit === unit) worker.owns = false
}
