import { integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { prenotazioni } from './bookings.ts'
import { instantDate } from './columns.ts'
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
