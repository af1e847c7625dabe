import {
  DECIDABLE_STATES, UNRECEIPTED_STATES, type AttemptOutcome, type FinalAttemptOutcome, type State
} from '#schemas/submission.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import { arrivalWindowOpen } from '../../deadlines.ts'
import type { AccountDay, DayAttempt, DaySubmission, Finding, Proof, Counts } from './account-day.ts'
import type { AlarmKind } from '../alarms/alarm-kinds.ts'

/* What follows for one submission from what its day proves. */

/**
 * The states through which a submission becomes acquired when that is proven. One that was about to be sent again is
 * stopped first.
 */
const PATHS_TO_ACQUIRED: Partial<Record<State, readonly State[]>> = {
  pronto: ['da_verificare', 'acquisito'],
  preso: ['da_verificare', 'acquisito'],
  sconosciuto: ['acquisito'],
  da_verificare: ['acquisito']
}
const DECIDABLE: readonly State[] = DECIDABLE_STATES
const UNRECEIPTED: readonly State[] = UNRECEIPTED_STATES
/** The ledger knows already that these were acquired. */
const KNOWN_ACQUIRED: readonly State[] = [...UNRECEIPTED_STATES, 'ricevuto']

export interface Conclusion {
  /** The outcome of every unknown attempt of the day; undefined: there is none. */
  unknownsAre?: FinalAttemptOutcome
  /** What persons decided to be acquired is not on the receipt. */
  deniesDecisions?: boolean
  /** The receipt counts exactly what was acquired: this proves the acquired submissions. */
  isBalanced?: boolean
}

type Change = Pick<Finding, 'path' | 'note' | 'alarm'>

export function deriveFinding (
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
  // An attempt of which some rows were acquired does not prove that all of them were.
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
  // A denied decision matters only while the submission rests on it: it may have been sent again since.
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
 * The server sends a submission again by itself only when none of its attempts may have been acquired, and while the
 * service still takes its arrival.
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
 * Refers an acquired submission to a person, once for the same reason: what the person then decides stands. Undefined
 * when there is nothing to refer.
 */
export function referAcquired ({ stato, reasons }: DaySubmission, note: string, alarm: AlarmKind): Change | undefined {
  return UNRECEIPTED.includes(stato) && !reasons.includes(note) ? { path: ['da_verificare'], note, alarm } : undefined
}

/**
 * Refers a submission whose last attempt is unknown to a person, who is shown the description of that attempt.
 * Undefined when its last attempt is not in the day, or is known.
 */
export function referUnknown (
  { id, stato, tentativo }: DaySubmission, own: readonly DayAttempt[], describe: (attempt: DayAttempt) => string
): Finding | undefined {
  const last = own.find(({ numero }) => numero === tentativo)
  if (last?.esito !== '?' || !DECIDABLE.includes(stato)) return undefined
  return { invio_id: id, proofs: [], path: stato === 'sconosciuto' ? ['da_verificare'] : [], note: describe(last) }
}

/* The texts that a person is shown about a submission. */

const formatCounts = ({ schedine, notti }: Counts) => `schedine ${schedine}, notti ${notti}`

export const TEXTS = {
  acquired: (day: Day) => `La ricevuta del ${day} prova che è stato acquisito`,
  balanced: (day: Day) => `La ricevuta del ${day} torna`,
  notAcquired: (day: Day) => `La ricevuta del ${day} prova che non è stato acquisito`,
  tooLate: (day: Day) => `${TEXTS.notAcquired(day)}; la finestra di arrivo è chiusa: va comunicato per altra via`,
  otherUnknown: (day: Day) => `${TEXTS.notAcquired(day)}, ma un altro tentativo è di esito sconosciuto`,
  denied: (day: Day) => `La ricevuta del ${day} smentisce la decisione: non risulta acquisito`,
  noReceipt: (day: Day) => `La ricevuta del ${day} manca o non è leggibile: può essere stato acquisito oppure no`,
  oneFetch: (day: Day) =>
    `Suggerimento: non acquisito. La ricevuta del ${day} non lo conta, ma è stata letta una volta sola`,
  changed: (day: Day) => `La ricevuta del ${day} è cambiata fra una lettura e l'altra: non prova nulla`,
  midnight: ({ giorno_da, giorno_a }: DayAttempt) =>
    `Inviato a cavallo della mezzanotte: può stare nella ricevuta del ${giorno_da} o del ${giorno_a}`,
  besideMidnight: (day: Day) =>
    `Il ${day} un altro invio è a cavallo della mezzanotte: la ricevuta da sola non prova nulla`,
  notExclusive: (day: Day) =>
    `Suggerimento: acquisito. La ricevuta del ${day} torna, ma l'account può essere stato usato anche altrove`,
  suggestion: (day: Day, acquired: boolean) =>
    `Suggerimento: ${acquired ? '' : 'non '}acquisito. È la sola combinazione che dà la ricevuta del ${day}`,
  ambiguous: (day: Day) => `Più combinazioni danno la ricevuta del ${day}: verificare sul portale`,
  contradiction: (day: Day, receipt: Counts, known: Counts) =>
    `La ricevuta del ${day} (${formatCounts(receipt)}) non torna con gli invii noti (${formatCounts(known)})`
} as const
