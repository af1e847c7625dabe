import { sql } from 'drizzle-orm'
import { check, date, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { BLOCK_REASONS } from '#schemas/unit.ts'
import { prenotazioni } from './bookings.ts'
import { unita } from './units.ts'

/** Nights on which a unit is not let, from `dal` to the day before `al`. */
export const blocchi = pgTable('blocchi', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  unita_id: integer().notNull().references(() => unita.id, { onDelete: 'cascade' }),
  dal: date().notNull(),
  al: date().notNull(),
  motivo: text({ enum: BLOCK_REASONS }).notNull(),
  note: text()
}, (t) => [
  check('blocchi_al_dopo_dal', sql`${t.al} > ${t.dal}`),
  check('blocchi_motivo', sql`${t.motivo} in (${sql.raw(BLOCK_REASONS.map((reason) => `'${reason}'`).join(', '))})`)
])

/**
 * The nights that a confirmed booking or a block occupies in a unit, from `dal` to the day before `al`. Triggers write
 * this table. The migration adds the constraint that two rows of a unit do not overlap.
 */
export const occupazione = pgTable('occupazione', {
  unita_id: integer().notNull().references(() => unita.id, { onDelete: 'cascade' }),
  dal: date().notNull(),
  al: date().notNull(),
  prenotazione_id: integer().unique('occupazione_prenotazione').references(() => prenotazioni.id, {
    onDelete: 'cascade'
  }),
  blocco_id: integer().unique('occupazione_blocco').references(() => blocchi.id, { onDelete: 'cascade' })
}, (t) => [
  primaryKey({ columns: [t.unita_id, t.dal] }),
  check('occupazione_una_causa', sql`num_nonnulls(${t.prenotazione_id}, ${t.blocco_id}) = 1`),
  check('occupazione_al_dopo_dal', sql`${t.al} > ${t.dal}`),
  // The calendar reads each unit from a day on, without its past.
  index('occupazione_al').on(t.unita_id, t.al)
])
