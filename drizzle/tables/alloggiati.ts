import { sql } from 'drizzle-orm'
import { boolean, check, date, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { POLICE_CATEGORIES, POLICE_MODES } from '#schemas/police-account.ts'
import { bytea, instant } from './columns.ts'
import { struttura } from './establishments.ts'

/** Police accounts, as far as the ledger must know them. */
export const account_polizia = pgTable('account_polizia', {
  utente: text().primaryKey(),
  /** Whether no other program sends with this account. Then matching totals on a receipt are proof. */
  canale_esclusivo: boolean().notNull().default(false),
  /** The last test of the credentials, and its error code. Null after a success. */
  provata_il: instant(),
  prova_errore: text()
})

/**
 * The police account of an establishment, for one mode: what was entered for the sandbox is never sent to the real
 * service. Either own credentials, or the establishment whose account it uses.
 */
export const strutture_polizia = pgTable('strutture_polizia', {
  struttura_id: integer().notNull().references(() => struttura.id),
  modalita: text({ enum: POLICE_MODES }).notNull(),
  utente: text(),
  /** Encrypted. */
  password: bytea(),
  wskey: bytea(),
  /** Changes with the credentials, and is part of the context of their encryption. */
  chiave: uuid().notNull().defaultRandom(),
  categoria: text({ enum: POLICE_CATEGORIES }),
  di_struttura: integer().references(() => struttura.id)
}, (t) => [
  primaryKey({ columns: [t.struttura_id, t.modalita] }),
  unique('strutture_polizia_utente').on(t.modalita, t.utente),
  check('strutture_polizia_una', sql`num_nonnulls(${t.utente}, ${t.password}, ${t.wskey})
    = case when ${t.di_struttura} is null then 3 else 0 end`)
])

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
