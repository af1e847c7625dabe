import { sql } from 'drizzle-orm'
import { check, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { ESTABLISHMENT_KINDS } from '#schemas/establishment-record.ts'
import { bytea, instantDate } from './columns.ts'

const quoted = ESTABLISHMENT_KINDS.map((kind) => `'${kind}'`).join(', ')

/** The establishments of the installation, with their texts for letters. The first one, 1, always exists. */
export const struttura = pgTable('struttura', {
  id: integer().primaryKey().generatedByDefaultAsIdentity({ startWith: 2 }),
  nome: text(),
  tipo: text({ enum: ESTABLISHMENT_KINDS }),
  /** The ISTAT code, six digits. */
  comune: text(),
  codice_regionale: text(),
  fuso_orario: text().notNull().default('Europe/Rome'),
  regola_imposta: jsonb().$type<Record<string, never>>().notNull().default({}),
  statistica: jsonb().$type<Record<string, never>>().notNull().default({}),
  motto: text(),
  indirizzo: text(),
  luogo: text(),
  telefono: text(),
  email: text(),
  cin: text(),
  firma: text(),
  /** `#rrggbb`. */
  colore: text(),
  wifi_rete: text(),
  /** Encrypted. */
  wifi_password: bytea(),
  /** `HH:MM`. */
  ora_check_in: text(),
  ora_check_out: text(),
  colazione: text(),
  regole: text(),
  /** Texts by language, in place of those above. */
  testi: jsonb().$type<Record<string, Record<string, string>>>(),
  /** Grows with every change, also of the logo. 0 until the first change. */
  versione: integer().notNull().default(0),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [check('struttura_tipo', sql`${t.tipo} in (${sql.raw(quoted)})`)])
