import { asc, sql } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import type { CalendarQuery } from '#schemas/booking.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { addDays, dayInRome, isDay, type Day } from '#src/lib/time.ts'

const LAST_DAY = '9999-12-31'

/** A span of days; `end` is exclusive. An open side has no bound. */
export interface Span { start: Day | null, end: Day | null }

/** The calendar entries of the stays that touch a span of days, by arrival. */
export function calendar (db: Database) {
  const touching = db
    .select({
      id: t.id,
      title: t.nome_cognome,
      start: t.check_in,
      end: t.check_out,
      url: sql<string>`'/prenotazioni/' || ${t.id}`
    })
    .from(t)
    .where(
      sql`daterange(${t.check_in}, ${t.check_out}, '[)')
        && daterange(${sql.placeholder('start')}::date, ${sql.placeholder('end')}::date, '[)')`
    )
    .orderBy(asc(t.check_in), asc(t.id))
    .prepare('calendar')
  return (span: Span) => touching.execute({ ...span })
}

/**
 * The span that FullCalendar asks for with `start` and `end`. An instant with an offset means the day that is written
 * in it, one in UTC (`Z`) the day it is in Rome; an `end` after midnight still includes its day.
 * @throws CampiNonValidi
 */
export function calendarSpan ({ start, end }: CalendarQuery): Span {
  const span = { start: boundary('start', start), end: boundary('end', end) }
  if (span.start !== null && span.end !== null && span.start > span.end) {
    throw new CampiNonValidi({ campo: 'end', messaggio: 'deve essere dopo start' })
  }
  return span
}

function boundary (campo: 'start' | 'end', text: string | undefined): Day | null {
  if (text === undefined) return null
  const instant = text.endsWith('Z') ? new Date(text) : undefined
  if (!isDay(text.slice(0, 10)) || (instant && Number.isNaN(instant.getTime()))) {
    throw new CampiNonValidi({ campo, messaggio: 'deve essere un giorno o un istante ISO 8601' })
  }
  const day = instant ? inCalendar(dayInRome(instant)) : text.slice(0, 10)
  const atMidnight = instant
    ? inCalendar(dayInRome(new Date(instant.getTime() - 1))) !== day
    : !/T(?!00:00(:00(\.0+)?)?(Z|[+ -]|$))/.test(text)
  return campo === 'end' && !atMidnight ? inCalendar(addDays(day, 1)) : day
}

/** A day with a four-digit year: the last of them stands for all that come after, which no stay reaches. */
function inCalendar (day: string): Day {
  const padded = day.padStart(LAST_DAY.length, '0')
  return isDay(padded) ? padded : LAST_DAY
}
