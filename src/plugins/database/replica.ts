import type { FastifyBaseLogger } from 'fastify'
import type postgres from 'postgres'
import { connect } from './connect.ts'
import { logPositions } from './log-positions.ts'
import { createSockets, type Sockets } from './sockets.ts'

const ASK_EVERY_MS = 500
/** How long an answer may take, and how old at most what a replica shows may be. */
export const OLD_AFTER_MS = 3000

/** Where a server stands in the log of its changes. */
interface Standing {
  /** Bytes since the log began: of the primary what is written, of a replica what is replayed. */
  position: number
  /** Grows when a standby is promoted. */
  timeline: number
  /** The cluster and the database. */
  name: string
  isStandby: boolean
}

export interface Replica {
  /**
   * The instant of this process's monotonic clock whose committed changes the replica surely has; minus infinity while
   * that is not known, or is too long ago.
   */
  freshAsOf (): number
  /** It has just failed a statement: it is used again when it has answered. */
  distrust (): void
  stop (): Promise<void>
}

/** What is asked for at the primary. The number of the file of the log begins with the timeline. */
export function primaryStanding (sql: postgres.Sql): Promise<Standing> {
  return one(sql<[Standing]>`
    select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as position,
      ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline,
      system_identifier || '/' || current_database() as name, false as "isStandby"
    from pg_control_system()`)
}

/** A server that is no standby has no position: nothing is replayed there. */
export function replicaStanding (sql: postgres.Sql): Promise<Standing> {
  return one(sql<[Standing]>`
    select coalesce((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::float8, 0) as position,
      greatest(c.timeline_id, r.min_recovery_end_timeline) as timeline,
      system_identifier || '/' || current_database() as name, pg_is_in_recovery() as "isStandby"
    from pg_control_system(), pg_control_checkpoint() c, pg_control_recovery() r`)
}

async function one<T> (rows: Promise<readonly T[]>): Promise<T> {
  return (await rows)[0]!
}

/**
 * Why a server is no replica of a primary, Italian; undefined: it is one. A standby that still follows the timeline of
 * a primary before may have changes that the present one has lost.
 */
export function strangeness (primary: Standing, replica: Standing): string | undefined {
  if (replica.name !== primary.name) return 'non è una replica di questo database'
  if (!replica.isStandby) return 'non è (più) una replica: accetta scritture'
  return replica.timeline === primary.timeline ? undefined : 'segue ancora il primario di prima'
}

/**
 * Follows a replica: twice a second the primary says what it has written, and the replica what it has replayed. So it
 * is known without a question per request, and by one clock alone, how old what the replica shows is.
 * @param primary a connection for these questions
 * @param sockets of the pools of the replica: one that does not answer is cut off
 */
export function followReplica (
  primary: postgres.Sql, url: string, sockets: Sockets, log: FastifyBaseLogger
): Replica {
  const own = createSockets()
  const { sql, close } = connect(url, 1, {}, own)
  const written = logPositions(OLD_AFTER_MS)
  let timeline = 0
  let fresh = -Infinity
  let askedAt: number | undefined
  let wasFresh: boolean | undefined

  async function ask (at: number): Promise<void> {
    const here = await primaryStanding(primary)
    if (here.timeline !== timeline) distrust()
    timeline = here.timeline
    written.note(at, here.position)
    const there = await replicaStanding(sql)
    if (sockets.areCut) sockets.mend()
    if (strangeness(here, there) !== undefined) return distrust()
    fresh = written.reachedBy(there.position) ?? fresh
  }

  function distrust (): void {
    fresh = -Infinity
    written.forget()
  }

  function freshAsOf (): number {
    return performance.now() - fresh < OLD_AFTER_MS ? fresh : -Infinity
  }

  function tell (): void {
    const isFresh = freshAsOf() > -Infinity
    if (isFresh === wasFresh) return
    if (isFresh) log.info('the replica is fresh: lists are read there')
    else if (wasFresh !== undefined) log.warn('the replica is not fresh, or does not answer: the primary is read')
    wasFresh = isFresh
  }

  const timer = setInterval(() => {
    tell()
    const now = performance.now()
    if (askedAt === undefined) {
      askedAt = now
      // A server that is away says so by itself, and is asked again.
      ask(now).catch(distrust).finally(() => { askedAt = undefined })
    } else if (now - askedAt > OLD_AFTER_MS) {
      // The next question goes over a new connection, and what waits for an answer is read at the primary.
      sockets.cut()
      own.cut()
      own.mend()
    }
  }, ASK_EVERY_MS).unref()

  return {
    freshAsOf,
    distrust,
    async stop () {
      clearInterval(timer)
      own.cut()
      await close()
    }
  }
}
