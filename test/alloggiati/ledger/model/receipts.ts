import { conclude } from './record.ts'
import { go } from './trigger.ts'
import { known, off, step, type Attempt, type Day, type Step, type Unit, type World } from './world.ts'

const DAYS: readonly Day[] = [0, 1]

/** The receipts: looked at, believed, and held against the attempts of their day. */
export function * receiptSteps (w: World): Generator<Step> {
  const attempts = w.units.flatMap((u) => u.attempts)
  for (const day of DAYS) {
    const there = attempts.filter((a) => touches(a, day))
    if (w.time < day + 2 || there.length === 0 || there.some(({ wire }) => wire === 'flying')) continue
    yield * look(w, day)
    const seen = w.looks[day]
    if (seen !== null && (seen.twice || off(w, 'twoFetches'))) yield * reconcile(w, day, seen.rows)
    if (off(w, 'missingIsNotZero')) yield * reconcile(w, day, 0)
  }
}

/** The first look may come before the service has counted everything; hours later it has. */
function * look (w: World, day: Day): Generator<Step> {
  const truth =
    w.elsewhere[day] +
    w.units.flatMap(({ attempts }) => attempts).reduce((sum, a) => sum + (a.day === day ? a.taken : 0), 0)
  const before = w.looks[day]
  if (before !== null && before.twice && before.rows === truth) return
  for (const rows of before === null && truth > 0 ? [0, truth] : [truth]) {
    yield step(w, `receipt of D+${day} shows ${rows}`, (n) => { n.looks[day] = { rows, twice: before?.rows === rows } })
  }
}

/** An attempt that may be on the receipt of a day. */
function touches ({ at, outcome }: Attempt, day: Day): boolean {
  return outcome !== 'N' && (at === 1 || (at === 0 ? day === 0 : day === 1))
}

/** Decides a whole day in one transaction. */
function * reconcile (w: World, day: Day, rows: number): Generator<Step> {
  const there = w.units.flatMap(({ attempts }) => attempts).filter((a) => touches(a, day))
  if (there.some(({ outcome }) => outcome === '') && !off(w, 'settledDay')) return
  yield step(w, `reconcile D+${day}`, (n) => { decide(n, day, rows) })
}

interface Entry { u: Unit, a: Attempt }

function decide (n: World, day: Day, rows: number): void {
  const entries = n.units.flatMap((u) => u.attempts.flatMap((a) => touches(a, day) ? [{ u, a }] : []))
  if (entries.some(({ a }) => a.at === 1) && !off(n, 'straddle')) return review(n, entries, ({ at }) => at === 1)
  const { unknown, acquired, rest } = equation(n, entries, rows)
  const alone = isAlone(n, day)
  const all = unknown.length > 0 && rest === 2 * unknown.length && alone
  if (all) {
    for (const { a } of unknown) Object.assign(a, { outcome: 'K', decided: false })
    for (const { u } of unknown) conclude(n, u)
  } else if (rest === 0 || (rest > 0 && unknown.length === 0 && !alone)) {
    // The answers account for every row, or others do for what is left of them.
    for (const { u, a } of unknown) notThere(n, u, a)
    for (const { u } of acquired) receipted(n, u)
  } else review(n, entries, known)
}

/** Whether all that was filed with the account that day is in the ledger. */
function isAlone ({ law: { scope, off }, portal }: World, day: Day): boolean {
  return (scope.exclusive || off.has('exclusive')) && (!portal[day] || off.has('portal'))
}

/** What a receipt shows beyond what is known to be on it, and the attempts that may account for it. */
function equation (
  n: World,
  entries: readonly Entry[],
  rows: number
): { unknown: Entry[]; acquired: Entry[]; rest: number } {
  const isOpen = ({ outcome, decided }: Attempt): boolean => outcome === '?' || (decided && !off(n, 'decidedUnknown'))
  const unknown = entries.filter(
    ({ u, a }) => isOpen(a) && (!off(n, 'wholeDay') || (u.stato === 'sconosciuto' && a === u.attempts.at(-1)))
  )
  const acquired = entries.filter(({ a }) => (a.outcome === 'K' || a.outcome === 'P') && !isOpen(a))
  return { unknown, acquired, rest: rows - acquired.reduce((sum, { a }) => sum + (a.outcome === 'K' ? 2 : 1), 0) }
}

/**
 * Nothing is proven: what is in doubt goes before a person, and with it those of the acquired that are not as they
 * should be.
 */
function review (n: World, entries: readonly Entry[], odd: (a: Attempt) => boolean): void {
  for (const { u, a } of entries) {
    if (u.stato === 'sconosciuto' || (isAcquired(u) && odd(a))) go(n, u, 'da_verificare')
  }
}

function isAcquired ({ stato }: Unit): boolean {
  return stato === 'acquisito' || stato === 'parziale'
}

function receipted (n: World, u: Unit): void {
  if (isAcquired(u)) go(n, u, 'ricevuto')
}

function notThere (n: World, u: Unit, a: Attempt): void {
  if (a.decided) {
    if (u.stato === 'acquisito') go(n, u, 'da_verificare')
    return
  }
  a.outcome = 'N'
  if (u.stato !== 'sconosciuto') return
  const free = u.attempts.slice(u.first).every(({ outcome }) => outcome === 'N')
  go(n, u, free && n.time < 3 ? 'pronto' : 'da_verificare')
}
