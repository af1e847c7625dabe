import { sql } from 'drizzle-orm'
import { boolean, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { MAINTENANCE_ALLOWANCES } from '#schemas/setting.ts'
import { instant } from './columns.ts'

/** The feature flags: a key that nobody has set has no row. */
export const feature_flags = pgTable('feature_flags', {
  key: text().primaryKey(),
  enabled: boolean().notNull(),
  updated_at: instant().notNull().defaultNow()
})

/** Every maintenance, of which at most one has no end: while there is one, the service is under maintenance. */
export const maintenance = pgTable('maintenance', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  message: text(),
  /** What goes on nevertheless. */
  allow: text({ enum: MAINTENANCE_ALLOWANCES }).array().notNull().default([]),
  since: instant().notNull().defaultNow(),
  /** The principals that switched it on and off. */
  begun_by: text().notNull(),
  ended_at: instant(),
  ended_by: text()
}, (t) => [uniqueIndex('maintenance_open').on(sql`(true)`).where(sql`${t.ended_at} is null`)])
