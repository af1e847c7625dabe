import { boolean, date, index, integer, pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core'
import { bytea, instant } from './columns.ts'

/** Police accounts, as far as the ledger must know them. */
export const account_polizia = pgTable('account_polizia', {
  utente: text().primaryKey(),
  /** No other program sends with this account, so that matching totals on a receipt are proof. */
  canale_esclusivo: boolean().notNull().default(false)
})

/** Raised alarms: one a day for each subject, across all processes. */
export const allarmi = pgTable('allarmi', {
  argomento: text().notNull(),
  giorno: date().notNull(),
  quando: instant().notNull().defaultNow()
}, (t) => [primaryKey({ columns: [t.argomento, t.giorno] })])

/** The signed PDF of one day and account, kept indefinitely. */
export const ricevute = pgTable('ricevute', {
  utente: text().notNull(),
  giorno: date().notNull(),
  pdf: bytea().notNull(),
  sha256: text().notNull(),
  /** SCHEDINE INVIATE and GG PERMANENZA, parsed from the PDF. Null if they could not be parsed. */
  schedine: integer(),
  notti: integer(),
  scaricata_il: instant().notNull().defaultNow()
}, (t) => [primaryKey({ columns: [t.utente, t.giorno] })])

/** Every fetch of a day's receipt: two equal results hours apart prove more than one. Append-only. */
export const ricevute_letture = pgTable('ricevute_letture', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  utente: text().notNull(),
  giorno: date().notNull(),
  letta_il: instant().notNull().defaultNow(),
  /** Null: the service had no receipt, which does not prove that nothing was sent. */
  sha256: text(),
  schedine: integer(),
  notti: integer()
}, (t) => [index('ricevute_letture_giorno').on(t.utente, t.giorno)])

/** The service's code tables as last downloaded: all five or none. */
export const codici_tabelle = pgTable('codici_tabelle', {
  nome: text().primaryKey(),
  csv: text().notNull(),
  sha256: text().notNull(),
  scaricata_il: instant().notNull().defaultNow()
})

/* The sandbox: state of the simulated police service. */

export const sandbox_token = pgTable('sandbox_token', {
  token: text().primaryKey(),
  utente: text().notNull(),
  scade_il: instant().notNull()
})

export const sandbox_schedine = pgTable('sandbox_schedine', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  utente: text().notNull(),
  id_appartamento: integer(),
  riga: text().notNull(),
  permanenza: integer().notNull(),
  giorno: date().notNull(),
  acquisita_il: instant().notNull().defaultNow()
}, (t) => [index('sandbox_schedine_giorno').on(t.utente, t.giorno)])

export const sandbox_appartamenti = pgTable('sandbox_appartamenti', {
  utente: text().notNull(),
  id: integer().notNull(),
  descrizione: text().notNull(),
  comune_codice: text().notNull(),
  indirizzo: text().notNull(),
  proprietario: text().notNull(),
  disabilitato_il: instant()
}, (t) => [unique('sandbox_appartamenti_chiave').on(t.utente, t.id)])
