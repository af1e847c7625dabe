import { index, integer, pgTable } from 'drizzle-orm/pg-core'
import { bytea, instantDate } from './columns.ts'

/** Scanned identity documents. Their pictures, if any, are stored in the bucket `documents`. */
export const scansioni = pgTable('scansioni', {
  // Reserved before the insert, because the encrypted data and the picture's name are bound to it.
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  /** The document's data, encrypted. */
  dati: bytea().notNull(),
  /** The document's guest: both or neither. A booking hook deletes the guest's scans with their pictures. */
  prenotazione_id: integer(),
  guest_idx: integer(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('scansioni_prenotazione').on(t.prenotazione_id, t.guest_idx)])
