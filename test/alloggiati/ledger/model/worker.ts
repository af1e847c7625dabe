import { disown, release, recordOutcome } from './record.ts'
import { go } from './trigger.ts'
import {
  IDLE,
  known,
  mayBeThere,
  off,
  step,
  windowOpen,
  type Step,
  type Unit,
  type Worker,
  type World
} from './world.ts'

/** Steps of worker `i`: claim, login, test call, wait for the Send in flight, commit, write, read, give up. */
export function * workerSteps (w: World, i: number): Generator<Step> {
  const worker = w.workers[i]!
  const u = w.units[worker.unit]!
  switch (worker.phase) {
    case 'idle': return yield * claim(w, i)
    case 'claimed': return yield * prepare(w, i, u)
    case 'committed': return yield * write(w, i, u)
    case 'waiting': return yield * read(w, i, u)
  }
}

function * claim (w: World, i: number): Generator<Step> {
  for (const [unit, u] of w.units.entries()) {
    const stale = off(w, 'claimCas') && u.stato === 'preso'
    if (!stale && !mayBeClaimed(w, u)) continue
    if (w.gone || u.attempts.length === w.law.scope.attempts || !windowOpen(w)) continue
    yield step(w, 'claim', (n) => {
      if (!stale) go(n, n.units[unit]!, 'preso')
      disown(n, unit)
      n.workers[i] = { phase: 'claimed', unit, attempt: 0, owns: true, lapsed: false }
    })
  }
}

/** Several submissions of one account may make their test calls concurrently, without blocking each other. */
export function mayBeClaimed (w: World, u: Unit): boolean {
  return u.stato === 'pronto' && !(off(w, 'testCallOutside') && w.units.some(isClaimed))
}

function isClaimed ({ stato }: Unit): boolean {
  return stato === 'preso' || stato === 'in_invio'
}

/** Whether the account has no Send in flight, and it is not around midnight, when the day is ambiguous. */
function mayTakeFlight (w: World): boolean {
  if (w.time === 2 && !w.law.scope.closing && !off(w, 'pause')) return false
  return off(w, 'oneFlight') || w.units.every(({ stato }) => stato !== 'in_invio')
}

/** Steps before the commit of the attempt. They may fail without harm. */
function * prepare (w: World, i: number, u: Unit): Generator<Step> {
  const { unit, owns } = w.workers[i]!
  const mine = off(w, 'dispatchCas') || (u.stato === 'preso' && (owns || off(w, 'ownerCas')))
  const leave = (label: string, to: 'pronto' | 'non_inviato' | 'rifiutato' | 'da_verificare'): Step =>
    step(w, label, (n) => {
      go(n, n.units[unit]!, to)
      n.workers[i] = IDLE
    })
  if (!mine) {
    yield step(w, 'claim is gone', (n) => { n.workers[i] = IDLE })
    if (off(w, 'ownAttempt') && u.stato === 'in_invio') yield recordOutcome(w, i, 'claim is gone: nothing written', 'N')
    return
  }
  if (!windowOpen(w)) return yield leave('window has closed', 'da_verificare')
  // A failed call does not show whether an earlier Send of the submission was acquired.
  const undecided = mayBeThere(u) && !off(w, 'negativeEnds')
  if (u.stato === 'preso') {
    yield leave('login fails', 'pronto')
    yield leave('login fails, its caller gets the error', undecided ? 'da_verificare' : 'non_inviato')
    yield leave('test call refused', undecided ? 'da_verificare' : 'rifiutato')
  }
  if (u.attempts.length < w.law.scope.attempts && mayTakeFlight(w)) yield dispatch(w, i)
}

function dispatch (w: World, i: number): Step {
  return step(w, 'dispatch', (n) => {
    const worker = n.workers[i]!
    const u = n.units[worker.unit]!
    if (u.attempts.some(known) && !u.knowing) n.fault = 'P4: sent although it was known to be acquired'
    const ahead = !off(n, 'writeAhead')
    u.attempts.push({ at: n.time, outcome: '', decided: false, wire: ahead ? 'unwritten' : 'flying', taken: 0, day: 0 })
    if (ahead) go(n, u, 'in_invio')
    worker.attempt = u.attempts.length - 1
    worker.phase = ahead ? 'committed' : 'waiting'
  })
}

function * write (w: World, i: number, u: Unit): Generator<Step> {
  const worker = w.workers[i]!
  if (inTime(w, worker, u)) {
    yield step(w, 'write', (n) => {
      n.units[worker.unit]!.attempts[worker.attempt]!.wire = 'flying'
      n.workers[i]!.phase = 'waiting'
    })
  }
  yield recordOutcome(w, i, 'nothing written, its caller gets the error', 'N', 'non_inviato')
  yield recordOutcome(w, i, 'nothing written', 'N', 'pronto')
}

function inTime (w: World, worker: Worker, u: Unit): boolean {
  if (off(w, 'deadline')) return true
  if (!off(w, 'ownDeadline')) return !worker.lapsed
  return u.stato === 'in_invio' && w.workers.some(({ unit, owns, lapsed }) => w.units[unit] === u && owns && !lapsed)
}

function * read (w: World, i: number, u: Unit): Generator<Step> {
  const { attempt, unit } = w.workers[i]!
  const { wire, taken } = u.attempts[attempt]!
  if (wire === 'answered') {
    if (taken === 2) yield recordOutcome(w, i, 'answer: acquired', 'K')
    if (taken === 1) yield recordOutcome(w, i, 'answer: acquired in part', 'P')
    if (taken === 0) yield recordOutcome(w, i, 'answer: refused', 'N', 'rifiutato')
    if (w.outages > 0) yield outage(w, i)
  }
  if (w.law.scope.quiet) return
  yield off(w, 'timeoutIsUnknown')
    ? step(w, 'no answer: try again', (n) => {
      release(n, i)
      go(n, n.units[unit]!, 'pronto')
    })
    : recordOutcome(w, i, 'no answer', '?')
}

/** The reply has arrived while the database is unavailable, so the worker keeps it and retries. */
function outage (w: World, i: number): Step {
  return step(w, 'database away', (n) => {
    n.outages--
    if (off(n, 'settleAgain')) release(n, i)
  })
}
