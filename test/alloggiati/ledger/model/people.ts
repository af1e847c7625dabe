import { go, inTable } from './trigger.ts'
import { daysOf } from './surroundings.ts'
import { known, mayBeThere, off, provenState, step, windowOpen, type Step, type Unit, type World } from './world.ts'

/** Steps of people: the caller withdraws or re-enters guests, an administrator decides, another person files. */
export function * peopleSteps (w: World): Generator<Step> {
  for (const unit of w.units.keys()) {
    yield * caller(w, unit)
    yield * administrator(w, unit)
  }
  if (w.strangers > 0) {
    for (const day of daysOf(w)) {
      yield step(w, `somebody else files on D+${day}`, (n) => {
        n.strangers--
        n.elsewhere[day] += 2
      })
    }
  }
}

function * caller (w: World, unit: number): Generator<Step> {
  const u = w.units[unit]!
  if (w.gone) return
  if (u.stato === 'pronto' && (!mayBeThere(u) || off(w, 'negativeEnds'))) {
    yield step(w, 'withdraw', (n) => { go(n, n.units[unit]!, 'non_inviato') })
  }
  if (w.reentries === 0 || !windowOpen(w) || !unlocked(w, u)) return
  const enter = (label: string, confirmed: 0 | 1): Step => step(w, label, (n) => {
    n.reentries--
    n.confirmations -= confirmed
    const accepted = u.accepted + confirmed
    Object.assign(n.units[unit]!, { stato: 'pronto', first: u.attempts.length, accepted, knowing: false })
  })
  if (!isFound(w, unit)) yield enter('enter the same guests again', 0)
  else if (w.confirmations > 0) yield enter('enter the same guests again, confirmed', 1)
}

/** Whether another submission blocks this one, because it has the same guests or fills the booking. */
function isFound (w: World, unit: number): boolean {
  const { twin } = w.law.scope
  if (twin === null || off(w, twin === 'respelled' ? 'liveRows' : 'bookingCount')) return false
  return w.units.some((other, i) => i !== unit && !unlocked(w, other))
}

/** Whether the index of identities accepts the same guests again. */
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
  // If the account is abandoned, no administrator withdraws a waiting submission.
  if (u.stato === 'pronto' && !w.gone) {
    yield step(w, 'decision: cancelled while it waits', (n) => {
      go(n, n.units[unit]!, 'da_verificare')
      go(n, n.units[unit]!, 'annullato', true)
    })
  }
  if (u.stato !== 'da_verificare') return
  const decide = (label: string, change: (mine: Unit, n: World) => void): Step =>
    step(w, `decision: ${label}`, (n) => {
      change(n.units[unit]!, n)
    })
  if (w.resends > 0 && windowOpen(w) && !w.gone && (isDelivered(w, unit) || off(w, 'deliveredFirst'))) {
    yield decide('send again', (mine, n) => {
      n.resends--
      if (!mine.attempts.some(({ wire }) => wire === 'flying')) mine.accepted++
      mine.knowing = mine.attempts.some(known)
      go(n, mine, 'pronto', true)
    })
  }
  if (off(w, 'decisionOnce') && u.accepted > 0) {
    yield decide('the earlier resend, again', (mine, n) => {
      go(n, mine, 'pronto')
    })
  }
  yield decide('cancelled', (mine, n) => { go(n, mine, off(n, 'decisionKind') ? 'pronto' : 'annullato', true) })
  yield decide('filed by certified mail', (mine, n) => { go(n, mine, 'depositato_altrove', true) })
  if (w.law.scope.portal) {
    for (const day of daysOf(w)) {
      yield decide(`filed on the portal, D+${day}`, (mine, n) => {
        n.elsewhere[day] += 2
        // Around midnight the person does not know the day.
        for (const possible of daysOf(n)) n.portal[possible] = true
        go(n, mine, 'depositato_altrove', true)
      })
    }
  }
  yield * acquired(w, u, decide)
}

/**
 * Whether the delivery deadline `consegna_entro` has passed for all attempts. After it, no worker has a valid lease.
 */
function isDelivered (w: World, unit: number): boolean {
  const out = w.units[unit]!.attempts.some(({ wire, outcome }) => wire === 'flying' && outcome !== 'N')
  return !out && w.workers.every((each) =>
    each.unit !== unit || each.lapsed || each.phase === 'idle' || each.phase === 'claimed')
}

/** A person decides that the guests were acquired. Without a reply or receipt the person may be wrong. */
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
