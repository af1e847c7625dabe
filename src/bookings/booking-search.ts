import type { FastifyInstance } from 'fastify'
import { limitConcurrency } from '#src/lib/concurrency-limit.ts'
import { postgresError } from '#src/database/problems.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { RicercaTroppoLunga } from './errors.ts'

/** Searches that run concurrently; further ones wait. A search without a match can read every booking. */
const CONNECTIONS = 2
/** Searches that run or wait: in total, and per caller. */
const CONCURRENCY = { total: 24, perCaller: 12 }

const SETTINGS = {
  statement_timeout: '2000',
  // A plan per query: how rare a text is decides between the search index and the list's order.
  plan_cache_mode: 'force_custom_plan',
  max_parallel_workers_per_gather: '0'
}

const QUERY_CANCELED = '57014'

/** Searches in bookings and guests, in a pool of their own because their duration depends on the text. */
export function createSearch (app: FastifyInstance) {
  const { db } = app.openPool(CONNECTIONS, SETTINGS)
  const acquireSlot = limitConcurrency(CONCURRENCY)

  /** A caller's search that is answered in pieces. It keeps its turn until the last piece, and fails as `run` does. */
  function pieces (caller: string, pieces: JsonPieces): JsonPieces {
    return async function * searched (takeLongTurn) {
      const giveBack = acquireSlot(caller)
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
   * Runs one search for a caller.
   * @throws ServizioOccupato when too many searches run or wait; RicercaTroppoLunga
   */
  async function run<T> (caller: string, work: () => Promise<T>): Promise<T> {
    const giveBack = acquireSlot(caller)
    try {
      return await work()
    } catch (err) {
      throw failure(err)
    } finally {
      giveBack()
    }
  }

  // The pool is for search statements, each with a short statement timeout.
  return { db, run, pieces }
}

function failure (err: unknown): unknown {
  return isTooLong(err) ? new RicercaTroppoLunga() : err
}

/** Whether a statement was cancelled by the statement timeout. */
export function isTooLong (err: unknown): boolean {
  return postgresError(err)?.code === QUERY_CANCELED
}

/**
 * Creates the search indexes if they are missing. When this role may not create the extension `pg_trgm` (migration
 * `search`), an administrator may have added it since. Without the indexes a search reads every booking.
 */
export async function ensureSearchIndex ({ sql, log }: Pick<FastifyInstance, 'sql' | 'log'>): Promise<void> {
  const [{ made }] = await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    return await tx<[{ made: boolean }]>`select prenotazioni_indice_ricerca() as made`
  })
  if (!made) log.warn('searching bookings is slow: the extension pg_trgm is not available in the database')
}
