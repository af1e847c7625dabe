import { sql } from 'drizzle-orm'
import { boolean, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { MAINTENANCE_ALLOWANCES } from '#schemas/setting.ts'
import { instant } from './columns.ts'

/** Feature flags. A flag that was never set has no row. */
export const feature_flags = pgTable('feature_flags', {
  key: text().primaryKey(),
  enabled: boolean().notNull(),
  updated_at: instant().notNull().defaultNow()
})

/** All maintenance periods. At most one is open, and then the service is under maintenance. */
export const maintenance = pgTable('maintenance', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  message: text(),
  /** Features that stay available. */
  allow: text({ enum: MAINTENANCE_ALLOWANCES }).array().notNull().default([]),
  since: instant().notNull().defaultNow(),
  /** The principals that started and ended it. */
  begun_by: text().notNull(),
  ended_at: instant(),
  ended_by: text()
}, (t) => [uniqueIndex('maintenance_open').on(sql`(true)`).where(sql`${t.ended_at} is null`)])
