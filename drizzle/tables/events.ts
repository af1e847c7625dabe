import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, text, unique, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { DELIVERY_STATES, WEBHOOK_STATES } from '#schemas/webhook.ts'
import { bytea, instant, instantDate } from './columns.ts'

/*
 * The event feed. Triggers write each event in the transaction of the change. After the commit the event moves to
 * `eventi`, which orders it. Events contain ids and kinds, no personal data.
 */

/** Events not yet ordered. Few rows, each for a short time. */
export const eventi_in_arrivo = pgTable('eventi_in_arrivo', {
  numero: integer().primaryKey().generatedAlwaysAsIdentity(),
  /** The transaction of the change. Repeated changes of one object in a transaction are one event. */
  transazione: bigint({ mode: 'number' }).notNull(),
  id: uuid().notNull().defaultRandom(),
  tipo: text().notNull(),
  oggetto: text().notNull(),
  prenotazione_id: integer(),
  dettaglio: text(),
  quando: instant().notNull().defaultNow()
}, (t) => [uniqueIndex('eventi_in_arrivo_uno').on(t.transazione, t.tipo, t.oggetto)])

/** Ordered events. No `posizione` becomes visible before an earlier one. Kept for 30 days. */
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

/** Webhook endpoints. */
export const webhooks = pgTable('webhooks', {
  // Reserved before the insert, because the encrypted secrets are bound to it.
  id: integer().primaryKey().generatedByDefaultAsIdentity(),
  url: text().notNull(),
  descrizione: text(),
  /** Subscribed event types. Empty: all. */
  tipi: text().array().notNull(),
  stato: text({ enum: WEBHOOK_STATES }).notNull().default('attivo'),
  /** Encrypted. */
  segreto: bytea().notNull(),
  /** Encrypted. The previous secret also signs deliveries until it expires. */
  segreto_precedente: bytea(),
  precedente_fino_al: instantDate(),
  /** Failures since the last success, and the end of the back-off that they cause. */
  errori_di_fila: integer().notNull().default(0),
  /** First failure, moved later by the downtime of this server, and last failure. */
  errori_dal: instantDate(),
  ultimo_errore: instantDate(),
  fermo_fino_al: instantDate().notNull().defaultNow(),
  /** Until when the receiver asked for a pause (`Retry-After`). A success does not end it. */
  chiesto_fino_al: instantDate(),
  sospeso_il: instantDate(),
  creato_il: instantDate().notNull().defaultNow()
})

/** One event for one webhook. */
export const webhook_consegne = pgTable('webhook_consegne', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  webhook_id: integer().notNull().references(() => webhooks.id, { onDelete: 'cascade' }),
  evento: integer().notNull().references(() => eventi.posizione, { onDelete: 'cascade' }),
  /** Copied from the event. Deliveries of one object are sent in order. */
  oggetto: text().notNull(),
  stato: text({ enum: DELIVERY_STATES }).notNull().default('in_coda'),
  /** All attempts. The number distinguishes the claim of a running attempt from later ones. */
  tentativi: integer().notNull().default(0),
  /** Failures since the delivery was queued, and the start of the first failed attempt. */
  falliti: integer().notNull().default(0),
  provata_dal: instantDate(),
  /** During an attempt (`presa`): when its lease expires. */
  prossimo_tentativo: instantDate().notNull().defaultNow(),
  presa: boolean().notNull().default(false),
  /** A person requested redelivery. It neither waits for other deliveries nor delays them. */
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

/** The result of each attempt. */
export const webhook_tentativi = pgTable('webhook_tentativi', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  consegna_id: integer().notNull().references(() => webhook_consegne.id, { onDelete: 'cascade' }),
  quando: instantDate().notNull(),
  durata_ms: integer().notNull(),
  /** Null without a response. */
  stato_http: integer(),
  /** An error code, never text of the receiver. */
  errore: text()
}, (t) => [index('webhook_tentativi_consegna').on(t.consegna_id, t.id)])
