import { and, count, eq, inArray, sql } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { invii } from '#drizzle/tables/alloggiati.ts'
import { addDays, daysBetween } from '#src/lib/time.ts'
import type { LedgerContext } from './context.ts'
import { unfiledBookings } from './unfiled-bookings.ts'
import { currentSuspension } from './suspension.ts'
import { daysWithoutReceipt } from '../receipts/missing-days.ts'
import { STATES } from '#schemas/submission.ts'

const SIX_HOURS_MS = 6 * 3_600_000
/** How far back a missing receipt is counted: it can be fetched for 30 days. */
const LOOK_BACK_DAYS = 60
/** Ages in days, up to and including. */
const AGES = [['1', 1], ['2-6', 6], ['7-24', 24], ['25-30', 30], ['lost', Infinity]] as const

/** What the ledger shows at `/metrics`, read from the database when it is asked for. */
export function addLedgerGauges (app: FastifyInstance, { db, service, clock }: LedgerContext): void {
  const { account } = service

  app.addGauge({
    name: 'submissions',
    help: 'Submissions by state.',
    label: 'state',
    async read () {
      const rows = await db
        .select({ stato: invii.stato, n: count() })
        .from(invii)
        .where(eq(invii.utente, account))
        .groupBy(invii.stato)
      return { ...zeros(Object.keys(STATES)), ...Object.fromEntries(rows.map(({ stato, n }) => [stato, n])) }
    }
  })

  app.addGauge({
    name: 'unknown_outcomes',
    help: 'Submissions whose last attempt may or may not have been acquired.',
    async read () {
      const settled = sql`exists (select from invii_esiti e where e.invio_id = ${invii.id} and e.numero = ${invii.tentativo} and e.esito in ('K', 'N'))`
      const [row] = await db
        .select({ n: count() })
        .from(invii)
        .where(
          and(
            eq(invii.utente, account),
            inArray(invii.stato, ['sconosciuto', 'da_verificare']),
            sql`${invii.tentativo} > 0 and not ${settled}`
          )
        )
      return row!.n
    }
  })

  app.addGauge({
    name: 'missing_receipts',
    help: 'Days with acquired guests and without a receipt, by age in days.',
    label: 'age_days',
    async read () {
      const today = clock.today()
      const days = await daysWithoutReceipt(db, account, addDays(today, -LOOK_BACK_DAYS), today)
      return tally(
        AGES.map(([name]) => name),
        days.map((day) => AGES.find(([, upTo]) => daysBetween(day, today) <= upTo)![0])
      )
    }
  })

  app.addGauge({
    name: 'filing_deadlines',
    help: 'Bookings with arrival today or yesterday and nothing acquired, by their legal deadline.',
    label: 'deadline',
    async read () {
      const now = clock.now().getTime()
      const due = (await unfiledBookings(db, account, clock.today())).map(({ scadenza }) => scadenza.getTime() - now)
      return tally(
        ['passed', 'within_6h', 'later'],
        due.map((left) => (left <= 0 ? 'passed' : left <= SIX_HOURS_MS ? 'within_6h' : 'later'))
      )
    }
  })

  app.addGauge({
    name: 'sending_stopped',
    help: '1 while nothing is sent: a stop is in force.',
    read: async () => await currentSuspension(db) === undefined ? 0 : 1
  })
}

function tally (names: readonly string[], found: readonly string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, found.filter((one) => one === name).length]))
}

function zeros (names: readonly string[]): Record<string, number> {
  return tally(names, [])
}
