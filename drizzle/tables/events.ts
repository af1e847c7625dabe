import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { DELIVERY_STATES, WEBHOOK_STATES } from '#schemas/webhook.ts'
import { bytea, instant, instantDate } from './columns.ts'

/*
 * What happened, for those who follow it. Triggers write each event in the transaction of the change; once that is
 * committed, the event is moved on and gets its place in the order. Ids and kinds alone: no data of a person.
 */

/** Events without a place in the order yet: few rows, and none for long. */
export const eventi_in_arrivo = pgTable('eventi_in_arrivo', {
  numero: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** The transaction of the change: what it does twice to the same thing is one event. */
  transazione: bigint({ mode: 'number' }).notNull(),
  id: uuid().notNull().defaultRandom(),
  tipo: text().notNull(),
  oggetto: text().notNull(),
  prenotazione_id: integer(),
  dettaglio: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [uniqueIndex('eventi_in_arrivo_uno').on(t.transazione, t.tipo, t.oggetto)])

/** Events in their order: a later `posizione` was never visible before an earlier one. Kept for 30 days. */
export const eventi = pgTable('eventi', {
  posizione: integer().primaryKey().generatedAlwaysAsIdentity(),
  id: uuid().notNull(),
  tipo: text().notNull(),
  /** `prenotazione:7` */
  oggetto: text().notNull(),
  prenotazione_id: integer(),
  dettaglio: text(),
  quando: instant().notNull()
}, (t) => [index('eventi_prenotazione').on(t.prenotazione_id, t.posizione)])

/** Addresses to which events are delivered. */
export const webhooks = pgTable('webhooks', {
  // Taken beforehand: what is sealed is bound to it.
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  url: text().notNull(),
  descrizione: text(),
  /** The types of events that it wants; empty: all. */
  tipi: text().array().notNull(),
  stato: text({ enum: WEBHOOK_STATES }).notNull().default('attivo'),
  /** Sealed. */
  segreto: bytea().notNull(),
  /** Sealed: the one before, with which deliveries are signed, too, until it has run out. */
  segreto_precedente: bytea(),
  precedente_fino_al: instantDate(),
  /** Failed attempts since the last good one, and until when nothing is tried because of them. */
  errori_di_fila: integer().notNull().default(0),
  /** When the first of them came, later by the time in which this server was off; and when the last one came. */
  errori_dal: instantDate(),
  ultimo_errore: instantDate(),
  fermo_fino_al: instantDate().notNull().defaultNow(),
  /** Until when it has asked to be left alone, which a success does not end. */
  chiesto_fino_al: instantDate(),
  sospeso_il: instantDate(),
  creato_il: instantDate().notNull().defaultNow()
})

/** One event for one webhook. */
export const webhook_consegne = pgTable('webhook_consegne', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  webhook_id: integer().notNull().references(() => webhooks.id, { onDelete: 'cascade' }),
  evento: integer().notNull().references(() => eventi.posizione, { onDelete: 'cascade' }),
  /** As in the event: deliveries of one object follow each other. */
  oggetto: text().notNull(),
  stato: text({ enum: DELIVERY_STATES }).notNull().default('in_coda'),
  /** All attempts; of an attempt under way the number tells its claim from later ones. */
  tentativi: integer().notNull().default(0),
  /** Those that failed since it was put into the queue, and when the first of them began. */
  falliti: integer().notNull().default(0),
  provata_dal: instantDate(),
  /** While an attempt is under way (`presa`): when its process is taken for dead. */
  prossimo_tentativo: instantDate().notNull().defaultNow(),
  presa: boolean().notNull().default(false),
  /** Somebody has asked for it again: it waits for no other, and no other waits for it. */
  a_mano: boolean().notNull().default(false),
  creata_il: instantDate().notNull().defaultNow(),
  consegnata_il: instantDate()
}, (t) => [
  unique('webhook_consegne_una').on(t.webhook_id, t.evento),
  index('webhook_consegne_evento').on(t.evento),
  index('webhook_consegne_scadenza').on(t.webhook_id, t.prossimo_tentativo, t.id).where(sql`${t.stato} = 'in_coda'`),
  index('webhook_consegne_oggetto').on(t.webhook_id, t.oggetto, t.id)
    .where(sql`${t.stato} = 'in_coda' and not ${t.a_mano}`)
])

/** What came of each attempt. */
export const webhook_tentativi = pgTable('webhook_tentativi', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  consegna_id: integer().notNull().references(() => webhook_consegne.id, { onDelete: 'cascade' }),
  quando: instantDate().notNull(),
  durata_ms: integer().notNull(),
  /** Null where no answer came. */
  stato_http: integer(),
  /** A code; never words of the receiver. */
  errore: text()
}, (t) => [index('webhook_tentativi_consegna').on(t.consegna_id, t.id)])
