import { sql } from 'drizzle-orm'
import { index, integer, pgTable, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { DECISIONS } from '#schemas/submission.ts'
import { instant } from './columns.ts'
import { invii } from './ledger.ts'

/** What a person decided of a submission that no rule could settle. Append-only. */
export const invii_decisioni = pgTable('invii_decisioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull().references(() => invii.id),
  /** The version of the submission that was decided on: a decision serves once. */
  versione: integer().notNull(),
  decisione: text({ enum: DECISIONS }).notNull(),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** Protocol number of the portal, or of the certified mail. */
  protocollo: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [unique('invii_decisioni_una').on(t.invio_id, t.versione)])

/**
 * A person's word that guests of a submission are others than those sent before, or more than the booking says.
 * Append-only; without one the database takes no confirmed row.
 */
export const invii_conferme = pgTable('invii_conferme', {
  invio_id: integer().primaryKey().references(() => invii.id),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** The references that the person was told of. */
  precedenti: text().array().notNull(),
  quando: instant().notNull().defaultNow()
})

/**
 * The questura was asked to correct what it has of a submission: only it can. Append-only.
 */
export const invii_correzioni = pgTable('invii_correzioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull().references(() => invii.id),
  /** The row that is wrong; null: the whole submission. */
  indice: integer(),
  chi: text().notNull(),
  motivo: text().notNull(),
  /** Protocol number of the certified mail, or of the questura. */
  protocollo: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [index('invii_correzioni_invio').on(t.invio_id)])

/** The encrypted records of a submission were erased. Append-only. */
export const invii_cancellazioni = pgTable('invii_cancellazioni', {
  invio_id: integer().primaryKey().references(() => invii.id),
  righe: integer().notNull(),
  quando: instant().notNull().defaultNow()
})

/**
 * While a suspension is in force nothing is sent: a person's, or the ledger's own when the database is older than its
 * history.
 */
export const invii_sospensioni = pgTable('invii_sospensioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  motivo: text().notNull(),
  chi: text().notNull(),
  dal: instant().notNull().defaultNow(),
  tolta_da: text(),
  tolta_il: instant()
}, (t) => [uniqueIndex('invii_sospensioni_aperta').on(sql`(true)`).where(sql`${t.tolta_il} is null`)])
