import { addDays, type Day } from '#src/lib/time.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { stayComparer } from '../../ledger/coverage.ts'
import type { LedgerBase } from '../../ledger/ledger-context.ts'
import { firstUndeclared, type ComparedStay } from '../../ledger/stay-nights.ts'
import { underdeclaredStays } from '../../ledger/unfiled-bookings.ts'
import { MAIL_DAYS } from '../../rules/stay-rules.ts'
import type { SchedineContext } from '../accept-schedine.ts'
import { repeatedArrivals } from '../due-guests.ts'
import { bookingOf, type DayBooking } from './day-booking.ts'
import { dayOverview, type DayChoice } from './day-overview.ts'
import { remark } from './day-remarks.ts'

/** The bookings of a day. Today also includes bookings with earlier undeclared nights. */
export async function bookingsOfDay (
  context: SchedineContext, choice: DayChoice
): Promise<DayBooking[]> {
  const bookings = await dayOverview(context, choice)
  if (choice.day !== context.clock.today()) return bookings
  return [...bookings, ...await overdueBookings(context.accounts.base, choice.ids)]
    .toSorted((one, other) => one.prenotazione_id - other.prenotazione_id)
}

/**
 * Bookings with a night before today that no row declares, although their guests were declared before. Such a stay was
 * prolonged and not sent in time. Nights that are too old for certified mail are left out.
 */
async function overdueBookings (
  { db, keys, mode, clock }: LedgerBase, ids: readonly number[] | undefined
): Promise<DayBooking[]> {
  const today = clock.today()
  const comparison = { db, keys, mode, today }
  const nights = { from: addDays(today, -MAIL_DAYS), to: addDays(today, -1) }
  const stays = (await underdeclaredStays(comparison, nights)).filter(({ id }) => ids?.includes(id) ?? true)
  const found = await stayComparer(comparison)(stays, (stay, compared) => {
    const undeclared = firstUndeclared(compared, nights)
    if (undeclared === undefined) return []
    const { night, guests } = undeclared
    return [{
      ...bookingOf({ ...stay, ospiti: [] }),
      stato: 'incompleta' as const,
      dal: night,
      ospiti: Math.min(guests, compared.guests.length),
      numero_ospiti: guests,
      errors: [remark(0, 'dal', nightAdvice(compared, night, today))]
    }]
  })
  return found.flat()
}

/**
 * Advice on an undeclared night: the service accepts nights from yesterday on, and certified mail accepts earlier ones.
 */
function nightAdvice (compared: ComparedStay, night: Day, today: Day): string {
  const { stay: { id } } = compared
  const nights = (day: Day) => `le notti ${dayWithArticle('dal', day)}`
  const send = (day: Day) => `inviare la giornata ${dayWithArticle('del', day)} ("data": "${day}")`
  const undeclared = `Non sono comunicate ${nights(night)}`
  if (night >= addDays(today, -1)) return `${undeclared}: ${send(night)}`
  const next = repeatedArrivals(compared, today)[0]
  const rest = next === undefined ? '' : `. Per ${nights(next)} ${send(next)}`
  return `${undeclared}, e il servizio non le accetta più: scaricare il file per la PEC (POST /api/alloggiati/file ` +
    `con "id": ${id} e "check_in": "${night}"), e poi registrarlo (POST /api/v1/invii/deposito)${rest}`
}
