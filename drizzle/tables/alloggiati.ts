import { boolean, date, index, integer, pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core'
import { bytea, instant } from './columns.ts'

/** What the ledger must know of a police account. */
export const account_polizia = pgTable('account_polizia', {
  utente: text().primaryKey(),
  /** Nothing else files with this account: then a receipt that adds up proves by itself. */
  canale_esclusivo: boolean().notNull().default(false)
})

/** Alarms that were raised: each matter once a day, in whichever process. */
export const allarmi = pgTable('allarmi', {
  argomento: text().notNull(),
  giorno: date().notNull(),
  quando: instant().notNull().defaultNow()
}, (t) => [primaryKey({ columns: [t.argomento, t.giorno] })])

/** The signed PDF of one day of one account, kept for good. */
export const ricevute = pgTable('ricevute', {
  utente: text().notNull(),
  giorno: date().notNull(),
  pdf: bytea().notNull(),
  sha256: text().notNull(),
  /** SCHEDINE INVIATE and GG PERMANENZA, read from the PDF; null where it could not be read. */
  schedine: integer(),
  notti: integer(),
  scaricata_il: instant().notNull().defaultNow()
}, (t) => [primaryKey({ columns: [t.utente, t.giorno] })])

/** Every look at a day's receipt: two equal looks hours apart prove more than one. Append-only. */
export const ricevute_letture = pgTable('ricevute_letture', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  utente: text().notNull(),
  giorno: date().notNull(),
  letta_il: instant().notNull().defaultNow(),
  /** Null: the service had no receipt, which does not mean that nothing was sent. */
  sha256: text(),
  schedine: integer(),
  notti: integer()
}, (t) => [index('ricevute_letture_giorno').on(t.utente, t.giorno)])

/** The service's own code tables as last downloaded: all five or none. */
export const codici_tabelle = pgTable('codici_tabelle', {
  nome: text().primaryKey(),
  csv: text().notNull(),
  sha256: text().notNull(),
  scaricata_il: instant().notNull().defaultNow()
})

/* The sandbox: what the stand-in of the police service remembers. */

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
