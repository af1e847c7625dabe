import { and, asc, inArray } from 'drizzle-orm'
import { allarmi } from '#drizzle/tables/alloggiati.ts'
import { invii } from '#drizzle/tables/ledger.ts'
import { DECIDABLE_STATES } from '#schemas/submission.ts'
import { addDays } from '#src/lib/time.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { RECEIPT_WINDOW_DAYS } from '../../receipts/archive.ts'
import { daysWithoutReceipt } from '../../receipts/days.ts'
import type { WatchContext } from '../context.ts'
import { scopeOf } from '../read.ts'
import { unfiledBookings } from '../unfiled-bookings.ts'
import type { BellOptions } from './bell.ts'
import { describe, letter } from './mails.ts'

type Evening = Pick<WatchContext, 'db' | 'keys' | 'clock' | 'log' | 'mode'> & Pick<BellOptions, 'mail' | 'recipients'>

/** Mails what is still to be done this evening; nothing when nothing is, and once a day, by whichever process. */
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
  log.info('the summary of the evening is mailed')
}

async function summarize ({ db, keys, clock, mode }: Evening): Promise<Omit<Mail, 'to'> | undefined> {
  const today = clock.today()
  const bookings = await unfiledBookings({ db, keys, mode, today })
  const submissions = await db.select({ invio: invii.id, ricevuta: invii.ricevuta }).from(invii)
    .where(and(scopeOf(mode), inArray(invii.stato, DECIDABLE_STATES))).orderBy(asc(invii.id))
  const days = await daysWithoutReceipt(db, mode, addDays(today, -RECEIPT_WINDOW_DAYS), addDays(today, -1))
  const sections = [
    {
      title: 'Ospiti arrivati oggi o ieri e non ancora comunicati',
      lines: bookings.map(({ bookingId, arrival, missing, deadline }) => describe({
        prenotazione: bookingId, ospiti_mancanti: missing, giorno: arrival, scadenza: deadline.toISOString()
      }))
    },
    { title: 'Invii che aspettano una persona', lines: submissions.map(describe) },
    {
      title: 'Giorni con ospiti acquisiti e senza ricevuta',
      lines: days.map(({ account, day }) => describe({ giorno: day, utente: account }))
    }
  ].filter(({ lines }) => lines.length > 0)
  if (sections.length === 0) return undefined
  const paragraphs = ['Ciò che resta da fare questa sera per le comunicazioni alla Polizia.']
  return letter({ subject: `riepilogo del ${today}`, paragraphs, sections }, mode)
}
