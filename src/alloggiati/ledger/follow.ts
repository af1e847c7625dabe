import type { Verdict } from './classify.ts'
import type { RowOutcome } from '#schemas/submission.ts'
import type { State } from '#schemas/submission.ts'

/** What a verdict meets: the submission as it is, and what its other attempts are known to have done. */
export interface Situation {
  stato: State
  /** The verdict is about the last attempt. */
  present: boolean
  verdict: Verdict['tentativo']
  /** Where an N leads. */
  negative: 'rifiutato' | 'non_inviato' | 'pronto'
  /** Another attempt was acquired, by a proof and not by somebody's word. */
  known: boolean
  /** Another attempt may have been acquired. */
  doubt: boolean
  /** A receipt or a person has said otherwise of this very attempt, for good. */
  contradicts: boolean
  /** What becomes of the rows, all of them. */
  righe: readonly RowOutcome[]
}

/** Where what was taken for settled has to be looked at again. */
const CONTRADICTED: readonly State[] = ['pronto', 'preso', 'sconosciuto', 'acquisito', 'parziale']

/** What a row becomes. What is acquired stays so, and nothing is let go that another attempt may have filed. */
export function rowAfter (now: RowOutcome, seen: RowOutcome | undefined, doubt: boolean): RowOutcome {
  if (seen === 'acquisita') return seen
  const open = now === 'in_corso' || now === 'sconosciuta'
  if (seen === undefined || !open) return now
  return doubt ? 'sconosciuta' : seen
}

/** Each state's answer. From those that are missing nothing follows. */
const FROM: Partial<Record<State, (situation: Situation) => State[]>> = {
  pronto: stopped,
  preso: stopped,
  in_invio: (situation) => situation.present ? landed(situation) : [],
  sconosciuto: (situation) => {
    const { present, verdict, negative, known, doubt } = situation
    if (verdict === 'K' || known) return proven(situation)
    if (!present || verdict === '?') return []
    return [doubt ? 'da_verificare' : negative]
  },
  da_verificare: (situation) => situation.verdict === 'K' ? whole(situation) : []
}

/**
 * The states that a submission goes through because of a verdict, in order; none: it stays where it is. It follows what
 * any of its attempts is known to have done, not the last one alone: what ends well or badly must be true of all of
 * them.
 */
export function follow (situation: Situation): State[] {
  const { stato, contradicts } = situation
  if (contradicts) return CONTRADICTED.includes(stato) ? ['da_verificare'] : []
  return FROM[stato]?.(situation) ?? []
}

/** It was to be sent again, by decision, and has not been yet. */
function stopped (situation: Situation): State[] {
  return situation.verdict === 'K' ? ['da_verificare', ...whole(situation)] : []
}

/** A flight is over. */
function landed (situation: Situation): State[] {
  const { verdict, negative, known, doubt } = situation
  if (verdict === 'K' || known) return proven(situation)
  if (verdict === '?') return ['sconosciuto']
  return negative === 'pronto' || !doubt ? [negative] : ['sconosciuto', 'da_verificare']
}

/** What is before a person leaves by proof only when it is acquired whole. */
function whole ({ righe }: Situation): State[] {
  return righe.every((esito) => esito === 'acquisita') ? ['acquisito'] : []
}

/** Acquired whole, or in part; rows that are still in doubt are a person's. */
function proven (situation: Situation): State[] {
  const { righe } = situation
  if (whole(situation).length > 0) return ['acquisito']
  return righe.some((esito) => esito === 'sconosciuta' || esito === 'in_corso')
    ? ['parziale', 'da_verificare']
    : ['parziale']
}
