import type { AttemptOutcome, RowOutcome, State } from '#schemas/submission.ts'
import { isUnresolved } from './rows.ts'

/** A verdict, the submission that it is about, and what is known of the submission's other attempts. */
export interface VerdictFacts {
  stato: State
  /** The verdict is about the last attempt. */
  ofLastAttempt: boolean
  verdict: AttemptOutcome
  /** The state to which an `N` leads. */
  stateAfterN: Extract<State, 'rifiutato' | 'non_inviato' | 'pronto'>
  /** A reply or a receipt has proven that another attempt was acquired. */
  otherProven: boolean
  /** Another attempt may have been acquired. */
  otherInDoubt: boolean
  /** A receipt or a person has said otherwise of this very attempt, for good. */
  contradicted: boolean
  /** The outcomes of all rows of the submission after the verdict. */
  rows: readonly RowOutcome[]
}

/** States from which a contradicted submission goes to a person. */
const REVIEWED_WHEN_CONTRADICTED: readonly State[] = ['pronto', 'preso', 'sconosciuto', 'acquisito', 'parziale']

/** What a row becomes. A row stays acquired, and no guest is freed whom another attempt may have filed. */
export function rowAfter (now: RowOutcome, seen: RowOutcome | undefined, otherInDoubt: boolean): RowOutcome {
  if (seen === 'acquisita') return seen
  if (seen === undefined || !isUnresolved(now)) return now
  return otherInDoubt ? 'sconosciuta' : seen
}

/** What follows from a verdict in each state; in a state that is missing nothing does. */
const STATES_AFTER: Partial<Record<State, (facts: VerdictFacts) => State[]>> = {
  pronto: afterClaimOrBefore,
  preso: afterClaimOrBefore,
  in_invio: afterDispatch,
  sconosciuto: afterUnknown,
  da_verificare: (facts) => facts.verdict === 'K' ? ifAllAcquired(facts) : []
}

/**
 * The states that a submission goes through because of a verdict, in order; none: it stays where it is. They follow
 * from what is known of all attempts, not of the last one alone: a final state must be true of every attempt.
 */
export function nextStates (facts: VerdictFacts): State[] {
  const { stato, contradicted } = facts
  if (contradicted) return REVIEWED_WHEN_CONTRADICTED.includes(stato) ? ['da_verificare'] : []
  return STATES_AFTER[stato]?.(facts) ?? []
}

/** A person has decided to send it again, and it is not dispatched yet: a late `K` stops it. */
function afterClaimOrBefore (facts: VerdictFacts): State[] {
  return facts.verdict === 'K' ? ['da_verificare', ...ifAllAcquired(facts)] : []
}

function afterDispatch (facts: VerdictFacts): State[] {
  const { ofLastAttempt, verdict, stateAfterN, otherProven, otherInDoubt } = facts
  if (!ofLastAttempt) return []
  if (verdict === 'K' || otherProven) return acquiredStates(facts)
  if (verdict === '?') return ['sconosciuto']
  return stateAfterN === 'pronto' || !otherInDoubt ? [stateAfterN] : ['sconosciuto', 'da_verificare']
}

function afterUnknown (facts: VerdictFacts): State[] {
  const { ofLastAttempt, verdict, stateAfterN, otherProven, otherInDoubt } = facts
  if (verdict === 'K' || otherProven) return acquiredStates(facts)
  if (!ofLastAttempt || verdict === '?') return []
  return [otherInDoubt ? 'da_verificare' : stateAfterN]
}

/** A proof alone ends a person's review only when every row is acquired. */
function ifAllAcquired ({ rows }: VerdictFacts): State[] {
  return rows.every((esito) => esito === 'acquisita') ? ['acquisito'] : []
}

/** All rows are acquired, or some of them; when some are in doubt a person decides. */
function acquiredStates (facts: VerdictFacts): State[] {
  const all = ifAllAcquired(facts)
  if (all.length > 0) return all
  return facts.rows.some(isUnresolved) ? ['parziale', 'da_verificare'] : ['parziale']
}
