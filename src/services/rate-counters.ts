import { and, eq, gt, gte, lte, sql } from 'drizzle-orm'
import fp from 'fastify-plugin'
import { counters as t } from '#drizzle/tables/counters.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'

/** At most `max` attempts per window. The window starts with the first attempt. */
export interface Limit { name: string, max: number, windowMs: number }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Counts an attempt in one statement. At most `max` concurrent attempts are allowed.
     * @param subject identifies attempts that are counted together. Only its fingerprint is stored
     * @param by 0 for a correct attempt, which does not count, but is refused after too many wrong ones
     * @param executor in a transaction, the attempt counts after the commit, and later ones wait for the commit
     * @returns seconds until the window ends after too many attempts, or 0 if this attempt is allowed
     */
    countAttempt (limit: Limit, subject: readonly string[], by?: 0 | 1, executor?: Executor): Promise<number>
    /**
     * Checks the limit before an attempt. It does not write, and does not wait for concurrent attempts.
     * @returns seconds until the window ends if no attempt is left, or 0
     */
    checkAttempts (limit: Limit, subject: readonly string[]): Promise<number>
  }
}

/**
 * Counts attempts at guessable secrets, and mails. The counters are in the database, so that all processes share them,
 * restarts keep them, and other callers' attempts never evict them.
 */
export default fp<{ keys: Keys }>(async function counters (app, { keys }) {
  const { db } = app
  const seconds = sql<number>`ceil(extract(epoch from ${t.ends_at} - now()))::int`
  const fingerprint = (name: string, subject: readonly string[]) => keys.fingerprint('counters', name, ...subject)

  app.decorate('countAttempt', async function countAttempt ({ name, max, windowMs }, subject, by = 1, executor = db) {
    // The first counted attempt starts the window. A row with count 0 belongs to an attempt that does not count.
    const begins = sql`(${t.ends_at} <= now() or (${t.count} = 0 and ${by}::int > 0))`
    const [row] = await executor
      .insert(t)
      .values({
        name,
        subject: fingerprint(name, subject),
        count: by,
        ends_at: sql`now() + make_interval(secs => ${windowMs / 1000})`
      })
      .onConflictDoUpdate({
        target: [t.name, t.subject],
        set: {
          count: sql`case when ${begins} then ${by}::int else least(${t.count} + ${by}::int, ${max + 1}::int) end`,
          ends_at: sql`case when ${begins} then excluded.ends_at else ${t.ends_at} end`
        }
      })
      .returning({ count: t.count, seconds })
    const { count, seconds: left } = row!
    // If the window began after this transaction, `now()` is older, and the remaining time would exceed a window.
    return count - by < max ? 0 : Math.min(Math.max(1, left), Math.ceil(windowMs / 1000))
  })

  app.decorate('checkAttempts', async function checkAttempts ({ name, max }, subject) {
    const [row] = await db.select({ seconds }).from(t).where(and(
      eq(t.name, name), eq(t.subject, fingerprint(name, subject)), gte(t.count, max), gt(t.ends_at, sql`now()`)
    ))
    return row === undefined ? 0 : Math.max(1, row.seconds)
  })

  app.addJob({
    name: 'old-counters',
    description: 'Elimina i conteggi finiti dei tentativi e delle e-mail',
    cron: '*/10 * * * *',
    async run () {
      await deleteInBatches(db, t, lte(t.ends_at, sql`now()`))
    }
  })
}, { name: 'rate-counters', dependencies: ['database', 'jobs'] })
