import { and, eq, gt, gte, lte, sql } from 'drizzle-orm'
import fp from 'fastify-plugin'
import { counters as t } from '#drizzle/tables/counters.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { deleteInBatches } from '#src/database/delete-in-batches.ts'

/** So many tries in a window, which begins with its first one. */
export interface Limit { name: string, max: number, windowMs: number }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Counts a try, in one statement: of many at once no more than `max` count.
     * @param subject whose try it is, among those of this limit; only its fingerprint is kept
     * @param by 0: one that is right does not count, and yet is refused when too many wrong ones came before
     * @param executor a transaction: the try counts only if that is committed. Tries of one subject wait for it
     * meanwhile
     * @returns the seconds until the window ends, when there were too many before; 0: the try may go on
     */
    countTry (limit: Limit, subject: readonly string[], by?: 0 | 1, executor?: Executor): Promise<number>
    /**
     * The same of a try that is not made yet. Nothing is written, and no try that is under way is waited for.
     * @returns the seconds until the window ends, when no further try counts; 0: one may be made
     */
    lookAtTries (limit: Limit, subject: readonly string[]): Promise<number>
  }
}

/**
 * Counts the tries of what can be guessed, and mails. In the database: all processes share the counters, no restart
 * empties them, and tries from elsewhere push none out.
 */
export default fp<{ keys: Keys }>(async function counters (app, { keys }) {
  const { db } = app
  const seconds = sql<number>`ceil(extract(epoch from ${t.ends_at} - now()))::int`
  const fingerprint = (name: string, subject: readonly string[]) => keys.fingerprint('counters', name, ...subject)

  app.decorate('countTry', async function countTry ({ name, max, windowMs }, subject, by = 1, executor = db) {
    // The first try that counts begins the window. A row with count 0 is of a try that did not count.
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
    // A window that began after this transaction has not more than all of it left.
    return count - by < max ? 0 : Math.min(Math.max(1, left), Math.ceil(windowMs / 1000))
  })

  app.decorate('lookAtTries', async function lookAtTries ({ name, max }, subject) {
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
}, { name: 'counters', dependencies: ['database', 'jobs'] })
