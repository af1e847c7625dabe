import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn, boolean, check, date, foreignKey, index, integer, pgTable, primaryKey, text, uniqueIndex
} from 'drizzle-orm/pg-core'
import {
  ATTEMPT_BASES, ATTEMPT_OUTCOMES, FINAL_ATTEMPT_OUTCOMES, IN_FLIGHT_STATES, LIVE_ROW_OUTCOMES, OBSERVATION_SOURCES,
  ROW_OUTCOMES, STATE_NAMES, UNFINISHED_STATES
} from '#schemas/submission.ts'
import { bytea, instant } from './columns.ts'

/** Words as SQL literals, because an index predicate takes no parameters. */
function among (words: readonly string[]) {
  return sql.raw(words.map((word) => `'${word}'`).join(', '))
}

/**
 * A list of schedine sent in one call: the unit of the ledger. It remains after its booking is deleted (no foreign
 * key), because the law requires its retention. A trigger restricts `stato` to `invii_transizioni_ammesse`.
 */
export const invii = pgTable(
  'invii',
  {
    id: integer().primaryKey().generatedAlwaysAsIdentity(),
    /** Our own reference, `AW-<yyyymmdd>-<n>`, because the service returns none. */
    ricevuta: text().notNull().unique(),
    /** The police account. */
    utente: text().notNull(),
    /** The user who requested it. */
    operatore: text().notNull(),
    metodo: text().notNull(),
    id_appartamento: integer(),
    /** The booking of all its rows. Null if they belong to several or none. */
    prenotazione_id: integer(),
    data_arrivo: date().notNull(),
    permanenza: integer().notNull(),
    /** The legal deadline. */
    scadenza: instant().notNull(),
    stato: text({ enum: STATE_NAMES }).notNull(),
    /** Incremented by each state change. */
    versione: integer().notNull().default(0),
    /** The current or last attempt. 0 before the first. */
    tentativo: integer().notNull().default(0),
    /** The worker that claimed it. The claim is valid until the lease expires. */
    proprietario: text(),
    lease_fino_al: instant().notNull(),
    /** Explanation of the state for users. */
    nota: text(),
    creato_il: instant().notNull().defaultNow(),
    aggiornato_il: instant().notNull().defaultNow()
  },
  (t) => [
    index('invii_prenotazione').on(t.prenotazione_id),
    index('invii_arrivo').on(t.data_arrivo),
    // Pages of one state, newest first.
    index('invii_stato').on(t.stato, t.id),
    index('invii_aperti')
      .on(t.stato)
      .where(sql`${t.stato} in (${among(UNFINISHED_STATES)})`),
    // One Send at a time per account: a receipt only counts, so it could not distinguish two.
    uniqueIndex('invii_un_volo')
      .on(t.utente)
      .where(sql`${t.stato} in (${among(IN_FLIGHT_STATES)})`)
  ]
)

/** One guest of a submission: the exact record, encrypted, and the service's result. */
export const invii_schedine = pgTable('invii_schedine', {
  invio_id: integer().notNull().references(() => invii.id),
  /** Index in the `ospiti` of the request. */
  indice: integer().notNull(),
  /** Index of the leader of the family or group, else its own. Groups are sent completely or not at all. */
  capo: integer().notNull(),
  utente: text().notNull(),
  /** The guest's booking. */
  prenotazione_id: integer(),
  /** Null after erasure. */
  riga: bytea(),
  permanenza: integer().notNull(),
  /** HMAC of account, arrival, name and birth date. It identifies the guest even if the record was edited. */
  impronta_identita: bytea().notNull(),
  /** HMAC of account, arrival, birth date, and the letters of both names in any order. */
  impronta_persona: bytea().notNull(),
  /** HMAC of account, arrival and document number. Null for guests without a document. */
  impronta_documento: bytea(),
  /** A person has confirmed in `invii_conferme` that this guest is not the one sent before. */
  confermata: boolean().notNull().default(false),
  esito: text({ enum: ROW_OUTCOMES }).notNull(),
  codice_errore: text(),
  messaggio_soap: text(),
  dettaglio: text()
}, (t) => [
  primaryKey({ columns: [t.invio_id, t.indice] }),
  // No duplicates: a guest who is, was or may have been sent cannot be entered again without a person's confirmation.
  uniqueIndex('invii_schedine_una_volta').on(t.utente, t.impronta_identita).where(liveAndUnconfirmed(t)),
  uniqueIndex('invii_schedine_una_persona').on(t.utente, t.impronta_persona).where(liveAndUnconfirmed(t)),
  uniqueIndex('invii_schedine_un_documento').on(t.utente, t.impronta_documento).where(liveAndUnconfirmed(t)),
  index('invii_schedine_prenotazione').on(t.prenotazione_id)
])

function liveAndUnconfirmed ({ esito, confermata }: { esito: AnyPgColumn, confermata: AnyPgColumn }) {
  return sql`${esito} in (${among(LIVE_ROW_OUTCOMES)}) and not ${confermata}`
}

/** One call that may have reached the service. Append-only. Committed before the first byte is sent. */
export const invii_tentativi = pgTable('invii_tentativi', {
  invio_id: integer().notNull().references(() => invii.id),
  numero: integer().notNull(),
  base: text({ enum: ATTEMPT_BASES }).notNull(),
  inviato_il: instant().notNull(),
  /** The time until which the service may still process bytes already sent. */
  consegna_entro: instant().notNull(),
  /** Days in Europe/Rome in which the service may count the call. */
  giorno_da: date().notNull(),
  giorno_a: date().notNull(),
  /** Number of rows sent, and the sum of their nights. */
  schedine: integer().notNull(),
  notti: integer().notNull(),
  impronta_richiesta: bytea().notNull()
}, (t) => [
  primaryKey({ columns: [t.invio_id, t.numero] }),
  index('invii_tentativi_giorno').on(t.giorno_da)
])

/** Observations of attempts, append-only. At most one row per attempt has a final outcome: `K` or `N`. */
export const invii_esiti = pgTable('invii_esiti', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull(),
  numero: integer().notNull(),
  esito: text({ enum: ATTEMPT_OUTCOMES }).notNull(),
  fonte: text({ enum: OBSERVATION_SOURCES }).notNull(),
  /** Number of rows known to be acquired, and the sum of their nights. */
  schedine: integer().notNull().default(0),
  notti: integer().notNull().default(0),
  http_status: integer(),
  errore: text(),
  /** The raw response, encrypted. */
  risposta: bytea(),
  registrato_il: instant().notNull().defaultNow()
}, (t) => [
  index('invii_esiti_tentativo').on(t.invio_id, t.numero),
  foreignKey({ columns: [t.invio_id, t.numero], foreignColumns: [invii_tentativi.invio_id, invii_tentativi.numero] }),
  uniqueIndex('invii_esiti_definitivo').on(t.invio_id, t.numero)
    .where(sql`${t.esito} in (${among(FINAL_ATTEMPT_OUTCOMES)})`)
])

/** The transitions that the trigger allows, and the evidence that each requires. */
export const invii_transizioni_ammesse = pgTable('invii_transizioni_ammesse', {
  da: text().notNull(),
  a: text().notNull(),
  serve: text()
}, (t) => [primaryKey({ columns: [t.da, t.a] })])

/** All state changes, written by the trigger. Append-only. Each row is chained to the one before by hash. */
export const invii_transizioni = pgTable('invii_transizioni', {
  id: integer().primaryKey(),
  invio_id: integer().notNull().references(() => invii.id),
  da: text({ enum: STATE_NAMES }),
  a: text({ enum: STATE_NAMES }).notNull(),
  chi: text().notNull(),
  perche: text().notNull(),
  quando: instant().notNull(),
  hash: bytea().notNull()
}, (t) => [index('invii_transizioni_invio').on(t.invio_id)])

/**
 * Fingerprint of this installation's key: one row, written by the first server. A server with another key would not
 * recognize guests already sent.
 */
export const registro_chiave = pgTable('registro_chiave', {
  unica: boolean().primaryKey().default(true),
  /** Fingerprint of the key. */
  impronta: bytea().notNull()
}, (t) => [check('registro_chiave_una', sql`${t.unica}`)])

/**
 * The database server last seen by the ledger: one row. A promoted standby has a higher timeline, and this row as the
 * primary left it.
 */
export const registro_server = pgTable('registro_server', {
  unica: boolean().primaryKey().default(true),
  /** PostgreSQL's system identifier. Standbys have the same. */
  sistema: text().notNull(),
  timeline: integer().notNull()
}, (t) => [check('registro_server_uno', sql`${t.unica}`)])

/** Number of submissions by account and state, maintained by the transition trigger. */
export const invii_conteggi = pgTable('invii_conteggi', {
  utente: text().notNull(),
  stato: text({ enum: STATE_NAMES }).notNull(),
  quanti: integer().notNull()
}, (t) => [primaryKey({ columns: [t.utente, t.stato] })])

/** The last `n` used in a day's references. */
export const invii_numerazione = pgTable('invii_numerazione', {
  giorno: date().primaryKey(),
  ultimo: integer().notNull()
})
