import { asc, getTableColumns, gte, isNull, or, sql, type SQL } from 'drizzle-orm'
import { prenotazioni as p } from '#drizzle/tables/bookings.ts'
import { blocchi as b, occupazione as o } from '#drizzle/tables/occupancy.ts'
import { unita as u } from '#drizzle/tables/units.ts'
import { fieldNames, type FieldError } from '#schemas/common.ts'
import { Block, CALENDAR_DAYS_MAX, Unit, type OccupancyQuery } from '#schemas/unit.ts'
import { asJson } from '#src/database/columns.ts'
import type { Database } from '#src/database/connect.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { daysBetween, isDay } from '#src/lib/time.ts'

/** Units per statement. The limit bounds the memory that a response needs. */
const BATCH = 100

const unitColumns = getTableColumns(u)
const blockColumns = getTableColumns(b)

/** A booking as a bar of the calendar. The title is the main guest. */
const bar = sql`json_build_object('id', ${p.id}, 'titolo', ${p.nome_cognome}, 'dal', ${p.check_in},
  'al', ${p.check_out}, 'ospiti', ${p.numero_ospiti}, 'gruppo', ${p.gruppo}, 'url', '/prenotazioni/' || ${p.id})`

/** Units × days as one JSON text in pieces, one for each batch of units. */
export function occupancyCalendar (db: Database, { da, a }: OccupancyQuery): JsonPieces {
  return async function * pieces (acquireSlot) {
    yield '{"data":['
    for (let offset = 0, more = true; more; offset += BATCH) {
      const rows = await db.select({ json: unitRow(da, a).as('json') }).from(u)
        .where(or(isNull(u.attiva_a), gte(u.attiva_a, da)))
        .orderBy(asc(u.ordine), asc(u.nome)).limit(BATCH + 1).offset(offset)
      more = rows.length > BATCH
      if (more) await acquireSlot()
      if (rows.length > 0) yield (offset > 0 ? ',' : '') + rows.slice(0, BATCH).map(({ json }) => json).join()
    }
    const [unassigned] = await db.execute<{ json: string }>(sql`
      select coalesce(json_agg(${bar} order by ${p.check_in}, ${p.id}), '[]')::text as json from ${p}
      where ${p.unita_id} is null and ${p.stato} = 'confermata'
        and daterange(${p.check_in}, ${p.check_out}, '[)') && daterange(${da}::date, ${a}::date, '[)')`)
    yield `],"da_assegnare":${unassigned!.json}}`
  }
}

function unitRow (da: string, a: string): SQL<string> {
  const touches = sql`${o.unita_id} = ${u.id} and ${o.al} > ${da}::date and ${o.dal} < ${a}::date`
  const free = sql`
    datemultirange(daterange(${da}::date, ${a}::date) * daterange(${u.attiva_da}, ${u.attiva_a}, '[]'))
    - coalesce((select range_agg(daterange(${o.dal}, ${o.al})) from ${o} where ${touches}), '{}')`
  return asJson({
    unita: sql`(${asJson(pick(unitColumns, fieldNames(Unit)))})::json`,
    prenotazioni: sql`(select coalesce(json_agg(${bar} order by ${o.dal}), '[]')
      from ${o} join ${p} on ${p.id} = ${o.prenotazione_id} where ${touches})`,
    blocchi: sql`(select coalesce(json_agg(
        (${asJson(pick(blockColumns, fieldNames(Block)))})::json order by ${o.dal}), '[]')
      from ${o} join ${b} on ${b.id} = ${o.blocco_id} where ${touches})`,
    liberi: sql`(select coalesce(json_agg(json_build_object('dal', lower(gap), 'al', upper(gap)) order by gap), '[]')
      from unnest(${free}) gap)`
  })
}

function pick<T extends object, Name extends keyof T> (columns: T, names: readonly Name[]): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<T, Name>
}

/** Validation errors of the calendar's bounds. */
export function occupancyErrors ({ da, a }: Readonly<Record<string, unknown>>): FieldError[] {
  if (typeof da !== 'string' || typeof a !== 'string' || !isDay(da) || !isDay(a)) return []
  if (a <= da) return [{ campo: 'a', messaggio: 'deve essere dopo da' }]
  if (daysBetween(da, a) <= CALENDAR_DAYS_MAX) return []
  return [{ campo: 'a', messaggio: `deve essere al massimo ${CALENDAR_DAYS_MAX} giorni dopo da` }]
}
