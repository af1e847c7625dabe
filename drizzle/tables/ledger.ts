import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn, boolean, check, date, foreignKey, index, integer, pgTable, primaryKey, text, uniqueIndex
} from 'drizzle-orm/pg-core'
import {
  ATTEMPT_BASES, ATTEMPT_OUTCOMES, FINAL_ATTEMPT_OUTCOMES, IN_FLIGHT_STATES, LIVE_ROW_OUTCOMES, OBSERVATION_SOURCES,
  ROW_OUTCOMES, STATE_NAMES, UNFINISHED_STATES
} from '#schemas/submission.ts'
import { bytea, instant } from './columns.ts'

/** Words as SQL literals: the predicate of an index takes no parameters. */
function among (words: readonly string[]) {
  return sql.raw(words.map((word) => `'${word}'`).join(', '))
}

/**
 * One list of schedine handed over in one call: the unit of the submission ledger. It outlives its booking
 * (no foreign key): the law wants it kept. `stato` moves only along `invii_transizioni_ammesse`: a trigger sees to it.
 */
export const invii = pgTable(
  'invii',
  {
    id: integer().primaryKey().generatedAlwaysAsIdentity(),
    /** Our own reference, `AW-<yyyymmdd>-<n>`: the service returns none. */
    ricevuta: text().notNull().unique(),
    /** The police account. */
    utente: text().notNull(),
    /** Who asked for it. */
    operatore: text().notNull(),
    metodo: text().notNull(),
    id_appartamento: integer(),
    /** The booking to which all its rows belong; null where they belong to several, or to none. */
    prenotazione_id: integer(),
    data_arrivo: date().notNull(),
    permanenza: integer().notNull(),
    /** When the law wants it sent. */
    scadenza: instant().notNull(),
    stato: text({ enum: STATE_NAMES }).notNull(),
    /** Counts the changes of state. */
    versione: integer().notNull().default(0),
    /** The attempt under way, or the last one; 0 before the first. */
    tentativo: integer().notNull().default(0),
    /** The worker that has claimed it. Until the lease ends the worker is believed to be at work on it. */
    proprietario: text(),
    lease_fino_al: instant().notNull(),
    /** What a person is shown: why it is as it is. */
    nota: text(),
    creato_il: instant().notNull().defaultNow(),
    aggiornato_il: instant().notNull().defaultNow()
  },
  (t) => [
    index('invii_prenotazione').on(t.prenotazione_id),
    index('invii_arrivo').on(t.data_arrivo),
    // A page of one state, the newest first.
    index('invii_stato').on(t.stato, t.id),
    index('invii_aperti')
      .on(t.stato)
      .where(sql`${t.stato} in (${among(UNFINISHED_STATES)})`),
    // One Send at a time for each account: two at once could not be told apart on a receipt that only counts.
    uniqueIndex('invii_un_volo')
      .on(t.utente)
      .where(sql`${t.stato} in (${among(IN_FLIGHT_STATES)})`)
  ]
)

/** One guest of a submission: the exact record, encrypted, and what the service said of it. */
export const invii_schedine = pgTable('invii_schedine', {
  invio_id: integer().notNull().references(() => invii.id),
  /** Index into the `ospiti` of the request. */
  indice: integer().notNull(),
  /** Index of the leader of its family or group; its own for a single guest. They are sent together or not at all. */
  capo: integer().notNull(),
  utente: text().notNull(),
  /** The booking of the guest. */
  prenotazione_id: integer(),
  /** Null once it was erased. */
  riga: bytea(),
  permanenza: integer().notNull(),
  /** HMAC of account, arrival, name and birth date: the same guest even when the record was edited. */
  impronta_identita: bytea().notNull(),
  /** HMAC of account, arrival, the letters of both names in any order, birth date. */
  impronta_persona: bytea().notNull(),
  /** HMAC of account, arrival and document number; null for guests without one. */
  impronta_documento: bytea(),
  /** A person has confirmed, in `invii_conferme`, that this is another guest than the one who was sent before. */
  confermata: boolean().notNull().default(false),
  esito: text({ enum: ROW_OUTCOMES }).notNull(),
  codice_errore: text(),
  messaggio_soap: text(),
  dettaglio: text()
}, (t) => [
  primaryKey({ columns: [t.invio_id, t.indice] }),
  // Never twice: a guest that is being sent, was filed or may have been cannot be entered again, unless a person
  // confirms that it is another one.
  uniqueIndex('invii_schedine_una_volta').on(t.utente, t.impronta_identita).where(liveAndUnconfirmed(t)),
  uniqueIndex('invii_schedine_una_persona').on(t.utente, t.impronta_persona).where(liveAndUnconfirmed(t)),
  uniqueIndex('invii_schedine_un_documento').on(t.utente, t.impronta_documento).where(liveAndUnconfirmed(t)),
  index('invii_schedine_prenotazione').on(t.prenotazione_id)
])

function liveAndUnconfirmed ({ esito, confermata }: { esito: AnyPgColumn, confermata: AnyPgColumn }) {
  return sql`${esito} in (${among(LIVE_ROW_OUTCOMES)}) and not ${confermata}`
}

/** One call that may have reached the service. Append-only; committed before the first byte leaves. */
export const invii_tentativi = pgTable('invii_tentativi', {
  invio_id: integer().notNull().references(() => invii.id),
  numero: integer().notNull(),
  base: text({ enum: ATTEMPT_BASES }).notNull(),
  inviato_il: instant().notNull(),
  /** Until then bytes that have left may still be acted on. */
  consegna_entro: instant().notNull(),
  /** Europe/Rome days in which the service may count the call. */
  giorno_da: date().notNull(),
  giorno_a: date().notNull(),
  /** Rows handed over, and their nights together. */
  schedine: integer().notNull(),
  notti: integer().notNull(),
  impronta_richiesta: bytea().notNull()
}, (t) => [
  primaryKey({ columns: [t.invio_id, t.numero] }),
  index('invii_tentativi_giorno').on(t.giorno_da)
])

/** What was seen of an attempt, append-only. At most one row says for good what it did: `K` or `N`. */
export const invii_esiti = pgTable('invii_esiti', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  invio_id: integer().notNull(),
  numero: integer().notNull(),
  esito: text({ enum: ATTEMPT_OUTCOMES }).notNull(),
  fonte: text({ enum: OBSERVATION_SOURCES }).notNull(),
  /** Rows known to be acquired, and their nights together. */
  schedine: integer().notNull().default(0),
  notti: integer().notNull().default(0),
  http_status: integer(),
  errore: text(),
  /** The raw reply, encrypted. */
  risposta: bytea(),
  registrato_il: instant().notNull().defaultNow()
}, (t) => [
  index('invii_esiti_tentativo').on(t.invio_id, t.numero),
  foreignKey({ columns: [t.invio_id, t.numero], foreignColumns: [invii_tentativi.invio_id, invii_tentativi.numero] }),
  uniqueIndex('invii_esiti_definitivo').on(t.invio_id, t.numero)
    .where(sql`${t.esito} in (${among(FINAL_ATTEMPT_OUTCOMES)})`)
])

/** The transitions that the trigger allows, and what must stand beside each. */
export const invii_transizioni_ammesse = pgTable('invii_transizioni_ammesse', {
  da: text().notNull(),
  a: text().notNull(),
  serve: text()
}, (t) => [primaryKey({ columns: [t.da, t.a] })])

/** Every change of state, written by the trigger: append-only, each row chained to the one before by its hash. */
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
 * The key of this installation: one row, written by the first server. A server with another key would not recognize the
 * guests that were sent.
 */
export const registro_chiave = pgTable('registro_chiave', {
  unica: boolean().primaryKey().default(true),
  /** Fingerprint of the key. */
  impronta: bytea().notNull()
}, (t) => [check('registro_chiave_una', sql`${t.unica}`)])

/**
 * The server that the ledger was last found on: one row. A standby that takes its primary's place counts a timeline
 * more, and has this row as that left it.
 */
export const registro_server = pgTable('registro_server', {
  unica: boolean().primaryKey().default(true),
  /** The cluster's own number, the same on its standbys. */
  sistema: text().notNull(),
  timeline: integer().notNull()
}, (t) => [check('registro_server_uno', sql`${t.unica}`)])

/** How many submissions of an account are in each state: kept by the trigger of transitions. */
export const invii_conteggi = pgTable('invii_conteggi', {
  utente: text().notNull(),
  stato: text({ enum: STATE_NAMES }).notNull(),
  quanti: integer().notNull()
}, (t) => [primaryKey({ columns: [t.utente, t.stato] })])

/** The last `n` given out for a day's references. */
export const invii_numerazione = pgTable('invii_numerazione', {
  giorno: date().primaryKey(),
  ultimo: integer().notNull()
})
