import type { FastifyInstance } from 'fastify'
import { limitConcurrency } from '#src/lib/concurrency-limit.ts'
import { postgresError } from '#src/database/problems.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { RicercaTroppoLunga } from './errors.ts'

/** Connections of the pool, and so maximum statements at once. A search without a match can read every booking. */
const CONNECTIONS = 2
/** Maximum searches that run or wait for a connection, in total and per caller. */
const CONCURRENCY = { total: 24, perCaller: 12 }

const SETTINGS = {
  statement_timeout: '2000',
  // Plan each query for its text.
  plan_cache_mode: 'force_custom_plan',
  // The planner estimates texts badly. Compiling a plan, or reading every booking, takes longer than the search index.
  jit: 'off',
  enable_seqscan: 'off',
  max_parallel_workers_per_gather: '0'
}

const QUERY_CANCELED = '57014'

export type Search = ReturnType<typeof createSearch>

/** Searches in bookings and guests. It has its own pool, because the duration of a search depends on the text. */
export function createSearch (app: FastifyInstance) {
  const { db } = app.openPool(CONNECTIONS, SETTINGS)
  const acquireSlot = limitConcurrency(CONCURRENCY)

  /** The JSON pieces of a caller's search. The search keeps its slot until the last piece, and fails as `run` does. */
  function pieces (caller: string, pieces: JsonPieces): JsonPieces {
    return async function * searched (acquireStreamSlot) {
      const giveBack = await acquireSlot(caller)
      try {
        return yield * pieces(acquireStreamSlot)
      } catch (err) {
        throw failure(err)
      } finally {
        giveBack()
      }
    }
  }

  /**
   * Runs one search for a caller.
   * @throws ServizioOccupato when no slot is free in time
   * @throws RicercaTroppoLunga when the search exceeds the statement timeout
   */
  async function run<T> (caller: string, work: () => Promise<T>): Promise<T> {
    const giveBack = await acquireSlot(caller)
    try {
      return await work()
    } catch (err) {
      throw failure(err)
    } finally {
      giveBack()
    }
  }

  // Use the pool only for searches, because each of its statements has a short timeout.
  return { db, run, pieces }
}

function failure (err: unknown): unknown {
  return isTooLong(err) ? new RicercaTroppoLunga() : err
}

/** Whether the statement timeout cancelled a statement. */
export function isTooLong (err: unknown): boolean {
  return postgresError(err)?.code === QUERY_CANCELED
}

/**
 * Creates the search indexes if they are missing. The migration `search` omits them without the extension `pg_trgm`.
 * An administrator may have added it since. Without the indexes a search reads every booking.
 */
export async function ensureSearchIndex ({ sql, log }: Pick<FastifyInstance, 'sql' | 'log'>): Promise<void> {
  const [{ made }] = await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    return await tx<[{ made: boolean }]>`select prenotazioni_indice_ricerca() as made`
  })
  if (!made) log.warn('searching bookings is slow: the extension pg_trgm is not available in the database')
}
