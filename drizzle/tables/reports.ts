import { integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instantDate } from './columns.ts'

/**
 * Saved templates. The product's own templates are files. A deleted template keeps its row without content, so that its
 * id and version are never reused.
 */
export const pdf_templates = pgTable('pdf_templates', {
  /** 16 hexadecimal digits. */
  id: text().primaryKey(),
  nome: text().notNull(),
  template: text().notNull(),
  /** Sample data for previews. */
  esempio: jsonb().$type<Record<string, unknown>>(),
  /** Variables that the template requires. */
  variabili: text().array().notNull(),
  /** Starts at 1 and grows with every change. */
  versione: integer().notNull().default(1),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow(),
  deleted_at: instantDate()
})

/** The latest versions of existing templates, including the current one. Older ones are deleted. */
export const pdf_template_versions = pgTable('pdf_template_versions', {
  id: text().notNull().references(() => pdf_templates.id, { onDelete: 'cascade' }),
  versione: integer().notNull(),
  nome: text().notNull(),
  template: text().notNull(),
  esempio: jsonb().$type<Record<string, unknown>>(),
  variabili: text().array().notNull(),
  /** When this version was saved. */
  updated_at: instantDate().notNull()
}, (t) => [primaryKey({ columns: [t.id, t.versione] })])
