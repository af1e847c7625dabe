import { sql } from 'drizzle-orm'
import { registro_server as servers } from '#drizzle/tables/ledger.ts'
import type { Executor } from '#src/database/connect.ts'
import { mayPass } from '#src/database/problems.ts'

/**
 * The server that the ledger was last found on. A standby that is promoted lacks what its primary has committed and not
 * yet handed on, and no chain can see the loss of its own end. PostgreSQL counts a timeline more with every promotion:
 * the ledger notes it in its database, so that every process, also one with an empty folder of data, finds it out.
 */
export interface Timeline {
  isPromoted (db: Executor): Promise<boolean>
  /** Notes the server that answers as the one that the ledger is on. */
  note (db: Executor): Promise<void>
}

/** The server that answers; the name of the present file of its log begins with the timeline. */
const PRESENT = sql`(select system_identifier::text as sistema,
  ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int as timeline from pg_control_system())`

/** A database that keeps its timeline to itself, as a hosted one may, is never found to be promoted. */
export function serverTimeline (): Timeline {
  let tells: boolean | undefined

  return {
    async isPromoted (db) {
      tells ??= await tellsTimeline(db)
      if (!tells) return false
      const [found] = await db.select({
        promoted: sql<boolean>`exists (select from ${PRESENT} p
          where p.sistema = registro_server.sistema and p.timeline > registro_server.timeline)`
      }).from(servers).prepare('server_timeline').execute()
      return found?.promoted ?? false
    },

    async note (db) {
      tells ??= await tellsTimeline(db)
      if (!tells) return
      await db.execute(sql`
        insert into registro_server as r (sistema, timeline) select p.sistema, p.timeline from ${PRESENT} p
        on conflict (unica) do update set sistema = excluded.sistema, timeline = excluded.timeline
        where (r.sistema, r.timeline) is distinct from (excluded.sistema, excluded.timeline)`)
    }
  }
}

async function tellsTimeline (db: Executor): Promise<boolean> {
  try {
    await db.execute(sql`select timeline from ${PRESENT} p`)
    return true
  } catch (err) {
    if (mayPass(err)) throw err
    return false
  }
}
