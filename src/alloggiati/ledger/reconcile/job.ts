import { addDays, type Day } from '#src/lib/time.ts'
import { isServiceFailure } from '../../service/soap/errors.ts'
import { RECEIPT_WINDOW_DAYS, type ReceiptArchive } from '../../receipts/archive.ts'
import { attemptDays, type AttemptDay } from '../../receipts/days.ts'
import type { LedgerContext } from '../context.ts'
import { isFetchDue } from './fetches.ts'
import { readFetchesOf } from './read-day.ts'
import { reconcileDay } from './reconcile-day.ts'
import { ALARMS } from './texts.ts'

/** Fetches the receipts that are due, and reconciles every day of the last 30 that is not proven yet. */
export async function reconcileDays (context: LedgerContext, archive: ReceiptArchive): Promise<void> {
  const { db, service, clock, log } = context
  let isReachable = true
  for (const unproven of await unprovenDays(context)) {
    const { day } = unproven
    if (isReachable && isFetchDue(unproven, await readFetchesOf(db, service.account, day), clock)) {
      isReachable = await fetchReceipt(context, archive, day)
    }
    try {
      await reconcileDay(context, day)
    } catch (err) {
      log.error({ err, giorno: day }, 'a day could not be reconciled')
    }
  }
}

/** The days of the last 30, today excluded, with an attempt that is unknown, or acquired and not yet receipted. */
export async function unprovenDays ({ db, service, clock }: LedgerContext): Promise<AttemptDay[]> {
  const today = clock.today()
  const days = await attemptDays(db, service.account, {
    from: addDays(today, -RECEIPT_WINDOW_DAYS),
    to: addDays(today, -1)
  })
  return days.filter(({ isUnproven }) => isUnproven)
}

/** @returns false when the service cannot be asked: then this run does not ask it for other days */
async function fetchReceipt ({ log }: LedgerContext, archive: ReceiptArchive, day: Day): Promise<boolean> {
  try {
    if ((await archive.fetchReceipt(day)).differs) log.error({ giorno: day }, ALARMS.changed)
    return true
  } catch (err) {
    if (!isServiceFailure(err)) throw err
    log.warn({ err, giorno: day }, 'the receipt could not be asked for')
    return false
  }
}
