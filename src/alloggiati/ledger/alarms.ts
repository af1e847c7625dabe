import { and, eq, inArray, lte } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import { UNFINISHED_STATES } from '#schemas/submission.ts'
import { addDays, instantInRome } from '#src/lib/time.ts'
import { RECEIPT_WINDOW_DAYS } from '../receipts/archive.ts'
import { daysWithoutReceipt } from '../receipts/days.ts'
import type { LedgerContext } from './context.ts'
import { unfiledBookings } from './unfiled-bookings.ts'

const MINUTE_MS = 60_000
/** Minutes before the legal deadline at which an alarm is raised; the longest first. */
const DEADLINE_MINUTES = [360, 120, 30] as const
/** Days after a day without a receipt on which an alarm is raised. After thirty days no receipt can be fetched. */
const RECEIPT_DAYS = [2, 7, 25]
const RECEIPT_HOUR = 12

/**
 * Alarms that come with time. A run raises an alarm when a threshold lies between the run before and this one. The
 * first run of a process cannot know what an earlier process has raised: it raises one alarm for each case that has
 * passed a threshold.
 */
export function ledgerAlarms (context: LedgerContext) {
  const { db, service, clock, log } = context
  const { account } = service
  let lastRun: Date | undefined

  async function raiseMissingReceipts (now: Date): Promise<void> {
    const today = clock.today()
    for (const day of await daysWithoutReceipt(db, account, addDays(today, -RECEIPT_WINDOW_DAYS), today)) {
      const thresholds = RECEIPT_DAYS.map((days) => instantInRome(addDays(day, days), RECEIPT_HOUR))
      if (!isAnyPassed(thresholds, lastRun, now)) continue
      log.error({ giorno: day }, 'the receipt of a day with acquired guests is missing')
    }
  }

  async function raiseNearDeadlines (now: Date): Promise<void> {
    const horizon = new Date(now.getTime() + DEADLINE_MINUTES[0] * MINUTE_MS)
    const submissions = await db
      .select({ id: invii.id, scadenza: invii.scadenza })
      .from(invii)
      .where(
        and(
          eq(invii.utente, account),
          inArray(invii.stato, UNFINISHED_STATES),
          lte(invii.scadenza, horizon.toISOString())
        )
      )
    const bookings = await unfiledBookings(db, account, clock.today())
    const cases = [
      ...submissions.map(({ id, scadenza }) => ({ about: { invio: id }, deadline: new Date(scadenza) })),
      // A booking with an unfinished submission is alarmed by that submission.
      ...bookings.flatMap(({ bookingId, deadline, hasUnfinished }) =>
        hasUnfinished ? [] : [{ about: { prenotazione: bookingId }, deadline }]
      )
    ]
    for (const { about, deadline } of cases) {
      const thresholds = DEADLINE_MINUTES.map((minutes) => new Date(deadline.getTime() - minutes * MINUTE_MS))
      if (!isAnyPassed(thresholds, lastRun, now)) continue
      log.error(
        { ...about, scadenza: deadline.toISOString() },
        'guests not acquired yet, at or near their legal deadline'
      )
    }
  }

  return {
    /** One run: it logs an error for each threshold that was passed since the last run. */
    async raise (): Promise<void> {
      const now = clock.now()
      await raiseMissingReceipts(now)
      await raiseNearDeadlines(now)
      lastRun = now
    }
  }
}

function isAnyPassed (thresholds: readonly Date[], lastRun: Date | undefined, now: Date): boolean {
  return thresholds.some((at) => at <= now && (lastRun === undefined || at > lastRun))
}
