import { addDays } from '#src/lib/time.ts'
import { isServiceFailure } from '../../service/soap/errors.ts'
import type { PoliceService } from '../../service/police-service.ts'
import { RECEIPT_WINDOW_DAYS, type ReceiptArchive } from '../../receipts/archive.ts'
import { unprovenDays, type DayOfAccount } from '../../receipts/days.ts'
import type { WatchContext } from '../context.ts'
import { isFetchDue } from './fetches.ts'
import { readFetchesOf } from './read-day.ts'
import { reconcileDay } from './reconcile-day.ts'

/** Null without credentials: then what is kept proves what it can. */
type Reconciling = WatchContext & { service: Pick<PoliceService, 'account'> | null }

/**
 * Fetches the receipts that are due, and reconciles every day of the last 30 that is not proven yet: of all accounts of
 * the mode, though only the present one's receipts can be fetched.
 */
export async function reconcileDays (context: Reconciling, archive: ReceiptArchive): Promise<void> {
  const { db, service, clock, log, mode } = context
  const today = clock.today()
  let isReachable = service !== null
  const last30 = { from: addDays(today, -RECEIPT_WINDOW_DAYS), to: addDays(today, -1) }
  const days = await unprovenDays(db, mode, last30)
  // All receipts first: a call around midnight wants those of two days.
  for (const unproven of days) {
    const { account, day } = unproven
    const canFetch = isReachable && account === service?.account
    if (canFetch && isFetchDue(unproven, await readFetchesOf(db, account, day), clock)) {
      isReachable = await fetchReceipt(context, archive, unproven)
    }
  }
  for (const unproven of days) {
    try {
      await reconcileDay(context, unproven)
    } catch (err) {
      log.error({ err, giorno: unproven.day }, 'a day could not be reconciled')
    }
  }
}

/** @returns false when the service cannot be asked: then this run does not ask it for other days */
async function fetchReceipt (
  { log, alarm }: WatchContext,
  archive: ReceiptArchive,
  { account, day }: DayOfAccount
): Promise<boolean> {
  try {
    if ((await archive.fetchReceipt(day)).differs) await alarm('changed', { giorno: day, utente: account })
    return true
  } catch (err) {
    if (!isServiceFailure(err)) throw err
    log.warn({ err, giorno: day }, 'the receipt could not be asked for')
    return false
  }
}
