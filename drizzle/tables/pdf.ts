import { foreignKey, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { PDF_KINDS, PDF_STATES } from '#schemas/pdf.ts'
import { prenotazioni } from './bookings.ts'
import { instantDate } from './columns.ts'
import { objects } from './storage.ts'

/** Stored PDFs. A row is deleted with its file. */
export const generated_pdfs = pgTable('generated_pdfs', {
  id: uuid().primaryKey().defaultRandom(),
  /** The order of creation. */
  numero: integer().notNull().unique().generatedAlwaysAsIdentity(),
  tipo: text({ enum: PDF_KINDS }).notNull(),
  /** The owner's user id. Null: created by a machine. */
  utente: text(),
  /** Null: the request contained the template. */
  template_id: text(),
  /** The file name for downloads. */
  nome: text().notNull(),
  stato: text({ enum: PDF_STATES }).notNull().default('completato'),
  bucket: text().notNull(),
  oggetto: text().notNull(),
  prenotazione_id: integer().references(() => prenotazioni.id),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [
  foreignKey({
    name: 'generated_pdfs_file', columns: [t.bucket, t.oggetto], foreignColumns: [objects.bucket, objects.name]
  }).onDelete('cascade').onUpdate('cascade'),
  index('generated_pdfs_file_idx').on(t.bucket, t.oggetto),
  index('generated_pdfs_utente').on(t.utente, t.numero),
  index('generated_pdfs_prenotazione').on(t.prenotazione_id)
])
