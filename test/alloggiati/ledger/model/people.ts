import { go, inTable } from './trigger.ts'
import { daysOf } from './surroundings.ts'
import { known, mayBeThere, off, provenState, step, type Step, type Unit, type World } from './world.ts'

/** What people do: the caller withdraws or enters the guests again, an administrator decides, somebody else files. */
export function * peopleSteps (w: World): Generator<Step> {
  for (const unit of w.units.keys()) {
    yield * caller(w, unit)
    yield * administrator(w, unit)
  }
  if (w.strangers > 0) {
    for (const day of daysOf(w.time)) {
      yield step(w, `somebody else files on D+${day}`, (n) => {
        n.strangers--
        n.elsewhere[day] += 2
      })
    }
  }
}

function * caller (w: World, unit: number): Generator<Step> {
  const u = w.units[unit]!
  if (u.stato === 'pronto' && (!mayBeThere(u) || off(w, 'negativeEnds'))) {
    yield step(w, 'withdraw', (n) => { go(n, n.units[unit]!, 'non_inviato') })
  }
  if (w.reentries > 0 && w.time < 3 && unlocked(w, u)) {
    yield step(w, 'enter the same guests again', (n) => {
      n.reentries--
      Object.assign(n.units[unit]!, { stato: 'pronto', first: u.attempts.length, knowing: false })
    })
  }
}

/** Whether the index of identities lets the same guests in. */
function unlocked (w: World, u: Unit): boolean {
  if (u.stato === 'annullato') return !mayBeThere(u) || off(w, 'cancelLocks')
  return u.stato === 'rifiutato' || u.stato === 'non_inviato'
}

function * administrator (w: World, unit: number): Generator<Step> {
  const u = w.units[unit]!
  if (u.stato === 'sconosciuto') {
    yield step(w, 'a person takes it up', (n) => {
      go(n, n.units[unit]!, 'da_verificare')
    })
  }
  if (u.stato !== 'da_verificare') return
  const decide = (label: string, change: (mine: Unit, n: World) => void): Step =>
    step(w, `decision: ${label}`, (n) => {
      change(n.units[unit]!, n)
    })
  if (w.resends > 0 && w.time < 3) {
    yield decide('send again', (mine, n) => {
      n.resends--
      mine.accepted++
      mine.knowing = mine.attempts.some(known)
      go(n, mine, 'pronto', true)
    })
  }
  if (off(w, 'decisionOnce') && u.accepted > 0) {
    yield decide('the one of before, again', (mine, n) => {
      go(n, mine, 'pronto')
    })
  }
  yield decide('cancelled', (mine, n) => { go(n, mine, off(n, 'decisionKind') ? 'pronto' : 'annullato', true) })
  yield decide('filed by certified mail', (mine, n) => { go(n, mine, 'depositato_altrove', true) })
  if (w.law.scope.portal) {
    for (const day of daysOf(w.time)) {
      yield decide(`filed on the portal, D+${day}`, (mine, n) => {
        n.elsewhere[day] += 2
        // Around midnight the person cannot tell the day either.
        for (const possible of daysOf(n.time)) n.portal[possible] = true
        go(n, mine, 'depositato_altrove', true)
      })
    }
  }
  yield * acquired(w, u, decide)
}

/** A person says that it was acquired: what is proven, or, where nothing is, rightly or not. */
function * acquired (
  w: World,
  u: Unit,
  decide: (label: string, change: (mine: Unit, n: World) => void) => Step
): Generator<Step> {
  const proven = provenState(u)
  const goal = off(w, 'fullProof') && proven !== undefined ? 'acquisito' : proven
  if (goal !== undefined) {
    if (inTable(u.stato, goal)) {
      yield decide(`${goal}, as proven`, (mine, n) => {
        go(n, mine, goal, true)
      })
    }
    return
  }
  const open = u.attempts.findLastIndex(
    ({ outcome, decided }, index) => index >= u.first && (outcome === '?' || decided)
  )
  if (open === -1) return
  yield decide("acquisito, on somebody's word", (mine, n) => {
    Object.assign(mine.attempts[open]!, { outcome: 'K', decided: true })
    go(n, mine, 'acquisito', true)
  })
}
