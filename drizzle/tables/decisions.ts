import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { DECISIONS } from '#schemas/submission.ts'
import { instant } from './columns.ts'
import { invii } from './ledger.ts'

/** A person's decision on a submission that no rule could settle. Append-only. */
export const invii_decisioni = pgTable('invii_decisioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull().references(() => invii.id),
  /** The version of the submission that was decided on. Each version allows one decision. */
  versione: integer().notNull(),
  decisione: text({ enum: DECISIONS }).notNull(),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** Protocol number of the portal or the certified mail. */
  protocollo: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [unique('invii_decisioni_una').on(t.invio_id, t.versione)])

/**
 * A person's confirmation that guests differ from those sent before, or exceed the booking's number. Append-only. The
 * database rejects confirmed rows without one.
 */
export const invii_conferme = pgTable('invii_conferme', {
  invio_id: integer().primaryKey().references(() => invii.id),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** The references that the person was shown. */
  precedenti: text().array().notNull(),
  quando: instant().notNull().defaultNow()
})

/** A request to the questura to correct a submission, which only the questura can do. Append-only. */
export const invii_correzioni = pgTable('invii_correzioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull().references(() => invii.id),
  /** The wrong row. Null: the whole submission. */
  indice: integer(),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** Protocol number of the certified mail or the questura. */
  protocollo: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [index('invii_correzioni_invio').on(t.invio_id)])

/** Submissions whose encrypted records were erased. Append-only. */
export const invii_cancellazioni = pgTable('invii_cancellazioni', {
  invio_id: integer().primaryKey().references(() => invii.id),
  righe: integer().notNull(),
  quando: instant().notNull().defaultNow()
})

/**
 * Suspensions. An active one stops all sending. A person starts it, or the ledger when the database may be an old copy.
 */
export const invii_sospensioni = pgTable('invii_sospensioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  motivo: text().notNull(),
  chi: text().notNull(),
  dal: instant().notNull().defaultNow(),
  tolta_da: text(),
  tolta_il: instant()
}, (t) => [uniqueIndex('invii_sospensioni_aperta').on(sql`(true)`).where(sql`${t.tolta_il} is null`)])
