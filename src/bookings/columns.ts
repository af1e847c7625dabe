import { getTableColumns, sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { prenotazioni } from '#drizzle/tables/bookings.ts'

/** An instant as the API writes it: PostgreSQL formats it, so that nothing is mapped row by row. */
function iso (column: PgColumn): SQL<string> {
  return sql<string>`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

const { versione: _versione, created_at, updated_at, ...plain } = getTableColumns(prenotazioni)

/** A booking's columns in the contract's shape and order. */
export const bookingColumns = { ...plain, created_at: iso(created_at), updated_at: iso(updated_at) }

/**
 * The same columns as one JSON text a row: a list is sent as PostgreSQL writes it, without a detour through objects.
 */
export function asJson (columns: Record<string, SQLWrapper>): SQL<string> {
  const named = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.identifier(name)}`)
  return sql<string>`(select row_to_json(r) from (select ${sql.join(named, sql`, `)}) r)::text`
}
