import { and, eq, inArray, lte } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import { addDays, instantInRome } from '#src/lib/time.ts'
import type { LedgerContext } from './context.ts'
import { OPEN_STATES, unfiledBookings } from './unfiled-bookings.ts'
import { daysWithoutReceipt } from '../receipts/missing-days.ts'

const MINUTE_MS = 60_000
/** Before the legal deadline. */
const DEADLINE_MINUTES = [360, 120, 30]
/** After the day, at noon: the receipt is gone for ever after thirty. */
const RECEIPT_DAYS = [2, 7, 25]
const RECEIPT_HOUR = 12

/**
 * Alarms that come with time. Each is raised in the run whose period crosses its threshold. The first run of a process
 * does not know what was said while none was running: it raises the last threshold that each case has passed.
 */
export function ledgerAlarms (context: LedgerContext) {
  const { db, service, clock, log } = context
  const { account } = service
  let since: Date | undefined

  async function receiptsMissing (now: Date): Promise<void> {
    const today = clock.today()
    for (const giorno of await daysWithoutReceipt(db, account, addDays(today, -30), today)) {
      const thresholds = RECEIPT_DAYS.map((days) => instantInRome(addDays(giorno, days), RECEIPT_HOUR))
      if (crossed(thresholds, since, now)) log.error({ giorno }, 'the receipt of a day with acquired guests is missing')
    }
  }

  async function deadlinesNear (now: Date): Promise<void> {
    const horizon = new Date(now.getTime() + DEADLINE_MINUTES[0]! * MINUTE_MS)
    const units = await db
      .select({ invio: invii.id, scadenza: invii.scadenza })
      .from(invii)
      .where(
        and(
          eq(invii.utente, account),
          inArray(invii.stato, [...OPEN_STATES]),
          lte(invii.scadenza, horizon.toISOString())
        )
      )
    const bookings = (await unfiledBookings(db, account, clock.today())).filter(({ aperto }) => !aperto)
    const cases = [
      ...units.map(({ invio, scadenza }) => ({ invio, scadenza: new Date(scadenza) })),
      ...bookings.map(({ prenotazione, scadenza }) => ({ prenotazione, scadenza }))
    ]
    for (const { scadenza, ...which } of cases) {
      const thresholds = DEADLINE_MINUTES.map((minutes) => new Date(scadenza.getTime() - minutes * MINUTE_MS))
      if (!crossed(thresholds, since, now)) continue
      log.error(
        { ...which, scadenza: scadenza.toISOString() },
        'guests not acquired yet, at or near their legal deadline'
      )
    }
  }

  return {
    async raise (): Promise<void> {
      const now = clock.now()
      await receiptsMissing(now)
      await deadlinesNear(now)
      since = now
    }
  }
}

function crossed (thresholds: readonly Date[], since: Date | undefined, now: Date): boolean {
  return thresholds.some((at) => at <= now && (since === undefined || at > since))
}
