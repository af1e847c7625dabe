import type { State } from '#schemas/submission.ts'
import type {
  AccountDay, DayAttempt, DaySubmission, ReceiptFetch
} from '#src/alloggiati/ledger/reconcile/account-day.ts'

/* Sample data for a day of an account: 20 November 2026, reconciled in the afternoon of the 21st. */

export const DAY = '2026-11-20'
export const NEXT = '2026-11-21'
/** 14:00 in Rome. */
const AFTERNOON = new Date('2026-11-21T13:00:00Z')

export function attempt (invio_id: number, more: Partial<DayAttempt> = {}): DayAttempt {
  return {
    invio_id,
    numero: 1,
    schedine: 2,
    notti: 6,
    giorno_da: DAY,
    giorno_a: DAY,
    esito: '?',
    isDecided: false,
    isPartial: false,
    ...more
  }
}

export function submission (
  id: number,
  stato: State = 'sconosciuto',
  more: Partial<DaySubmission> = {}
): DaySubmission {
  return { id, stato, tentativo: 1, data_arrivo: DAY, isWhole: true, otherOutcomes: [], reasons: [], ...more }
}

/** A fetch at an hour of the next day in Rome. */
export function fetched (
  rome: string,
  schedine: number | null,
  notti: number | null,
  isAvailable = schedine !== null
): ReceiptFetch {
  return { fetchedAt: new Date(`${NEXT}T${rome}:00+01:00`), isAvailable, schedine, notti }
}

/** Two equal fetches, three hours apart. */
export function twice (schedine: number, notti: number): ReceiptFetch[] {
  return [fetched('07:00', schedine, notti), fetched('10:00', schedine, notti)]
}

export function day (more: Partial<AccountDay>): AccountDay {
  return { day: DAY, now: AFTERNOON, isExclusive: true, attempts: [], submissions: [], fetches: [], ...more }
}
