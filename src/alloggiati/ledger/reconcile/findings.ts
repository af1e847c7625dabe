import {
  isDecidable, UNRECEIPTED_STATES, type AttemptOutcome, type FinalAttemptOutcome, type State
} from '#schemas/submission.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import { arrivalWindowOpen } from '../../deadlines.ts'
import type { AlarmKind } from '../alarms/alarm-kinds.ts'
import {
  type AccountDay, type Counts, type DayAttempt, type DayFindings, type DaySubmission, type Finding, type Proof,
  type Rule, areEqual, findCombinations, isNegative, isZero, subtract, sum
} from './account-day.ts'
import { readFetches, waitingEnds, type Reading } from './fetches.ts'

/**
 * Derives outcomes of attempts from the receipt of their day. A receipt contains only counts. So the day is one
 * equation over the outcomes of all its attempts, whatever the states of their submissions. An outcome is proven only
 * if no other combination gives the same counts. The function is pure.
 */
export function deriveFindings (accountDay: AccountDay): DayFindings {
  const { day, now, attempts, submissions, fetches } = accountDay
  const isInFlight = submissions.some(({ id, stato, tentativo }) =>
    stato === 'in_invio' && attempts.some(({ invio_id, numero }) => invio_id === id && numero === tentativo)
  )
  if (isInFlight) return { rule: 'in_volo', findings: [] }
  // Check calls around midnight first, because the receipt of one day cannot settle them.
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

/** Whether a receipt may count the attempt: true unless it is proven not acquired. */
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
  // A person's decision may be wrong, so the equation treats it like an unknown outcome.
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

/** The receipt counts fewer than the service confirmed. A person must check acquired and unknown submissions. */
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

/** A person must check the submissions whose last attempt has an unknown outcome. The text describes that attempt. */
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

/* Derives the conclusion for one submission. */

/** The states through which a submission moves when the receipt counts it. A pending resend is stopped first. */
const PATHS_TO_ACQUIRED: Partial<Record<State, readonly State[]>> = {
  pronto: ['da_verificare', 'acquisito'],
  preso: ['da_verificare', 'acquisito'],
  sconosciuto: ['acquisito'],
  da_verificare: ['acquisito']
}
const UNRECEIPTED: readonly State[] = UNRECEIPTED_STATES
/** States of submissions that the ledger already knows to be acquired. */
const KNOWN_ACQUIRED: readonly State[] = [...UNRECEIPTED_STATES, 'ricevuto']

interface Conclusion {
  /** The proven outcome of all unknown attempts of the day. Undefined if there are none. */
  unknownsAre?: FinalAttemptOutcome
  /** The receipt does not count the attempts that persons marked as acquired. */
  deniesDecisions?: boolean
  /** The receipt counts exactly the acquired schedine, so acquired submissions become `ricevuto`. */
  isBalanced?: boolean
}

type Change = Pick<Finding, 'path' | 'note' | 'alarm'>

function deriveFinding (
  submission: DaySubmission, own: readonly DayAttempt[], { day, now }: AccountDay, conclusion: Conclusion
): Finding | undefined {
  const proofs = proveUnknowns(own, conclusion)
  const ownOutcomes = own.map((attempt): AttemptOutcome =>
    isDenied(attempt, conclusion)
      ? 'N'
      : (proofs.find(({ numero }) => numero === attempt.numero)?.esito ?? attempt.esito)
  )
  const outcomes = [...submission.otherOutcomes, ...ownOutcomes]
  const change = deriveChange(submission, own, outcomes, { day, now }, conclusion)
  const path = change?.path ?? []
  // An attempt that was acquired in part does not make its submission `ricevuto`.
  const isProven = ownOutcomes.some((outcome, at) => outcome === 'K' && !own[at]!.isPartial)
  const isReceipted = conclusion.isBalanced === true && isProven && (path.at(-1) ?? submission.stato) === 'acquisito'
  if (proofs.length === 0 && path.length === 0 && !isReceipted) return undefined
  return {
    note: TEXTS.balanced(day),
    ...change,
    invio_id: submission.id,
    proofs,
    path: isReceipted ? [...path, 'ricevuto'] : path
  }
}

function proveUnknowns (own: readonly DayAttempt[], { unknownsAre }: Conclusion): Proof[] {
  if (unknownsAre === undefined) return []
  return own
    .filter(({ esito }) => esito === '?')
    .map(({ numero, schedine, notti }) => ({ numero, esito: unknownsAre, schedine, notti }))
}

function isDenied ({ esito, isDecided }: DayAttempt, { deniesDecisions }: Conclusion): boolean {
  return deniesDecisions === true && isDecided && esito === 'K'
}

function deriveChange (
  submission: DaySubmission,
  own: readonly DayAttempt[],
  outcomes: readonly AttemptOutcome[],
  { day, now }: Pick<AccountDay, 'day' | 'now'>,
  conclusion: Conclusion
): Change | undefined {
  const last = own.find(({ numero }) => numero === submission.tentativo)
  // A decision that the receipt contradicts matters only for the last attempt: the submission may have been resent.
  if (last && isDenied(last, conclusion)) {
    const note = TEXTS.denied(day)
    return referAcquired(submission, note, 'denied') ?? { path: [], note }
  }
  if (own.every(({ esito }) => esito !== '?') || conclusion.unknownsAre === undefined) return undefined
  if (conclusion.unknownsAre === 'K') return changeByAcquired(submission, outcomes, day)
  const isLate = !arrivalWindowOpen(submission.data_arrivo, dayInRome(now))
  return changeByNotAcquired(submission, last !== undefined, outcomes, day, isLate)
}

function changeByAcquired (
  { stato, isWhole }: DaySubmission, outcomes: readonly AttemptOutcome[], day: Day
): Change {
  const path: readonly State[] = stato === 'sconosciuto' && !isWhole ? ['parziale'] : PATHS_TO_ACQUIRED[stato] ?? []
  const isTwice = outcomes.filter((outcome) => outcome !== 'N').length > 1
  const isElsewhere = path.length === 0 && !KNOWN_ACQUIRED.includes(stato)
  const kind: AlarmKind | undefined = isTwice ? 'twice' : isElsewhere ? 'elsewhere' : undefined
  return { path, note: TEXTS.acquired(day), ...(kind === undefined ? {} : { alarm: kind }) }
}

/**
 * Resends a submission automatically only if none of its attempts may have been acquired, and its arrival window is
 * open.
 */
function changeByNotAcquired (
  { stato }: DaySubmission, isLastOfDay: boolean, outcomes: readonly AttemptOutcome[], day: Day, isLate: boolean
): Change {
  const isCertain = outcomes.every((outcome) => outcome === 'N')
  const note = !isCertain ? TEXTS.otherUnknown(day) : isLate ? TEXTS.tooLate(day) : TEXTS.notAcquired(day)
  if (stato !== 'sconosciuto' || !isLastOfDay) return { path: [], note }
  return { path: [isCertain && !isLate ? 'pronto' : 'da_verificare'], note }
}

/**
 * Refers an acquired submission to a person once per reason, so that a later run does not overrule that person's
 * decision. Undefined when there is nothing to refer.
 */
function referAcquired ({ stato, reasons }: DaySubmission, note: string, alarm: AlarmKind): Change | undefined {
  return UNRECEIPTED.includes(stato) && !reasons.includes(note) ? { path: ['da_verificare'], note, alarm } : undefined
}

/**
 * Refers a submission to a person if the outcome of its last attempt is unknown, with the description of that attempt.
 * Undefined if the last attempt belongs to another day or has a known outcome, or if a person cannot decide now.
 */
function referUnknown (
  { id, stato, tentativo }: DaySubmission, own: readonly DayAttempt[], describe: (attempt: DayAttempt) => string
): Finding | undefined {
  const last = own.find(({ numero }) => numero === tentativo)
  if (last?.esito !== '?' || !isDecidable(stato)) return undefined
  return { invio_id: id, proofs: [], path: stato === 'sconosciuto' ? ['da_verificare'] : [], note: describe(last) }
}

/* Texts for users about one submission. */

const formatCounts = ({ schedine, notti }: Counts) => `schedine ${schedine}, notti ${notti}`

const of = (day: Day) => dayWithArticle('del', day)

const TEXTS = {
  acquired: (day: Day) => `La ricevuta ${of(day)} prova che è stato acquisito`,
  balanced: (day: Day) => `La ricevuta ${of(day)} corrisponde agli invii`,
  notAcquired: (day: Day) => `La ricevuta ${of(day)} prova che non è stato acquisito`,
  tooLate: (day: Day) => `${TEXTS.notAcquired(day)}; la finestra di arrivo è chiusa: va comunicato per altra via`,
  otherUnknown: (day: Day) => `${TEXTS.notAcquired(day)}, ma un altro tentativo ha esito sconosciuto`,
  denied: (day: Day) => `La ricevuta ${of(day)} smentisce la decisione: non risulta acquisito`,
  noReceipt: (day: Day) => `La ricevuta ${of(day)} manca o non è leggibile: può essere stato acquisito oppure no`,
  oneFetch: (day: Day) =>
    `Suggerimento: non acquisito. La ricevuta ${of(day)} non lo conta, ma è stata letta una volta sola`,
  changed: (day: Day) => `La ricevuta ${of(day)} è cambiata fra una lettura e l’altra: non prova nulla`,
  midnight: ({ giorno_da, giorno_a }: DayAttempt) =>
    `Inviato a cavallo della mezzanotte: può risultare nella ricevuta ${of(giorno_da)} o ${of(giorno_a)}`,
  besideMidnight: (day: Day) =>
    `${dayWithArticle('Il', day)} un altro invio è a cavallo della mezzanotte: ` +
      'la ricevuta da sola non prova nulla',
  notExclusive: (day: Day) =>
    `Suggerimento: acquisito. La ricevuta ${of(day)} corrisponde, ma l’account può essere stato usato anche altrove`,
  suggestion: (day: Day, acquired: boolean) =>
    `Suggerimento: ${acquired ? '' : 'non '}acquisito. Solo questa combinazione corrisponde alla ricevuta ${of(day)}`,
  ambiguous: (day: Day) => `Più combinazioni corrispondono alla ricevuta ${of(day)}: verificare sul portale`,
  contradiction: (day: Day, receipt: Counts, known: Counts) =>
    `La ricevuta ${of(day)} (${formatCounts(receipt)}) non corrisponde agli invii noti (${formatCounts(known)})`
} as const
