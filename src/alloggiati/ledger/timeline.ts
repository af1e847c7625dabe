import { sql } from 'drizzle-orm'
import { registro_server as servers } from '#drizzle/tables/ledger.ts'
import type { Executor } from '#src/database/connect.ts'
import { isTransient } from '#src/database/problems.ts'

/**
 * Detects that the ledger is on a promoted standby. The standby may lack the last commits of its primary, and a hash
 * chain cannot detect the loss of its last links. PostgreSQL increments the timeline at every promotion. The ledger
 * stores the timeline in the database, so that every process detects a promotion, even with an empty `DATA_DIR`.
 */
export interface Timeline {
  isPromoted (db: Executor): Promise<boolean>
  /** Stores the current PostgreSQL server as the server of the ledger. */
  recordServer (db: Executor): Promise<void>
}

/** System identifier and timeline of the current server. The name of its WAL file begins with the timeline. */
const PRESENT = sql`(select system_identifier::text as sistema,
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline from pg_control_system())`

/** A hosted database may hide its timeline. Then no promotion is detected. */
export function serverTimeline (): Timeline {
  let isReadable: boolean | undefined

  return {
    async isPromoted (db) {
      isReadable ??= await canReadTimeline(db)
      if (!isReadable) return false
      const [found] = await db.select({
        promoted: sql<boolean>`exists (select from ${PRESENT} p
          where p.sistema = registro_server.sistema and p.timeline > registro_server.timeline)`
      }).from(servers).prepare('server_timeline').execute()
      return found?.promoted ?? false
    },

    async recordServer (db) {
      isReadable ??= await canReadTimeline(db)
      if (!isReadable) return
      await db.execute(sql`
        insert into registro_server as r (sistema, timeline) select p.sistema, p.timeline from ${PRESENT} p
        on conflict (unica) do update set sistema = excluded.sistema, timeline = excluded.timeline
        where (r.sistema, r.timeline) is distinct from (excluded.sistema, excluded.timeline)`)
    }
  }
}

async function canReadTimeline (db: Executor): Promise<boolean> {
  try {
    await db.execute(sql`select timeline from ${PRESENT} p`)
    return true
  } catch (err) {
    if (isTransient(err)) throw err
    return false
  }
}
