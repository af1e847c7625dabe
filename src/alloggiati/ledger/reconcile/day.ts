import type { AttemptOutcome, FinalAttemptOutcome, State } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import type { AlarmKind } from '../alarms/kinds.ts'

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

/** A submission with an attempt in the day, as it is now. */
export interface DaySubmission {
  id: number
  stato: State
  /** The number of its last attempt. */
  tentativo: number
  data_arrivo: Day
  /** No row was held back: when the attempt was acquired, all guests were. */
  isWhole: boolean
  /** The outcomes of its attempts on other days. */
  otherOutcomes: readonly AttemptOutcome[]
  /** The reasons for which it was referred to a person so far. It is referred once for each reason. */
  reasons: readonly string[]
}

/** One fetch of the day's receipt. Nulls: the service had none (`isAvailable` is false), or it could not be read. */
export interface ReceiptFetch { fetchedAt: Date, isAvailable: boolean, schedine: number | null, notti: number | null }

/** One day of one account. */
export interface AccountDay {
  day: Day
  now: Date
  /** The ledger knows of everything that was filed with the account on that day. */
  isExclusive: boolean
  attempts: readonly DayAttempt[]
  submissions: readonly DaySubmission[]
  /** In the order of time. */
  fetches: readonly ReceiptFetch[]
}

/** A fact that the receipt proves about an attempt. */
export interface Proof extends Counts { numero: number, esito: FinalAttemptOutcome }

/** What the receipt of a day proves of one submission, and what follows from it. */
export interface Finding {
  invio_id: number
  proofs: readonly Proof[]
  /** The states that the submission goes through, in order. Empty: it stays in its state. */
  path: readonly State[]
  /** The text that a person is shown. */
  note: string
  alarm?: AlarmKind
}

/** What the receipt of a day proves, and by which rule. */
export interface DayFindings {
  rule: Rule
  findings: readonly Finding[]
  /** An alarm that concerns the day as a whole. */
  alarm?: AlarmKind
}

/**
 * `in_volo` a call is under way, so nothing can be said yet · `senza_incogniti` every outcome is known · `mezzanotte`
 * an attempt may count in either of two receipts · `senza_ricevuta` there is no receipt that can be read ·
 * `ricevuta_mutata` two fetches differ · `nessuno`, `tutti` none, or all, of the unknown attempts were acquired ·
 * `suggerita` one combination adds up, or all do and the account is not exclusive · `ambigua` several combinations add
 * up · `contraddetta` no combination does
 */
export type Rule =
  | 'in_volo'
  | 'senza_incogniti'
  | 'mezzanotte'
  | 'senza_ricevuta'
  | 'ricevuta_mutata'
  | 'nessuno'
  | 'tutti'
  | 'suggerita'
  | 'ambigua'
  | 'contraddetta'
