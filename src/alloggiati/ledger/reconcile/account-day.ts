import type { AttemptOutcome, FinalAttemptOutcome, State } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import type { AlarmKind } from '../alarms/alarm-kinds.ts'

/** Schedine and the sum of their nights: all that a receipt tells. */
export interface Counts { schedine: number, notti: number }

/**
 * An attempt that the receipt of a day may count. Its counts are what the service acquired, where that is known, and
 * else what was handed over.
 */
export interface DayAttempt extends Counts {
  invio_id: number
  numero: number
  /** The first and the last day in which the service may have counted it. */
  giorno_da: Day
  giorno_a: Day
  esito: AttemptOutcome
  /** A person decided the outcome. A person may be wrong, so it proves nothing of other attempts. */
  isDecided: boolean
  /** The service has said that it acquired some of the rows that were handed over, and not all. */
  isPartial: boolean
}

export interface DaySubmission {
  id: number
  stato: State
  tentativo: number
  data_arrivo: Day
  /** No row was held back: when the attempt was acquired, all guests were. */
  isWhole: boolean
  otherOutcomes: readonly AttemptOutcome[]
  /** The reasons for which it was referred to a person so far. It is referred once for each reason. */
  reasons: readonly string[]
}

/** One fetch of the day's receipt. Nulls: the service had none (`isAvailable` is false), or it could not be read. */
export interface ReceiptFetch { fetchedAt: Date, isAvailable: boolean, schedine: number | null, notti: number | null }

export interface AccountDay {
  day: Day
  now: Date
  /** The ledger knows of everything that was filed with the account on that day. */
  isExclusive: boolean
  attempts: readonly DayAttempt[]
  submissions: readonly DaySubmission[]
  fetches: readonly ReceiptFetch[]
}

export interface Proof extends Counts { numero: number, esito: FinalAttemptOutcome }

/** What the receipt of a day proves of one submission, and what follows from it. */
export interface Finding {
  invio_id: number
  proofs: readonly Proof[]
  /** The states that the submission goes through, in order. Empty: it stays in its state. */
  path: readonly State[]
  note: string
  alarm?: AlarmKind
}

/** What the receipt of a day proves, and by which rule. */
export interface DayFindings { rule: Rule, findings: readonly Finding[], alarm?: AlarmKind }

export type Rule =
  | 'in_volo' // a call is under way, so nothing can be said yet
  | 'senza_incogniti' // every outcome is known
  | 'mezzanotte' // an attempt may count in either of two receipts
  | 'senza_ricevuta' // there is no receipt that can be read
  | 'ricevuta_mutata' // two fetches differ
  | 'nessuno' | 'tutti' // none, or all, of the unknown attempts were acquired
  | 'suggerita' // one combination adds up, or all do and the account is not exclusive
  | 'ambigua' | 'contraddetta' // several combinations add up, or none does

/* The arithmetic of receipts. */

/** 2^16 combinations are tried in milliseconds, and a person could not check more. */
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

/** Schedine or nights are less than nothing: the receipt counts less than is known. */
export function isNegative ({ schedine, notti }: Counts): boolean {
  return schedine < 0 || notti < 0
}

/**
 * The combinations of `parts` that add up to `rest`, as sets of indices. At most two are returned, because the second
 * makes the day ambiguous already. Undefined: there are too many parts to try.
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
