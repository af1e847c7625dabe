import { integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { instantDate } from './columns.ts'

/** Templates that people have saved; those of the product are files. */
export const pdf_templates = pgTable('pdf_templates', {
  /** 16 hexadecimal digits. */
  id: text().primaryKey(),
  nome: text().notNull(),
  template: text().notNull(),
  /** What a preview is made of. */
  esempio: jsonb().$type<Record<string, unknown>>(),
  /** What it wants of the data. */
  variabili: text().array().notNull(),
  /** From 1; it grows with every change. */
  versione: integer().notNull().default(1),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
})
