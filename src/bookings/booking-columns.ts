import { getTableColumns, sql } from 'drizzle-orm'
import { ospiti, prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { Booking, BookingDetail } from '#schemas/booking.ts'
import { fieldNames } from '#schemas/common.ts'
import { Guest } from '#schemas/guest.ts'
import { isoInstant } from '#src/database/columns.ts'

const columns = { ...getTableColumns(t), created_at: isoInstant(t.created_at), updated_at: isoInstant(t.updated_at) }

/**
 * A booking's columns in the contract's shape and order. Bookings are sent as PostgreSQL writes them, so the schema
 * selects the columns here: nothing later would remove one that is not meant for clients.
 */
export const bookingColumns = pick(columns, fieldNames(Booking))

const guest = sql.join(
  Object.entries(pick(getTableColumns(ospiti), fieldNames(Guest))).map(
    ([name, column]) => sql`${sql.raw(`'${name}'`)}, o.${sql.identifier(column.name)}`
  ),
  sql`, `
)

const guestList = sql<Guest[]>`(
  select coalesce(json_agg(json_build_object(${guest}) order by o.indice), '[]')
  from ${ospiti} o where o.prenotazione_id = ${t}.id
)`

/** The same columns plus the guests in order, in one round trip. The schema selects the guests' columns, too. */
export const detailColumns = pick({ ...columns, ospiti: guestList }, fieldNames(BookingDetail))

/** The named columns, in the order of the names. */
function pick<T extends object, Name extends keyof T> (columns: T, names: readonly Name[]): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<T, Name>
}
