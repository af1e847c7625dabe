import type { AttemptOutcome, FinalAttemptOutcome, State } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import type { AlarmKind } from '../alarms/alarm-kinds.ts'

/** A number of schedine, and the sum of their nights. A receipt contains no other data. */
export interface Counts { schedine: number, notti: number }

/** An attempt that a day's receipt may count. Its counts are of acquired schedine if known, else of sent ones. */
export interface DayAttempt extends Counts {
  invio_id: number
  numero: number
  /** The first and the last day on which the service may have counted it. */
  giorno_da: Day
  giorno_a: Day
  esito: AttemptOutcome
  /** A person decided the outcome. It may be wrong, so no other outcome is derived from it. */
  isDecided: boolean
  /** The service reported that it acquired only some of the rows. */
  isPartial: boolean
}

export interface DaySubmission {
  id: number
  stato: State
  tentativo: number
  data_arrivo: Day
  /** No row was excluded: if the attempt was acquired, all guests were acquired. */
  isWhole: boolean
  otherOutcomes: readonly AttemptOutcome[]
  /** The reasons for which the submission was already referred to a person. */
  reasons: readonly string[]
}

/** One fetch of a receipt. Its counts are null if there was no receipt (not `isAvailable`) or it was unreadable. */
export interface ReceiptFetch { fetchedAt: Date, isAvailable: boolean, schedine: number | null, notti: number | null }

export interface AccountDay {
  day: Day
  now: Date
  /** Whether the ledger contains all schedine that were filed with the account on that day. */
  isExclusive: boolean
  attempts: readonly DayAttempt[]
  submissions: readonly DaySubmission[]
  fetches: readonly ReceiptFetch[]
}

export interface Proof extends Counts { numero: number, esito: FinalAttemptOutcome }

/** The conclusion from a day's receipt for one submission. */
export interface Finding {
  invio_id: number
  proofs: readonly Proof[]
  /** The states that the submission passes through, in order. Empty: it stays in its state. */
  path: readonly State[]
  note: string
  alarm?: AlarmKind
}

/** The conclusions from a day's receipt, and their rule. */
export interface DayFindings { rule: Rule, findings: readonly Finding[], alarm?: AlarmKind }

export type Rule =
  | 'in_volo' // a call is in progress, so no conclusion is possible yet
  | 'senza_incogniti' // every outcome is known
  | 'mezzanotte' // an attempt may be on either of two receipts
  | 'senza_ricevuta' // there is no receipt that can be read
  | 'ricevuta_mutata' // two fetches differ
  | 'nessuno' | 'tutti' // the receipt counts none, or all, of the unknown attempts
  | 'suggerita' // one combination adds up, or all unknown attempts do but the account is not exclusive
  | 'ambigua' | 'contraddetta' // several combinations add up, or none does

/* Arithmetic with the counts of receipts. */

/** 2^16 combinations take milliseconds. A person could not check a longer list of attempts. */
const MAX_PARTS = 16

export function sum (parts: readonly Counts[]): Counts {
  const zero: Counts = { schedine: 0, notti: 0 }
  return parts.reduce(
    (total, { schedine, notti }) => ({ schedine: total.schedine + schedine, notti: total.notti + notti }), zero)
}

export function subtract (whole: Counts, part: Counts): Counts {
  return { schedine: whole.schedine - part.schedine, notti: whole.notti - part.notti }
}

export function areEqual (one: Counts, other: Counts): boolean {
  return one.schedine === other.schedine && one.notti === other.notti
}

export function isZero ({ schedine, notti }: Counts): boolean {
  return schedine === 0 && notti === 0
}

/** Whether schedine or nights are negative: the receipt counts fewer than the ledger knows to be acquired. */
export function isNegative ({ schedine, notti }: Counts): boolean {
  return schedine < 0 || notti < 0
}

/**
 * Finds sets of indices whose `parts` add up to `rest`. Returns at most two sets, because two are already ambiguous.
 * Undefined when there are too many parts to try.
 */
export function findCombinations (parts: readonly Counts[], rest: Counts): ReadonlySet<number>[] | undefined {
  if (parts.length > MAX_PARTS) return undefined
  const found: ReadonlySet<number>[] = []
  const search = (at: number, left: Counts, chosen: readonly number[]): void => {
    if (isNegative(left) || found.length > 1) return
    const part = parts[at]
    if (part === undefined) {
      if (isZero(left)) found.push(new Set(chosen))
      return
    }
    search(at + 1, subtract(left, part), [...chosen, at])
    search(at + 1, left, chosen)
  }
  search(0, rest, [])
  return found
}
