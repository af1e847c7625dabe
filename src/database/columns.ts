import { sql, type SQL, type SQLWrapper } from 'drizzle-orm'

/* What queries share: values that PostgreSQL writes as the API shows them, lists and patterns that it searches for. */

/** An instant as the API writes it. PostgreSQL formats it, so that no row is mapped in JavaScript. */
export function isoInstant (column: SQLWrapper): SQL<string> {
  return sql<string>`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/**
 * Columns as one JSON text a row, which is sent as it is. It does not pass the serializer, so the caller must give
 * exactly the columns that the schema of the answer names.
 */
export function asJson (columns: Record<string, SQLWrapper>): SQL<string> {
  const named = Object.entries(columns).map(([name, column]) => sql`${column} as ${sql.identifier(name)}`)
  return sql<string>`(select row_to_json(r) from (select ${sql.join(named, sql`, `)}) r)::text`
}

/** The pattern with which LIKE and ILIKE find a text anywhere; `%`, `_` and `\` in the text stand for themselves. */
export function containing (text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/**
 * Whether a column has one of many ids, which are one parameter: a statement takes no more than 65,535 of them, and one
 * with hundreds costs more than what it reads.
 */
export function isOneOf (column: SQLWrapper, ids: Iterable<number>): SQL {
  return sql`${column} = any(${`{${[...ids].join()}}`}::int[])`
}
