import { sql } from 'drizzle-orm'
import { date, index, integer, pgTable, primaryKey, text, timestamp, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { bytea } from './columns.ts'

const instant = () => timestamp({ withTimezone: true, precision: 3, mode: 'string' })

/**
 * One list of schedine handed over in one call: the unit of the submission ledger. It outlives its booking
 * (no foreign key): the law wants it kept.
 */
export const invii = pgTable('invii', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** Our own reference, `AW-<yyyymmdd>-<n>`: the service returns none. */
  ricevuta: text().notNull().unique(),
  /** The police account. */
  utente: text().notNull(),
  metodo: text().notNull(),
  id_appartamento: integer(),
  prenotazione_id: integer(),
  data_arrivo: date().notNull(),
  permanenza: integer().notNull(),
  /** pronto · in_invio · acquisito · parziale · rifiutato · non_inviato · sconosciuto */
  stato: text().notNull(),
  /** Until then the process that took the submission is believed to be at work on it. */
  lease_fino_al: instant().notNull(),
  creato_il: instant().notNull().defaultNow(),
  aggiornato_il: instant().notNull().defaultNow()
}, (t) => [
  index('invii_prenotazione').on(t.prenotazione_id),
  index('invii_aperti').on(t.stato).where(sql`${t.stato} in ('pronto', 'in_invio', 'sconosciuto')`)
])

/** One guest of a submission: the exact record, encrypted, and what the service said of it. */
export const invii_schedine = pgTable('invii_schedine', {
  invio_id: integer().notNull().references(() => invii.id),
  /** Index into the `ospiti` of the request. */
  indice: integer().notNull(),
  utente: text().notNull(),
  riga: bytea().notNull(),
  permanenza: integer().notNull(),
  /** HMAC of account, apartment and the exact bytes. */
  impronta_contenuto: bytea().notNull(),
  /** HMAC of account, apartment, arrival, name and birth date: the same guest even when the record was edited. */
  impronta_identita: bytea().notNull(),
  /** in_corso · acquisita · rifiutata · non_inviata · sconosciuta */
  esito: text().notNull(),
  codice_errore: text(),
  messaggio_soap: text(),
  dettaglio: text()
}, (t) => [
  primaryKey({ columns: [t.invio_id, t.indice] }),
  // Never twice: a guest that is being sent, was acquired or may have been acquired cannot be entered again.
  uniqueIndex('invii_schedine_una_volta').on(t.utente, t.impronta_identita).where(sql`${t.esito} in ('in_corso', 'acquisita', 'sconosciuta')`)
])

/** One call that may have reached the service. The row is committed before the first byte leaves. */
export const invii_tentativi = pgTable('invii_tentativi', {
  invio_id: integer().notNull().references(() => invii.id),
  numero: integer().notNull(),
  inviato_il: instant().notNull(),
  /** Europe/Rome days in which the service may count the call. */
  giorno_da: date().notNull(),
  giorno_a: date().notNull(),
  /** `?` unknown · `K` answered row by row · `N` proven not acquired */
  esito: text().notNull(),
  http_status: integer(),
  errore: text(),
  /** The raw reply, encrypted. */
  risposta: bytea(),
  concluso_il: instant()
}, (t) => [primaryKey({ columns: [t.invio_id, t.numero] })])

/** The last `n` given out for a day's references. */
export const invii_numerazione = pgTable('invii_numerazione', {
  giorno: date().primaryKey(),
  ultimo: integer().notNull()
})

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
