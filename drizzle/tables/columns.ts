import { customType, timestamp } from 'drizzle-orm/pg-core'

/** Raw bytes. */
export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** An instant, kept to the millisecond, the precision in which the API shows it; read as PostgreSQL writes it. */
export const instant = () => timestamp({ withTimezone: true, precision: 3, mode: 'string' })

/** The same, read as a `Date`. */
export const instantDate = () => timestamp({ withTimezone: true, precision: 3, mode: 'date' })
