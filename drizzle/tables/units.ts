import { sql } from 'drizzle-orm'
import { check, date, index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { UNIT_KINDS } from '#schemas/unit.ts'
import { struttura } from './establishments.ts'

const quoted = UNIT_KINDS.map((kind) => `'${kind}'`).join(', ')

/** A host lets units: rooms, flats, beds or pitches. */
export const unita = pgTable('unita', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  struttura_id: integer().notNull().default(1).references(() => struttura.id),
  nome: text().notNull().unique('unita_nome'),
  tipo: text({ enum: UNIT_KINDS }).notNull(),
  camere: integer().notNull().default(1),
  posti_letto: integer().notNull(),
  ospiti_massimi: integer().notNull(),
  /** The apartment's id in the police account, for accounts of the category "Gestione Appartamenti". */
  id_appartamento: integer(),
  cin: text(),
  /** A label for filters, e.g. a floor or a house. */
  gruppo: text(),
  /** Position in lists. Units with the same number are sorted by name. */
  ordine: integer().notNull().default(0),
  /** First and last day of use, both included. */
  attiva_da: date(),
  attiva_a: date()
}, (t) => [
  check('unita_tipo', sql`${t.tipo} in (${sql.raw(quoted)})`),
  check('unita_attiva', sql`${t.attiva_a} >= ${t.attiva_da}`),
  index('unita_ordine').on(t.ordine, t.nome),
  index('unita_struttura').on(t.struttura_id)
])
