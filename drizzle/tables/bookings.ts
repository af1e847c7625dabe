import { sql } from 'drizzle-orm'
import { check, date, index, integer, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { BOOKING_STATES } from '#schemas/booking.ts'
import { instant } from './columns.ts'
import { unita } from './units.ts'

const FIRST_DAY = sql.raw("'0001-01-01'")
const LAST_DAY = sql.raw("'9999-12-31'")

export const prenotazioni = pgTable('prenotazioni', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  nome_cognome: text().notNull(),
  lingua: text().notNull(),
  email: text(),
  telefono: text(),
  paese_id: integer().notNull(),
  check_in: date().notNull(),
  check_out: date().notNull(),
  numero_notti: integer().notNull().generatedAlwaysAs(sql`check_out - check_in`),
  numero_ospiti: integer().notNull(),
  idf_gen: text(),
  stato: text({ enum: BOOKING_STATES }).notNull().default('confermata'),
  /** Null until a unit is assigned. */
  unita_id: integer().references(() => unita.id),
  /** The portal or person that the booking came from. */
  canale: text(),
  /** In cents of `valuta`. */
  prezzo: integer(),
  valuta: text(),
  note: text(),
  /** The same for all rooms of one party. */
  gruppo: text(),
  created_at: instant().notNull().defaultNow(),
  updated_at: instant().notNull().defaultNow(),
  /**
   * When the data for the police last changed: the guests or the stay. Set while the row is locked, so that it orders
   * changes and submissions, which lock the row as well.
   */
  schedine_cambiate_il: instant().notNull().defaultNow(),
  /** Incremented by every change of the booking or its guests. It is the ETag. */
  versione: integer().notNull().default(1)
}, (t) => [
  check('prenotazioni_partenza_dopo_arrivo', sql`${t.check_out} > ${t.check_in}`),
  check('prenotazioni_numero_ospiti_positivo', sql`${t.numero_ospiti} > 0`),
  check('prenotazioni_stato', sql`${t.stato} in (${sql.raw(BOOKING_STATES.map((stato) => `'${stato}'`).join(', '))})`),
  check('prenotazioni_prezzo', sql`${t.prezzo} is null or (${t.prezzo} >= 0 and ${t.valuta} is not null)`),
  // Range of days and instants that the API can represent, because SQL may also write rows.
  check('prenotazioni_date_del_calendario', sql`${t.check_in} between ${FIRST_DAY} and ${LAST_DAY}
    and ${t.check_out} between ${FIRST_DAY} and ${LAST_DAY}
    and isfinite(${t.created_at}) and isfinite(${t.updated_at})`),
  // The calendar queries stays that overlap a range of days.
  index('prenotazioni_soggiorno').using('gist', sql`daterange(${t.check_in}, ${t.check_out}, '[)')`),
  index('prenotazioni_check_in').on(t.check_in, t.id),
  index('prenotazioni_check_out').on(t.check_out),
  index('prenotazioni_updated_at').on(t.updated_at, t.id),
  index('prenotazioni_unita').on(t.unita_id, t.check_in).where(sql`${t.unita_id} is not null`),
  index('prenotazioni_gruppo').on(t.gruppo).where(sql`${t.gruppo} is not null`)
])

/**
 * Number of bookings by country, maintained by triggers, because counting a million bookings means reading them all. A
 * country without bookings keeps a row with 0.
 */
export const prenotazioni_per_paese = pgTable('prenotazioni_per_paese', {
  paese_id: integer().primaryKey(),
  totale: integer().notNull()
}, (t) => [index('prenotazioni_per_paese_totale').on(t.totale.desc(), t.paese_id)])

export const ospiti = pgTable('ospiti', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  prenotazione_id: integer().notNull().references(() => prenotazioni.id, { onDelete: 'cascade' }),
  /** Position in the guest list, 0-based: the `guest_idx` of document images. */
  indice: integer().notNull(),
  nome: text().notNull(),
  cognome: text().notNull(),
  sesso: text(),
  /** As the document has it: with 00 for the day, or for month and day, if it lacks them. */
  data_nascita: text(),
  luogo_nascita: text(),
  cittadinanza: text(),
  tipo_documento: text(),
  numero_documento: text(),
  luogo_rilascio: text(),
  tipo_alloggiato: text(),
  comune_nascita: text(),
  provincia_nascita: text(),
  stato_nascita: text(),
  /** Days of this guest, when they are not those of the booking. */
  arrivo: date(),
  partenza: date()
}, (t) => [
  unique('ospiti_prenotazione_indice').on(t.prenotazione_id, t.indice),
  check('ospiti_data_del_calendario', sql`${t.data_nascita} ~ '^[0-9]{4}-(00-00|(?!00)[0-9]{2}-[0-9]{2})$'
    and replace(${t.data_nascita}, '-00', '-01')::date between ${FIRST_DAY} and ${LAST_DAY}`),
  check('ospiti_partenza_dopo_arrivo', sql`${t.partenza} > ${t.arrivo}`),
  check('ospiti_giorni_del_calendario', sql`coalesce(${t.arrivo}, ${FIRST_DAY}) between ${FIRST_DAY} and ${LAST_DAY}
    and coalesce(${t.partenza}, ${FIRST_DAY}) between ${FIRST_DAY} and ${LAST_DAY}`)
])
