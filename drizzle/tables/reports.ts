import { integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instantDate } from './columns.ts'

/**
 * Templates that people have saved; those of the product are files. Of one that was deleted the row stays without its
 * content, so that no other template gets the id with the same version.
 */
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
  updated_at: instantDate().notNull().defaultNow(),
  deleted_at: instantDate()
})

/** Every version of the templates that are there, the present one too; the oldest go. */
export const pdf_template_versions = pgTable('pdf_template_versions', {
  id: text().notNull().references(() => pdf_templates.id, { onDelete: 'cascade' }),
  versione: integer().notNull(),
  nome: text().notNull(),
  template: text().notNull(),
  esempio: jsonb().$type<Record<string, unknown>>(),
  variabili: text().array().notNull(),
  /** When it was saved. */
  updated_at: instantDate().notNull()
}, (t) => [primaryKey({ columns: [t.id, t.versione] })])
