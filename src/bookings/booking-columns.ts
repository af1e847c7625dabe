import { getTableColumns, sql, type SQL } from 'drizzle-orm'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { Booking, BookingDetail } from '#schemas/booking.ts'
import { fieldNames } from '#schemas/common.ts'
import { Guest } from '#schemas/guest.ts'
import { isoInstant } from '#src/database/columns.ts'

const columns = { ...getTableColumns(t), created_at: isoInstant(t.created_at), updated_at: isoInstant(t.updated_at) }

/**
 * A booking's columns in the contract's shape and order. The server sends the JSON of PostgreSQL unchanged, and no
 * later step removes private columns. So the schema selects the columns here.
 */
export const bookingColumns = pick(columns, fieldNames(Booking))

/** A guest without own days is sent without these fields, for clients that do not know them. */
const OWN_DAYS: readonly string[] = ['arrivo', 'partenza']
const guestFields = fieldNames(Guest)

const guestList = sql<Guest[]>`(
  select coalesce(json_agg(case when o.arrivo is null and o.partenza is null
    then ${guestObject(guestFields.filter((name) => !OWN_DAYS.includes(name)))} else ${guestObject(guestFields)}
    end order by o.indice), '[]')
  from ${ospiti} o where o.prenotazione_id = ${t}.id
)`

/** `bookingColumns` and the guests in order, in one round trip. The schema also selects the guests' columns. */
export const detailColumns = pick({ ...columns, ospiti: guestList }, fieldNames(BookingDetail))

function guestObject (names: typeof guestFields): SQL {
  const fields = Object.entries(pick(getTableColumns(ospiti), names)).map(
    ([name, column]) => sql`${sql.raw(`'${name}'`)}, o.${sql.identifier(column.name)}`)
  return sql`json_build_object(${sql.join(fields, sql`, `)})`
}

/** The named columns, in the order of the names. */
function pick<T extends object, Name extends keyof T> (columns: T, names: readonly Name[]): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<T, Name>
}
