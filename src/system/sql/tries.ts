import { sql } from 'drizzle-orm'
import { network } from '#src/lib/addresses.ts'
import { auditPage } from '#src/plugins/audit/list.ts'
import type { Audit, Author } from '#src/plugins/audit/log.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'

const MINUTE_MS = 60_000
/** Wrong passwords: of one caller or address, and of all. */
const OWN = { tries: 5, withinMs: 15 * MINUTE_MS }
const ALL = { tries: 20, withinMs: 60 * MINUTE_MS }
/** Entries of the log that are looked at. */
const ENTRIES = 1000

const WRONG_PASSWORD = 'password_errata'

/** A wrong password in the audit log: when, whose, from where. */
interface WrongTry { at: number, actor: string, ip: string | null }

/**
 * Judges one try of the password, and writes a wrong one down. The audit log is the counter: all processes share it,
 * and a restart does not empty it. Under its lock no two tries are judged at once.
 * @returns the seconds to wait after too many wrong ones, however right this one is; 0: it counts
 */
export function judgeTry (db: Database, audit: Audit, author: Author, isRight: boolean): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.auditChain})`)
    const now = Date.now()
    const da = new Date(now - ALL.withinMs).toISOString()
    const { data } = await auditPage(tx, { action: 'sql', da }, ENTRIES)
    const wrong = data.filter(({ details }) => 'esito' in details && details.esito === WRONG_PASSWORD)
      .map(({ at, actor, ip }) => ({ at: Date.parse(at), actor, ip }))
    const seconds = secondsToWait(wrong, author, now)
    if (seconds === 0 && !isRight) {
      await audit.append(tx, { ...author, action: 'sql', details: { esito: WRONG_PASSWORD } })
    }
    return seconds
  })
}

/** Seconds until the next try; 0: now. The tries come with the newest first. */
function secondsToWait (wrong: readonly WrongTry[], { actor, ip }: Author, now: number): number {
  const own = wrong.filter((tried) => tried.actor === actor || (tried.ip !== null && network(tried.ip) === network(ip)))
  const ends = ([[own, OWN], [wrong, ALL]] as const).map(([tries, limit]) => {
    const counted = tries.filter(({ at }) => at > now - limit.withinMs)
    const decisive = counted[limit.tries - 1]
    return decisive === undefined ? now : decisive.at + limit.withinMs
  })
  return Math.ceil((Math.max(...ends) - now) / 1000)
}
