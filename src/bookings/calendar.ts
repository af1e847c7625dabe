import type postgres from 'postgres'
import type { BookingState, CalendarQuery } from '#schemas/booking.ts'
import type { FieldError } from '#schemas/common.ts'
import { addDays, dayInRome, isDay, type Day } from '#src/lib/time.ts'
import { type Batch, inBatches } from '#src/http/list-responses.ts'
import type { JsonPieces } from '#src/http/streams.ts'

/** Entries per batch. The limit bounds the memory for a response. */
const BATCH = 1000

const LAST_DAY = '9999-12-31'

/** A span of days, and the state of its stays. `end` is exclusive. Null: no bound on this side. */
interface Span { start: Day | null, end: Day | null, stato: BookingState }

/** The last entry of a batch. */
interface Position { day: Day, id: number }

/** The calendar entries of the stays in a state that overlap a span of days, by arrival: a JSON array in pieces. */
export function calendar (sql: postgres.Sql, span: Span): JsonPieces {
  return inBatches<Position>('[', ']', (after = { day: '-infinity', id: 0 }) => readBatch(sql, span, after))
}

async function readBatch (
  sql: postgres.Sql, { start, end, stato }: Span, { day, id }: Position
): Promise<Batch<Position>> {
  // The limits are literals. For a parameter PostgreSQL expects a tenth of the table, and then reads all bookings by
  // arrival. `format` takes two thirds of the time of `row_to_json`, and `string_agg` less than slicing an array.
  const [most, more] = [BATCH, BATCH + 1].map((rows) => sql.unsafe(String(rows)))
  const [row] = await sql<[{ json: string | null, day: Day, id: number, more: boolean }]>`
    select string_agg(json, ',') filter (where n <= ${most!}) as json, max(check_in) filter (where n = ${most!}) as day,
      max(id) filter (where n = ${most!}) as id, count(*) > ${most!} as more
    from (select *, row_number() over () as n from (
      select id, check_in, format(
        '{"id":%s,"title":%s,"start":"%s","end":"%s","url":"/prenotazioni/%1$s","stato":"%5$s"}',
        id, to_json(nome_cognome), check_in, check_out, stato) as json
      from prenotazioni
      where daterange(check_in, check_out, '[)') && daterange(${start}::date, ${end}::date, '[)')
        and stato = ${stato}
        and (check_in, id) > (${day}::date, ${id}::int)
      order by check_in, id limit ${more!}
    ) as entries) as numbered`
  return { json: row.json, next: row.more ? { day: row.day, id: row.id } : null }
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
  return [{ campo: 'end', messaggio: 'non può essere prima di start' }]
}

/**
 * The span that FullCalendar requests with `start` and `end`, validated by `calendarErrors`. An instant with an offset
 * means the day written in it. In UTC (`Z`) it means the day in Rome. An `end` after midnight still includes its day.
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

/** A day with a four-digit year. Later days become the last day, which no stay reaches. */
function inCalendar (day: string): Day {
  const padded = day.padStart(LAST_DAY.length, '0')
  return isDay(padded) ? padded : LAST_DAY
}
