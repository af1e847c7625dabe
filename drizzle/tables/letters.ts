import { sql } from 'drizzle-orm'
import { check, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { prenotazioni } from './bookings.ts'
import { bytea, instantDate } from './columns.ts'
import { generated_pdfs } from './pdf.ts'

/** Welcome letters, one a booking. A letter is deleted with its PDF, and the PDF with its file. */
export const lettere_benvenuto = pgTable('lettere_benvenuto', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  prenotazione_id: integer().notNull().unique('lettere_benvenuto_prenotazione').references(() => prenotazioni.id),
  nome_ospite: text().notNull(),
  /** Two letters, as the caller spelled them. */
  lingua: text().notNull(),
  pdf: uuid().notNull().unique().references(() => generated_pdfs.id, { onDelete: 'cascade' }),
  created_at: instantDate().notNull().defaultNow()
})

/** The property's details in its letters: one row, or none until they are first saved. */
export const struttura = pgTable('struttura', {
  id: integer().primaryKey().default(1),
  nome: text(),
  motto: text(),
  indirizzo: text(),
  luogo: text(),
  telefono: text(),
  email: text(),
  cin: text(),
  firma: text(),
  /** `#rrggbb`. */
  colore: text(),
  wifi_rete: text(),
  /** Encrypted. */
  wifi_password: bytea(),
  /** `HH:MM`. */
  ora_check_in: text(),
  ora_check_out: text(),
  colazione: text(),
  regole: text(),
  /** Texts by language, in place of those above. */
  testi: jsonb().$type<Record<string, Record<string, string>>>(),
  /** Starts at 1 and grows with every change, also of the logo. */
  versione: integer().notNull().default(0),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [check('struttura_una', sql`${t.id} = 1`)])
