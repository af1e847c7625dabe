import { sql, type SQL, type SQLWrapper } from 'drizzle-orm'

/* Shared SQL expressions: values in the API's format, lists and search patterns. */

/** An instant in the API's format. PostgreSQL formats it, so that rows need no mapping in JavaScript. */
export function isoInstant (column: SQLWrapper): SQL<string> {
  return sql<string>`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/**
 * Columns as one JSON text per row, which is sent unchanged. No serializer removes columns, so the caller must select
 * exactly those of the response schema.
 */
export function asJson (columns: Record<string, SQLWrapper>): SQL<string> {
  const named = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.identifier(name)}`)
  return sql<string>`(select row_to_json(r) from (select ${sql.join(named, sql`, `)}) r)::text`
}

/** A LIKE or ILIKE pattern that matches a text anywhere. `%`, `_` and `\` are escaped. */
export function containing (text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/**
 * Matches one of many ids, with one array parameter. A statement has at most 65,535 parameters, and hundreds of
 * parameters cost more than the read itself.
 */
export function isOneOf (column: SQLWrapper, ids: Iterable<number>): SQL {
  return sql`${column} = any(${`{${[...ids].join()}}`}::int[])`
}

/** Matches one of many values of a `bytea` column, given as hex, with one array parameter. */
export function isOneOfBytes (column: SQLWrapper, values: readonly string[]): SQL {
  return sql`${column} = any(${`{${values.map((hex) => `"\\\\x${hex}"`).join()}}`}::bytea[])`
}
