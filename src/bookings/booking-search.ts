import type { FastifyInstance } from 'fastify'
import { limitTurns } from '#src/lib/turns.ts'
import { postgresError } from '#src/database/problems.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { RicercaTroppoLunga } from './errors.ts'

/** Searches that run at a time; further ones wait. A search that finds nothing can read every booking. */
const CONNECTIONS = 2
/** Searches that run or wait, of all callers and of one. */
const TURNS = { total: 24, perCaller: 12 }

const SETTINGS = {
  statement_timeout: '2000',
  // How rare a text is decides between the index of the search and the order of the list.
  plan_cache_mode: 'force_custom_plan',
  max_parallel_workers_per_gather: '0'
}

const QUERY_CANCELED = '57014'

/** The search in name, code and e-mail, apart from all other work: what is asked for decides how long it takes. */
export function createSearch (app: FastifyInstance) {
  const { db } = app.openPool(CONNECTIONS, SETTINGS)
  const takeTurn = limitTurns(TURNS)

  /** A caller's search that is answered in pieces: one turn until the last of them. It fails as `run` does. */
  function pieces (caller: string, pieces: JsonPieces): JsonPieces {
    return async function * searched (takeLongTurn) {
      const giveBack = takeTurn(caller)
      try {
        yield * pieces(takeLongTurn)
      } catch (err) {
        throw failure(err)
      } finally {
        giveBack()
      }
    }
  }

  /**
   * One search of a caller's.
   * @throws ServizioOccupato when too many search; RicercaTroppoLunga
   */
  async function run<T> (caller: string, work: () => Promise<T>): Promise<T> {
    const giveBack = takeTurn(caller)
    try {
      return await work()
    } catch (err) {
      throw failure(err)
    } finally {
      giveBack()
    }
  }

  // The pool is for statements that search, with a short time limit for each.
  return { db, run, pieces }
}

function failure (err: unknown): unknown {
  return isTooLong(err) ? new RicercaTroppoLunga() : err
}

/** Whether a statement came to the end of its time. */
export function isTooLong (err: unknown): boolean {
  return postgresError(err)?.code === QUERY_CANCELED
}

/**
 * Makes the index of the search if it is not there: where the database does not let this role have the extension
 * `pg_trgm` (migration `rules`), an administrator may have added it since. Without it the search reads every booking.
 */
export async function ensureSearchIndex ({ sql, log }: Pick<FastifyInstance, 'sql' | 'log'>): Promise<void> {
  const [{ made }] = await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    return await tx<[{ made: boolean }]>`select prenotazioni_indice_ricerca() as made`
  })
  if (!made) log.warn('searching bookings is slow: the extension pg_trgm is not available in the database')
}
