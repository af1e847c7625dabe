import { completeFrom } from '../../receipts/receipt-archive.ts'
import type { AttemptDay } from '../../receipts/receipt-days.ts'
import { addDays, daysBetween, instantInRome, type Clock, type Day } from '#src/lib/time.ts'
import { type Counts, type ReceiptFetch, areEqual } from './account-day.ts'

/* Decides when a receipt is fetched, and combines its fetches. */

/** The server waits for a receipt until this hour (Rome) of a following day. Then it asks a person. */
const WAIT_UNTIL_HOUR = 12
/** Two equal fetches this far apart show that the receipt is complete. */
const FETCHES_APART_MS = 2 * 3_600_000
/** After this many days the reconciliation no longer asks for a receipt that the service lacks. Other jobs do. */
const YOUNG_DAYS = 2

export interface Reading { counts: Counts, isStable: boolean, hasChanged: boolean }

/** The instant until which the server waits for the receipt of `day`. */
export function waitingEnds (day: Day, daysAfter: number): Date {
  return instantInRome(addDays(day, daysAfter), WAIT_UNTIL_HOUR)
}

/**
 * Combines the fetches of a day's receipt. Undefined if no complete fetch could be read: a receipt that is not
 * available does not mean zero schedine.
 */
export function readFetches (day: Day, fetches: readonly ReceiptFetch[]): Reading | undefined {
  const read = completeFetches(day, fetches).flatMap(({ fetchedAt, schedine, notti }) =>
    schedine === null || notti === null ? [] : [{ fetchedAt, schedine, notti }]
  )
  const last = read.at(-1)
  if (!last) return undefined
  return {
    counts: { schedine: last.schedine, notti: last.notti },
    isStable: areApart(read[0]!.fetchedAt, last.fetchedAt),
    hasChanged: read.some((one) => !areEqual(one, last))
  }
}

/**
 * Whether to fetch the receipt of a day now, at least two hours after the last fetch. While no complete fetch has
 * returned a receipt, it is due for two days, or if an early copy is stored. If an outcome is uncertain, it is due
 * until two fetches two hours apart have returned a receipt. Further fetches would decide nothing more.
 */
export function isFetchDue (
  { day, hasReceipt, hasUncertain }: AttemptDay, fetches: readonly ReceiptFetch[], clock: Clock
): boolean {
  const now = clock.now()
  const complete = completeFetches(day, fetches)
  const last = complete.at(-1)
  if (now < completeFrom(day) || (last && !areApart(last.fetchedAt, now))) return false
  const available = complete.filter(({ isAvailable }) => isAvailable)
  // A stored receipt without a complete fetch is an early copy, which may lack rows.
  if (available.length === 0) return hasReceipt || daysBetween(day, clock.today()) <= YOUNG_DAYS
  return hasUncertain && !areApart(available[0]!.fetchedAt, available.at(-1)!.fetchedAt)
}

/** The fetches from the hour on at which the receipt is assumed to be complete. */
function completeFetches (day: Day, fetches: readonly ReceiptFetch[]): ReceiptFetch[] {
  const from = completeFrom(day)
  return fetches.filter(({ fetchedAt }) => fetchedAt >= from)
}

function areApart (from: Date, to: Date): boolean {
  return to.getTime() - from.getTime() >= FETCHES_APART_MS
}
