import { and, gt, inArray, sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { invii } from '#drizzle/tables/ledger.ts'
import { DECIDABLE_STATES, FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import { addDays, daysBetween } from '#src/lib/time.ts'
import { daysWithoutReceipt, RECEIPT_WINDOW_DAYS } from '../receipts/receipt-days.ts'
import type { WatchContext } from './ledger-context.ts'
import { countByState, scopeOf } from './read-ledger.ts'
import { currentSuspension } from './suspension.ts'
import { unfiledBookings } from './unfiled-bookings.ts'

const SIX_HOURS_MS = 6 * 3_600_000
/** Missing receipts are counted over this many days, more than the 30 days in which the service returns them. */
const LOOK_BACK_DAYS = 60
const AGES = [['1', 1], ['2-6', 6], ['7-24', 24], ['25-30', RECEIPT_WINDOW_DAYS], ['lost', Infinity]] as const

/** Adds the ledger's gauges to `/metrics`. Each scrape reads the values from the database. */
export function addLedgerGauges (
  app: FastifyInstance, { db, keys, mode, clock }: Pick<WatchContext, 'db' | 'keys' | 'mode' | 'clock'>
): void {
  app.addGauge({
    name: 'submissions',
    help: 'Submissions by state.',
    label: 'state',
    read: async () => Object.fromEntries(await countByState(db, mode))
  })

  app.addGauge({
    name: 'unknown_outcomes',
    help: 'Submissions whose last attempt may or may not have been acquired.',
    read: () => countUnknown(db, mode)
  })

  app.addGauge({
    name: 'missing_receipts',
    help: 'Days with acquired guests and without a receipt, by age in days.',
    label: 'age_days',
    async read () {
      const today = clock.today()
      const days = await daysWithoutReceipt(db, mode, addDays(today, -LOOK_BACK_DAYS), today)
      return countEach(
        AGES.map(([label]) => label),
        days.map(({ day }) => AGES.find(([, lastDay]) => daysBetween(day, today) <= lastDay)![0])
      )
    }
  })

  app.addGauge({
    name: 'filing_deadlines',
    help: 'Bookings due today or yesterday with guests who are not with the police, by their legal deadline.',
    label: 'deadline',
    async read () {
      const now = clock.now().getTime()
      const bookings = await unfiledBookings({ db, keys, mode, today: clock.today() })
      const left = bookings.map(({ deadline }) => deadline.getTime() - now)
      return countEach(
        ['passed', 'within_6h', 'later'],
        left.map((ms) => (ms <= 0 ? 'passed' : ms <= SIX_HOURS_MS ? 'within_6h' : 'later'))
      )
    }
  })

  app.addGauge({
    name: 'sending_stopped',
    help: '1 while sending is suspended.',
    read: async () => await currentSuspension(db) === undefined ? 0 : 1
  })
}

function countUnknown (db: WatchContext['db'], mode: WatchContext['mode']): Promise<number> {
  return db.$count(invii, and(
    scopeOf(mode),
    inArray(invii.stato, DECIDABLE_STATES),
    gt(invii.tentativo, 0),
    sql`not exists (
      select from invii_esiti e
      where e.invio_id = ${invii}.id and e.numero = ${invii}.tentativo
        and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
    )`
  ))
}

function countEach (labels: readonly string[], found: readonly string[]): Record<string, number> {
  return Object.fromEntries(labels.map((label) => [label, found.filter((one) => one === label).length]))
}
