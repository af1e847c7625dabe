import { addDays, instantInRome, type Day } from '#src/lib/time.ts'
import type { State } from '#schemas/submission.ts'

/** Schedine and their nights: all that a receipt tells. */
export interface Counts { schedine: number, notti: number }

/** `K` known, row by row · `N` proven not acquired · `?` unknown */
export type Outcome = 'K' | 'N' | '?'

/**
 * An attempt that the receipt of a day may count. Its counts are those acquired where that is known, else those handed
 * over.
 */
export interface DayAttempt extends Counts {
  invio: number
  numero: number
  /** The days in which the service may have counted it. */
  giorno_da: Day
  giorno_a: Day
  esito: Outcome
  /** The outcome is a person's word: a belief, which proves nothing of its neighbours. */
  per_decisione: boolean
}

/** A submission with an attempt in the day, as it stands now. */
export interface DayUnit {
  id: number
  stato: State
  /** Its last attempt. */
  tentativo: number
  data_arrivo: Day
  /** No row was held back: what is acquired is acquired whole. */
  intero: boolean
  /** Outcomes of its attempts on other days. */
  altri: readonly Outcome[]
  /** Why it was laid before a person, each time so far: nobody is told twice. */
  motivi: readonly string[]
}

/** One look at the day's receipt. Nulls: there was none (not `available`), or it could not be read. */
export interface Look { letta_il: Date, available: boolean, schedine: number | null, notti: number | null }

/** One account's day. */
export interface DayInput {
  giorno: Day
  now: Date
  /** Nothing else was filed with the account that day. */
  esclusivo: boolean
  attempts: readonly DayAttempt[]
  units: readonly DayUnit[]
  /** In order of time. */
  looks: readonly Look[]
}

/** A fact about an attempt that the receipt proves. */
export interface Proof extends Counts { numero: number, esito: 'K' | 'N' }

/** What becomes of one submission. */
export interface Decision {
  invio: number
  prove: readonly Proof[]
  /** States to go through, in order; none: it stays where it is. */
  verso: readonly State[]
  /** What a person is shown. */
  nota: string
  allarme?: string
}

/** What a day comes to, by which rule. */
export interface DayVerdict {
  regola: Rule
  decisions: readonly Decision[]
  /** What concerns the day as a whole. */
  allarme?: string
}

/**
 * `in_volo` nothing can be said yet · `senza_incogniti` every outcome is known · `mezzanotte` an attempt may stand on
 * either of two receipts · `senza_ricevuta` · `ricevuta_mutata` two looks differ · `nessuno`, `tutti` of the unknown
 * attempts were acquired · `suggerita` one combination adds up, or all but the account is not exclusive · `ambigua`
 * several · `contraddetta` none
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

const HOUR_MS = 3_600_000
/** The receipt of a day is believed to be complete from this hour of the next day, Rome. */
const COMPLETE_HOUR = 6
/** Two looks so far apart that agree: the receipt is not still growing. */
export const LOOKS_APART_MS = 2 * HOUR_MS
/** Until this hour of the next day a receipt is waited for in silence. */
const PATIENCE_HOUR = 12

/** From when on a look at a day's receipt counts. */
export function completeFrom (giorno: Day): Date {
  return instantInRome(addDays(giorno, 1), COMPLETE_HOUR)
}

/** Until when a receipt is waited for, `days` after the day. */
export function patienceUntil (giorno: Day, days: number): Date {
  return instantInRome(addDays(giorno, days), PATIENCE_HOUR)
}
