import { balance, rowsOf, straddles } from './midnight.ts'
import { conclude } from './record.ts'
import { go } from './trigger.ts'
import { known, off, step, windowOpen, type Attempt, type Day, type Step, type Unit, type World } from './world.ts'

const DAYS: readonly Day[] = [0, 1]

/**
 * Compares the receipts with the attempts of their day. A past day does not change, so two equal fetches are reliable.
 * The second fetch always follows the service's final count. The first one may precede it.
 */
export function * receiptSteps (w: World): Generator<Step> {
  if (w.gone) return
  const attempts = w.units.flatMap((u) => u.attempts)
  for (const day of DAYS) {
    const there = attempts.filter((a) => touches(a, day))
    if (w.time < day + 3 || there.length === 0 || there.some(({ wire }) => wire === 'flying')) continue
    yield * reconcile(w, day, 'receipt', receiptOf(w, day))
    if (off(w, 'twoFetches')) yield * reconcile(w, day, 'first look at the receipt', 0)
    if (off(w, 'missingIsNotZero')) yield * reconcile(w, day, 'no receipt', 0)
  }
}

/** The rows on the receipt of a day. */
function receiptOf ({ elsewhere, units }: World, day: Day): number {
  return units.reduce(
    (sum, { attempts }) => attempts.reduce((rows, a) => rows + (a.day === day ? a.taken : 0), sum), elsewhere[day])
}

/** Whether an attempt may be on the receipt of a day. */
function touches (a: Attempt, day: Day): boolean {
  return a.outcome !== 'N' && (straddles(a) || (a.at === 0 ? day === 0 : day === 1))
}

/** Decides about a whole day in one transaction. */
function * reconcile (w: World, day: Day, what: string, rows: number): Generator<Step> {
  const there = w.units.flatMap(({ attempts }) => attempts).filter((a) => touches(a, day))
  if (there.some(({ outcome }) => outcome === '') && !off(w, 'settledDay')) return
  yield step(w, `${what} of D+${day}: ${rows}`, (n) => { decide(n, day, rows) })
}

interface Entry { u: Unit, a: Attempt }

function decide (n: World, day: Day, rows: number): void {
  const entries = n.units.flatMap((u) => u.attempts.flatMap((a) => touches(a, day) ? [{ u, a }] : []))
  if (entries.some(({ a }) => straddles(a)) && !off(n, 'straddle')) return decideSpan(n, entries)
  const { unknown, acquired, rest } = equation(n, entries, rows)
  const alone = isAlone(n, day)
  const all = unknown.length > 0 && rest === 2 * unknown.length && alone
  if (all) {
    for (const { a } of unknown) Object.assign(a, { outcome: 'K', decided: false })
    for (const { u } of unknown) conclude(n, u)
  } else if (rest === 0 || (rest > 0 && unknown.length === 0 && !alone)) {
    // Known replies, or rows of other people, explain every row of the receipt.
    for (const { u, a } of unknown) notThere(n, u, a)
    for (const each of acquired) receipted(n, each)
  } else review(n, entries, known)
}

/**
 * Decides about both days together, because an answered call around midnight is on one of the two receipts. Then an
 * unknown call prevents any conclusion.
 */
function decideSpan (n: World, entries: readonly Entry[]): void {
  const span = n.units.flatMap((u) => u.attempts.flatMap((a) => a.outcome === 'N' ? [] : [{ u, a }]))
  if (span.some(({ a }) => !known(a))) return review(n, entries, () => false)
  if (off(n, 'together') || n.time < 4) return
  const fits = (day: Day, rest: number): boolean => rest === 0 || (rest > 0 && !isAlone(n, day))
  if (!balance([receiptOf(n, 0), receiptOf(n, 1)], span.map(({ a }) => a), fits)) return review(n, entries, known)
  for (const each of span) receipted(n, each)
}

/** Whether the ledger contains all guests who were filed with the account on that day. */
function isAlone ({ law: { scope, off }, portal }: World, day: Day): boolean {
  return (scope.exclusive || off.has('exclusive')) && (!portal[day] || off.has('portal'))
}

/** The rows of a receipt that known attempts do not explain, and the attempts that may explain them. */
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
  return { unknown, acquired, rest: rows - acquired.reduce((sum, { a }) => sum + rowsOf(a), 0) }
}

/** Refers attempts of unknown outcome to a person, and acquired ones that `odd` marks as inconsistent. */
function review (n: World, entries: readonly Entry[], odd: (a: Attempt) => boolean): void {
  for (const { u, a } of entries) {
    if (u.stato === 'sconosciuto' || (isAcquired(u) && odd(a))) go(n, u, 'da_verificare')
  }
}

function isAcquired ({ stato }: Unit): boolean {
  return stato === 'acquisito' || stato === 'parziale'
}

/**
 * A partly acquired submission stays partial, because its other guest must still be filed. A partial acquisition does
 * not confirm a person's decision about another attempt.
 */
function receipted (n: World, { u, a }: Entry): void {
  const whole = a.outcome === 'K' || off(n, 'wholeReceipt')
  if ((u.stato === 'acquisito' && whole) || (u.stato === 'parziale' && off(n, 'partStays'))) go(n, u, 'ricevuto')
}

function notThere (n: World, u: Unit, a: Attempt): void {
  if (a.decided) {
    if (u.stato === 'acquisito') go(n, u, 'da_verificare')
    return
  }
  a.outcome = 'N'
  if (u.stato !== 'sconosciuto') return
  const free = u.attempts.slice(u.first).every(({ outcome }) => outcome === 'N')
  go(n, u, free && windowOpen(n) ? 'pronto' : 'da_verificare')
}
