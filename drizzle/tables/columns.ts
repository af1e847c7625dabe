import { customType, timestamp } from 'drizzle-orm/pg-core'

/** Raw bytes. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** An instant with the API's millisecond precision, read in PostgreSQL's text format. */
export const instant = () => timestamp({ withTimezone: true, precision: 3, mode: 'string' })

/** An instant with the API's millisecond precision, read as a `Date`. */
export const instantDate = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' })
