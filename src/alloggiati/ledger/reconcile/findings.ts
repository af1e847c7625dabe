import { deriveFinding, referAcquired, referUnknown, type Conclusion, TEXTS } from './consequence.ts'
import {
  type AccountDay, type Counts, type DayAttempt, type DayFindings, type DaySubmission, type Finding, type Rule,
  areEqual, findCombinations, isNegative, isZero, subtract, sum
} from './account-day.ts'
import { readFetches, waitingEnds, type Reading } from './fetches.ts'
import type { AlarmKind } from '../alarms/alarm-kinds.ts'

/**
 * What a receipt proves of the attempts of its day. The receipt only counts. So the whole day is one equation over all
 * its attempts, even those of submissions that have moved on since; and a fact is proven only when no other explanation
 * gives the same receipt. The function is pure: the same day gives the same findings.
 */
export function deriveFindings (accountDay: AccountDay): DayFindings {
  const { day, now, attempts, submissions, fetches } = accountDay
  const isInFlight = submissions.some(({ id, stato, tentativo }) =>
    stato === 'in_invio' && attempts.some(({ invio_id, numero }) => invio_id === id && numero === tentativo)
  )
  if (isInFlight) return { rule: 'in_volo', findings: [] }
  // This comes before the receipt is asked for, because the receipt of one day cannot settle it.
  const aroundMidnight = attempts.filter((one) => mayBeCounted(one) && one.giorno_da !== one.giorno_a)
  if (aroundMidnight.length > 0) {
    return refer(accountDay, 'mezzanotte', (attempt) =>
      aroundMidnight.includes(attempt) ? TEXTS.midnight(attempt) : TEXTS.besideMidnight(day)
    )
  }
  const receipt = readFetches(day, fetches)
  if (receipt === undefined) {
    return now < waitingEnds(day, 1)
      ? { rule: 'senza_ricevuta', findings: [] }
      : refer(accountDay, 'senza_ricevuta', () => TEXTS.noReceipt(day))
  }
  if (receipt.hasChanged) return refer(accountDay, 'ricevuta_mutata', () => TEXTS.changed(day), 'changed')
  return attempts.some(({ esito }) => esito === '?')
    ? solveWithUnknowns(accountDay, receipt)
    : solveWithoutUnknowns(accountDay, receipt)
}

/** No receipt counts an attempt that is proven not to have been acquired; any other attempt may be counted. */
function mayBeCounted ({ esito, isDecided }: DayAttempt): boolean {
  return esito !== 'N' || isDecided
}

function isProvenAcquired ({ esito, isDecided }: DayAttempt): boolean {
  return esito === 'K' && !isDecided
}

function solveWithoutUnknowns (accountDay: AccountDay, { counts }: Reading): DayFindings {
  const rule = 'senza_incogniti'
  const { attempts, isExclusive } = accountDay
  const rest = subtract(counts, sum(attempts.filter(({ esito }) => esito === 'K')))
  if (isZero(rest)) return { rule, findings: conclude(accountDay, { isBalanced: true }) }
  if (!isNegative(rest)) return { rule, findings: [], ...(isExclusive ? { alarm: 'excess' } : {}) }
  return isNegative(subtract(counts, sum(attempts.filter(isProvenAcquired))))
    ? contradict(accountDay, counts)
    : { rule, findings: conclude(accountDay, { deniesDecisions: true }) }
}

function solveWithUnknowns (accountDay: AccountDay, { counts, isStable }: Reading): DayFindings {
  const { day, now, attempts, isExclusive } = accountDay
  const rest = subtract(counts, sum(attempts.filter(isProvenAcquired)))
  if (isNegative(rest)) return contradict(accountDay, counts)
  if (isZero(rest)) {
    if (isStable) {
      const findings = conclude(accountDay, { unknownsAre: 'N', deniesDecisions: true, isBalanced: true })
      return { rule: 'nessuno', findings }
    }
    return now < waitingEnds(day, 2)
      ? { rule: 'nessuno', findings: [] }
      : refer(accountDay, 'nessuno', () => TEXTS.oneFetch(day))
  }
  // A person's decision may be wrong: in the equation it is as uncertain as an unknown outcome.
  const uncertain = [
    ...attempts.filter(({ esito }) => esito === '?'),
    ...attempts.filter(({ esito, isDecided }) => esito !== '?' && isDecided)
  ]
  if (areEqual(rest, sum(uncertain))) {
    return isExclusive
      ? { rule: 'tutti', findings: conclude(accountDay, { unknownsAre: 'K', isBalanced: true }) }
      : refer(accountDay, 'suggerita', () => TEXTS.notExclusive(day))
  }
  const found = findCombinations(uncertain, rest)
  if (found === undefined || found.length > 1) return refer(accountDay, 'ambigua', () => TEXTS.ambiguous(day))
  const [only] = found
  if (only) {
    return refer(accountDay, 'suggerita', (one) => TEXTS.suggestion(day, only.has(uncertain.indexOf(one))))
  }
  return refer(accountDay, 'contraddetta', () => describeContradiction(accountDay, counts), 'no-match')
}

function conclude (accountDay: AccountDay, conclusion: Conclusion): Finding[] {
  return forEachSubmission(accountDay, (submission, own) => deriveFinding(submission, own, accountDay, conclusion))
}

/** The receipt counts less than the service itself has said: every submission of the day is referred to a person. */
function contradict (accountDay: AccountDay, counts: Counts): DayFindings {
  const note = describeContradiction(accountDay, counts)
  const findings = forEachSubmission(accountDay, (submission, own) => {
    const change = own.some(({ esito }) => esito === 'K')
      ? referAcquired(submission, note, 'contradiction')
      : undefined
    return change ? { invio_id: submission.id, proofs: [], ...change } : referUnknown(submission, own, () => note)
  })
  return { rule: 'contraddetta', findings, alarm: 'contradiction' }
}

function describeContradiction ({ day, attempts }: AccountDay, counts: Counts): string {
  return TEXTS.contradiction(day, counts, sum(attempts.filter(isProvenAcquired)))
}

/** The receipt proves nothing: persons decide about unknown attempts, each with the text about its last attempt. */
function refer (
  accountDay: AccountDay, rule: Rule, describe: (attempt: DayAttempt) => string, alarm?: AlarmKind
): DayFindings {
  const findings = forEachSubmission(accountDay, (submission, own) => referUnknown(submission, own, describe))
  return { rule, findings, ...(alarm === undefined ? {} : { alarm }) }
}

function forEachSubmission (
  { submissions, attempts }: AccountDay,
  derive: (submission: DaySubmission, own: readonly DayAttempt[]) => Finding | undefined
): Finding[] {
  const own = Map.groupBy(attempts, ({ invio_id }) => invio_id)
  return submissions.flatMap((submission) => derive(submission, own.get(submission.id) ?? []) ?? [])
}
