import { arrivalWindowOpen } from '../../deadlines.ts'
import type { Day } from '#src/lib/time.ts'
import type { State } from '#schemas/submission.ts'
import type { DayAttempt, DayUnit, Decision, Outcome, Proof } from './day.ts'
import { ALARMS, TEXTS } from './texts.ts'

/**
 * How a submission gets to "acquired" once that is proven. One that was about to be sent again is stopped on the way.
 */
const TO_ACQUIRED: Partial<Record<State, readonly State[]>> = {
  pronto: ['da_verificare', 'acquisito'],
  preso: ['da_verificare', 'acquisito'],
  sconosciuto: ['acquisito'],
  da_verificare: ['acquisito']
}
const ACQUIRED: readonly State[] = ['acquisito', 'parziale']
/** The proof fits what the ledger holds already. */
const AS_KNOWN: readonly State[] = [...ACQUIRED, 'ricevuto']

/** What the day tells of one submission. */
export interface Finding {
  giorno: Day
  oggi: Day
  proofs: readonly Proof[]
  /** What persons said was acquired is not, by the receipt. */
  denied: boolean
  /** The day adds up: what is acquired is receipted, too. */
  balanced: boolean
}

type Step = Pick<Decision, 'verso' | 'nota' | 'allarme'>

/** What follows for a submission from what its day proves; undefined when nothing does. */
export function consequence (unit: DayUnit, own: readonly DayAttempt[], finding: Finding): Decision | undefined {
  const { giorno, proofs, balanced } = finding
  const inDay = own.map((one): Outcome =>
    isDenied(one, finding) ? 'N' : (proofs.find(({ numero }) => numero === one.numero)?.esito ?? one.esito)
  )
  const { verso, nota, ...alarm } = step(unit, own, [...unit.altri, ...inDay], finding)
  const receipted = balanced && inDay.includes('K') && ACQUIRED.includes(verso.at(-1) ?? unit.stato)
  const path: readonly State[] = receipted ? [...verso, 'ricevuto'] : verso
  if (proofs.length === 0 && path.length === 0) return undefined
  return { invio: unit.id, prove: proofs, verso: path, nota: nota === '' ? TEXTS.balanced(giorno) : nota, ...alarm }
}

function isDenied ({ esito, per_decisione }: DayAttempt, { denied }: Finding): boolean {
  return denied && per_decisione && esito === 'K'
}

function step (unit: DayUnit, own: readonly DayAttempt[], outcomes: readonly Outcome[], finding: Finding): Step {
  const { giorno, oggi, proofs } = finding
  // Only where it still rests on that word: it may have been sent again since.
  if (own.some((one) => one.numero === unit.tentativo && isDenied(one, finding))) {
    return laid(unit, TEXTS.denied(giorno), ALARMS.denied)
  }
  if (proofs.some(({ esito }) => esito === 'K')) return onAcquired(unit, outcomes, giorno)
  if (proofs.length > 0) return onNotAcquired(unit, own, outcomes, giorno, arrivalWindowOpen(unit.data_arrivo, oggi))
  return { verso: [], nota: '' }
}

function onAcquired ({ stato, intero }: DayUnit, outcomes: readonly Outcome[], giorno: Day): Step {
  const verso: readonly State[] = stato === 'sconosciuto' && !intero ? ['parziale'] : TO_ACQUIRED[stato] ?? []
  const twice = outcomes.filter((outcome) => outcome !== 'N').length > 1
  const elsewhere = verso.length === 0 && !AS_KNOWN.includes(stato)
  const alarm = twice ? { allarme: ALARMS.twice } : elsewhere ? { allarme: ALARMS.elsewhere } : {}
  return { verso, nota: TEXTS.acquired(giorno), ...alarm }
}

/**
 * Sent again by itself only when none of its attempts may have been acquired, and while the service still takes the
 * arrival.
 */
function onNotAcquired (
  unit: DayUnit,
  own: readonly DayAttempt[],
  outcomes: readonly Outcome[],
  giorno: Day,
  open: boolean
): Step {
  const certain = outcomes.every((outcome) => outcome === 'N')
  const nota = !certain ? TEXTS.otherUnknown(giorno) : open ? TEXTS.notAcquired(giorno) : TEXTS.tooLate(giorno)
  if (unit.stato !== 'sconosciuto' || !isLast(unit, own)) return { verso: [], nota }
  return { verso: [certain && open ? 'pronto' : 'da_verificare'], nota }
}

/** Lays an acquired submission before a person, once for the same reason: what the person then decides stands. */
export function laid ({ stato, motivi }: DayUnit, nota: string, allarme: string): Step {
  return ACQUIRED.includes(stato) && !motivi.includes(nota)
    ? { verso: ['da_verificare'], nota, allarme }
    : { verso: [], nota }
}

/** The day settles nothing of a submission: a person must, once `nota` has said why. */
export function doubt (unit: DayUnit, own: readonly DayAttempt[], nota: string): Decision | undefined {
  const open = own.some(({ numero, esito }) => numero === unit.tentativo && esito === '?')
  if (!open || (unit.stato !== 'sconosciuto' && unit.stato !== 'da_verificare')) return undefined
  return { invio: unit.id, prove: [], verso: unit.stato === 'sconosciuto' ? ['da_verificare'] : [], nota }
}

function isLast ({ tentativo }: DayUnit, own: readonly DayAttempt[]): boolean {
  return own.some(({ numero }) => numero === tentativo)
}
