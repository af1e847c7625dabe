import { and, asc, eq, inArray, lte, or, sql } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import { DECIDABLE_STATES, LIVE_ROW_OUTCOMES, UNFINISHED_STATES } from '#schemas/submission.ts'
import type { Database } from '#src/database/connect.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'
import { daysWithoutReceipt, RECEIPT_WINDOW_DAYS } from '../../receipts/receipt-days.ts'
import type { WatchContext } from '../ledger-context.ts'
import { scopeOf } from '../read-ledger.ts'
import { suspensionCase, currentSuspension } from '../suspension.ts'
import { unfiledBookings } from '../unfiled-bookings.ts'
import type { AlarmCase, NotifierOptions } from './alarm-notifier.ts'
import { allarmi } from '#drizzle/tables/alloggiati.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { describe, letter } from './alarm-kinds.ts'
import { withDetails } from './alarm-details.ts'

const MINUTE_MS = 60_000
/** Minutes before the legal deadline at which an alarm is raised, longest first. */
const DEADLINE_MINUTES = [360, 120, 30] as const
/** A missing receipt raises an alarm this many days after its day. After 30 days it cannot be fetched. */
const RECEIPT_DAYS = [2, 7, 25]
/** The hour (Rome) of that day. */
const RECEIPT_HOUR = 12

/**
 * Raises the alarms that are due: missing receipts, near deadlines, submissions that wait for a decision, a suspension.
 * Idempotent, because the database records raised alarms. So any process may call it at any time.
 */
export async function raiseTimedAlarms (context: WatchContext): Promise<void> {
  const { alarm } = context
  const now = context.clock.now()
  await alarm('missing-receipt', ...await missingReceipts(context, now))
  const { unsent, open } = await nearDeadlines(context, now)
  await alarm('deadline', ...unsent)
  await alarm('deadline-open', ...open)
  // Raise these alarms again, because a process may be killed between the state change and its alarm.
  await alarm('unknown-outcome', ...await inState(context, 'sconosciuto'))
  await alarm('for-a-person', ...await inState(context, 'da_verificare'))
  const suspension = await currentSuspension(context.db)
  if (suspension) await alarm('suspended', suspensionCase(suspension))
}

async function missingReceipts ({ db, clock, mode }: WatchContext, now: Date): Promise<AlarmCase[]> {
  const today = clock.today()
  const days = await daysWithoutReceipt(db, mode, addDays(today, -RECEIPT_WINDOW_DAYS), today)
  return days.flatMap(({ account, day }) => {
    const passed = RECEIPT_DAYS.map((after) => addDays(day, after))
      .findLast((each) => instantInRome(each, RECEIPT_HOUR) <= now)
    return passed === undefined ? [] : [{ giorno: day, utente: account, on: passed }]
  })
}

/** The service refused a guest without a booking, and no live row has the same guest. Other alarms cover bookings. */
const hasRefusedGuests = sql`exists (
  select from invii_schedine s
  where s.invio_id = ${invii}.id and s.esito = 'rifiutata' and s.prenotazione_id is null and not exists (
    select from invii_schedine o
    where o.utente = s.utente and o.impronta_identita = s.impronta_identita
      and ${inArray(sql`o.esito`, LIVE_ROW_OUTCOMES)} and not o.confermata
  )
)`

/** Finds near deadlines of unsent guests, and of unfinished submissions. */
async function nearDeadlines (
  { db, keys, clock, mode }: WatchContext, now: Date
): Promise<Record<'unsent' | 'open', AlarmCase[]>> {
  const horizon = new Date(now.getTime() + DEADLINE_MINUTES[0] * MINUTE_MS)
  const today = clock.today()
  const submissions = await db
    .select({ id: invii.id, ricevuta: invii.ricevuta, scadenza: invii.scadenza, stato: invii.stato })
    .from(invii)
    .where(and(
      scopeOf(mode),
      lte(invii.scadenza, horizon.toISOString()),
      or(
        inArray(invii.stato, UNFINISHED_STATES),
        and(eq(invii.stato, 'parziale'), inArray(invii.data_arrivo, [addDays(today, -1), today]), hasRefusedGuests)
      )
    ))
    .orderBy(asc(invii.id))
  const bookings = await unfiledBookings({ db, keys, mode, today })
  const { unsent = [], open = [] } = Object.groupBy(
    submissions, ({ stato }) => stato === 'parziale' ? 'unsent' : 'open')
  const near = (some: typeof submissions) => some.flatMap(({ id, ricevuta, scadenza }) =>
    atThreshold(new Date(scadenza), now, { invio: id, ricevuta }))
  return {
    open: near(open),
    unsent: [
      ...near(unsent),
      // Guests in an unfinished submission are covered by that submission's alarm.
      ...bookings.flatMap(({ bookingId, deadline, unsent }) =>
        unsent > 0 ? atThreshold(deadline, now, { prenotazione: bookingId, ospiti_mancanti: unsent }) : []
      )
    ]
  }
}

/** The case for the last threshold that has passed, if any. Its day is the threshold's, so one alarm is raised. */
function atThreshold (deadline: Date, now: Date, about: AlarmCase): AlarmCase[] {
  const minuti = DEADLINE_MINUTES.findLast((minutes) => dueAt(deadline, minutes) <= now)
  if (minuti === undefined) return []
  return [{ ...about, scadenza: deadline.toISOString(), minuti, on: dayInRome(dueAt(deadline, minuti)) }]
}

function dueAt (deadline: Date, minutes: number): Date {
  return new Date(deadline.getTime() - minutes * MINUTE_MS)
}

async function inState ({ db, mode }: WatchContext, stato: typeof DECIDABLE_STATES[number]): Promise<AlarmCase[]> {
  const found = await db
    .select({
      invio: invii.id,
      ricevuta: invii.ricevuta,
      tentativo: invii.tentativo,
      on: sql<Day>`(${invii.aggiornato_il} at time zone 'Europe/Rome')::date::text`
    })
    .from(invii)
    .where(and(scopeOf(mode), eq(invii.stato, stato)))
    .orderBy(asc(invii.id))
  return found
}

type Evening = Pick<WatchContext, 'db' | 'keys' | 'clock' | 'log' | 'mode'> & Pick<NotifierOptions,
  'mail' | 'recipients'>

/** Mails the evening summary of open tasks, once a day across processes. Sends nothing if there are none. */
export async function mailEveningSummary (context: Evening): Promise<void> {
  const { db, clock, log, mode, mail, recipients } = context
  if (recipients.length === 0) return
  const content = await summarize(context)
  if (content === undefined) return
  const isFirst = await db.transaction(async (tx) => {
    const added = await tx.insert(allarmi).values({ argomento: `${mode} evening`, giorno: clock.today() })
      .onConflictDoNothing().returning({ giorno: allarmi.giorno })
    if (added.length === 0) return false
    for (const to of recipients) await mail.enqueue(tx, { to, ...content })
    return true
  })
  if (!isFirst) return
  mail.deliver()
  log.info('the evening summary is mailed')
}

async function linesOf (
  db: Database, bookings: Awaited<ReturnType<typeof unfiledBookings>>, isProlonged: boolean
): Promise<string[]> {
  const cases = bookings.filter((booking) => booking.isProlonged === isProlonged)
    .map(({ bookingId, arrival, unsent, deadline }) => ({
      prenotazione: bookingId, ospiti_mancanti: unsent, giorno: arrival, scadenza: deadline.toISOString()
    }))
  return (await withDetails(db, cases)).map(describe)
}

async function summarize ({ db, keys, clock, mode }: Evening): Promise<Omit<Mail, 'to'> | undefined> {
  const today = clock.today()
  // Leaves out guests of an unfinished submission, because a host who sees them as unsent would try to send them again.
  const bookings = (await unfiledBookings({ db, keys, mode, today })).filter(({ unsent }) => unsent > 0)
  const submissions = await db.select({ invio: invii.id, ricevuta: invii.ricevuta }).from(invii)
    .where(and(scopeOf(mode), inArray(invii.stato, DECIDABLE_STATES))).orderBy(asc(invii.id))
  const days = await daysWithoutReceipt(db, mode, addDays(today, -RECEIPT_WINDOW_DAYS), addDays(today, -1))
  const sections = [
    { title: 'Ospiti arrivati oggi o ieri e non ancora comunicati', lines: await linesOf(db, bookings, false) },
    {
      title: 'Proroghe: ospiti che restano, con notti non ancora comunicate',
      lines: await linesOf(db, bookings, true)
    },
    { title: 'Invii che aspettano una persona', lines: (await withDetails(db, submissions)).map(describe) },
    {
      title: 'Giorni con ospiti acquisiti e senza ricevuta',
      lines: days.map(({ account, day }) => describe({ giorno: day, utente: account }))
    }
  ].filter(({ lines }) => lines.length > 0)
  if (sections.length === 0) return undefined
  const paragraphs = ['Ciò che resta da fare questa sera per le comunicazioni alla Polizia.']
  return letter({ subject: `riepilogo ${dayWithArticle('del', today)}`, paragraphs, sections }, mode)
}
