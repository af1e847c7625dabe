import type { FastifyInstance } from 'fastify'
import { UnitaOccupata } from '../errors.ts'
import { postgresError } from '#src/database/problems.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { italianDay, type Day } from '#src/lib/time.ts'

/* SQLSTATEs that the function `occupa` and the foreign key raise. */
const OCCUPIED = 'LC010'
const NOT_IN_USE = 'LC011'
const FOREIGN_KEY = '23503'
/** The SQLSTATE of the exclusion constraint, which only a manual write to `occupazione` violates. */
const EXCLUSION = '23P01'

interface OccupiedBy { dal: Day, al: Day, prenotazione_id: number | null }

/**
 * Runs a write that may occupy a unit.
 * @throws UnitaOccupata naming the other booking or block
 * @throws CampiNonValidi when the unit does not exist, or is not in use on these days
 */
export async function occupying<T> (write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (err) {
    throw occupancyError(err) ?? err
  }
}

function occupancyError (err: unknown): Error | undefined {
  const { code, detail, constraint_name: constraint = '' } = postgresError(err) ?? {}
  if (code === OCCUPIED) {
    const { dal, al, prenotazione_id: booking } = JSON.parse(detail!) as OccupiedBy
    const by = booking === null ? 'da un blocco' : `dalla prenotazione ${booking}`
    return new UnitaOccupata(italianDay(dal), italianDay(al), by)
  }
  if (code === EXCLUSION) return new UnitaOccupata('…', '…', 'da un’altra prenotazione')
  if (code === NOT_IN_USE) {
    const { attiva_da: from, attiva_a: to } = JSON.parse(detail!) as { attiva_da: Day | null, attiva_a: Day | null }
    const bounds = [from && `dal ${italianDay(from)}`, to && `fino al ${italianDay(to)}`].filter(Boolean).join(' ')
    return new CampiNonValidi({ campo: 'unita_id', messaggio: `è in uso soltanto ${bounds}` })
  }
  if (code === FOREIGN_KEY && constraint.includes('unita_id')) {
    return new CampiNonValidi({ campo: 'unita_id', messaggio: 'non esiste: l’elenco è in /api/v1/unita' })
  }
  return undefined
}

/**
 * Adds the constraint against overlaps if it is missing. It needs the extension `btree_gist`, which an administrator
 * must add if the server's role may not. Without it the trigger's advisory lock on each unit prevents overlaps.
 */
export async function ensureNoOverlap ({ sql, log }: Pick<FastifyInstance, 'sql' | 'log'>): Promise<void> {
  const [row] = await sql<[{ made: boolean }]>`select occupazione_vincolo() as made`
  if (!row.made) log.warn('locks prevent double bookings, because the extension btree_gist is not available')
}
