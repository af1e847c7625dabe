import type postgres from 'postgres'
import type { BookingState, CalendarQuery } from '#schemas/booking.ts'
import type { FieldError } from '#schemas/common.ts'
import { addDays, dayInRome, isDay, type Day } from '#src/lib/time.ts'
import { inBatches, type Run } from '#src/http/list-responses.ts'
import type { JsonPieces } from '#src/http/streams.ts'

/** Entries per batch. The limit bounds the memory for a response. */
const BATCH = 1000

const LAST_DAY = '9999-12-31'

/** A span of days; `end` is exclusive. Null: no bound on this side. Bookings that are not confirmed occupy no day. */
interface Span { start: Day | null, end: Day | null, stato: BookingState }

/** The last entry of a batch. */
interface Position { day: Day, id: number }

/** The calendar entries of the stays in a state that overlap a span of days, by arrival: a JSON array in pieces. */
export function calendar (sql: postgres.Sql, span: Span): JsonPieces {
  return inBatches<Position>('[', ']', (after = { day: '-infinity', id: 0 }) => readBatch(sql, span, after))
}

async function readBatch (
  sql: postgres.Sql, { start, end, stato }: Span, { day, id }: Position
): Promise<Run<Position>> {
  const [batch] = await sql<[Run<Position>]>`
    with entries as (
      select id, nome_cognome as title, check_in as start, check_out as "end", '/prenotazioni/' || id as url, stato,
        row_number() over (order by check_in, id) as place
      from prenotazioni
      where daterange(check_in, check_out, '[)') && daterange(${start}::date, ${end}::date, '[)')
        and stato = ${stato}
        and (check_in, id) > (${day}::date, ${id}::int)
      order by check_in, id limit ${BATCH + 1}
    )
    select
      string_agg((select row_to_json(r) from (select id, title, start, "end", url, stato) r)::text, ',' order by place)
        filter (where place <= ${BATCH}) as json,
      case when count(*) > ${BATCH} then
        (select json_build_object('day', start, 'id', id) from entries where place = ${BATCH})
      end as next
    from entries`
  return batch
}

/** Validation errors of a calendar's bounds. */
export function calendarErrors ({ start, end }: Readonly<Record<string, unknown>>): FieldError[] {
  const bounds = [['start', start], ['end', end]] as const
  const wrong = bounds.filter(([, value]) => value !== undefined && !isBoundary(value))
  if (wrong.length > 0) {
    return wrong.map(([campo]) => ({ campo, messaggio: 'deve essere un giorno o un istante, per esempio 2026-11-30' }))
  }
  const span = calendarSpan({ start, end } as CalendarQuery)
  if (span.start === null || span.end === null || span.start <= span.end) return []
  return [{ campo: 'end', messaggio: 'deve essere dopo start' }]
}

/**
 * The span that FullCalendar requests with `start` and `end`, validated by `calendarErrors`. An instant with an offset
 * means the day written in it. One in UTC (`Z`) means the day in Rome. An `end` after midnight still includes its day.
 */
export function calendarSpan ({ start, end, stato = 'confermata' }: CalendarQuery): Span {
  return { start: boundary('start', start), end: boundary('end', end), stato }
}

function isBoundary (value: unknown): value is string {
  if (typeof value !== 'string' || !isDay(value.slice(0, 10))) return false
  return !(value.endsWith('Z') && Number.isNaN(new Date(value).getTime()))
}

function boundary (campo: 'start' | 'end', text: string | undefined): Day | null {
  if (text === undefined) return null
  const instant = text.endsWith('Z') ? new Date(text) : undefined
  const day = instant ? inCalendar(dayInRome(instant)) : text.slice(0, 10)
  const atMidnight = instant
    ? inCalendar(dayInRome(new Date(instant.getTime() - 1))) !== day
    : !/T(?!00:00(:00(\.0+)?)?(Z|[+ -]|$))/.test(text)
  return campo === 'end' && !atMidnight ? inCalendar(addDays(day, 1)) : day
}

/** A day with a four-digit year. Later days become the last one, which no stay reaches. */
function inCalendar (day: string): Day {
  const padded = day.padStart(LAST_DAY.length, '0')
  return isDay(padded) ? padded : LAST_DAY
}
