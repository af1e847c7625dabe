import { index, integer, pgTable } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** What people have taken from identity documents, with its picture where there is one, under `documents`. */
export const scansioni = pgTable('scansioni', {
  // Taken beforehand: what is sealed, and the name of the picture, are bound to it.
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  /** What the document says, sealed. */
  dati: bytea().notNull(),
  /** Whose document it is, both or neither. Bookings delete through a hook: their pictures must go with them. */
  prenotazione_id: integer(),
  guest_idx: integer(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('scansioni_prenotazione').on(t.prenotazione_id, t.guest_idx)])
