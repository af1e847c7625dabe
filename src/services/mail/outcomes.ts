import { setTimeout as wait } from 'node:timers/promises'
import { asc, inArray } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { mails } from '#drizzle/tables/mail.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { within } from '#src/lib/within.ts'

/** What became of a mail so far; who it is for is not known any more once it is over. */
export type Outcome = Pick<
  typeof mails.$inferSelect,
  'id' | 'message_id' | 'stato' | 'reply' | 'last_error' | 'attempts' | 'next_attempt_at' | 'created_at' | 'sent_at'
>

const columns = {
  id: mails.id,
  message_id: mails.message_id,
  stato: mails.stato,
  reply: mails.reply,
  last_error: mails.last_error,
  attempts: mails.attempts,
  next_attempt_at: mails.next_attempt_at,
  created_at: mails.created_at,
  sent_at: mails.sent_at
}

/** Milliseconds. The worker of any process may have the mail, so that the rows are asked. */
const POLL_MS = 200

/** The mails of these ids, in the order of their ids; those that there are no more are left out. */
export async function readOutcomes (db: Executor, ids: readonly number[]): Promise<Outcome[]> {
  return await db.select(columns).from(mails).where(inArray(mails.id, [...ids])).orderBy(asc(mails.id))
}

/**
 * What is known of mails once each was tried, or after so many milliseconds, however slow the database is. It never
 * fails: the mails are on their way, and what could not be read is left out.
 */
export async function awaitOutcomes (
  db: Database,
  log: Pick<FastifyBaseLogger, 'warn'>,
  ids: readonly number[],
  ms: number
): Promise<Outcome[]> {
  const end = new AbortController()
  let known: Outcome[] = []
  async function poll (): Promise<void> {
    while (!end.signal.aborted) {
      try {
        known = await readOutcomes(db, ids)
        if (known.every(wasTried)) return
      } catch (err) {
        log.warn({ err }, 'the outcome of mails could not be read')
      }
      await wait(POLL_MS, undefined, { signal: end.signal }).catch(() => {})
    }
  }
  await within(ms, poll())
  end.abort()
  return known
}

/** A mail that waits for its next attempt will not have it for a minute. */
function wasTried ({ stato, last_error }: Outcome): boolean {
  return stato !== 'in_coda' || last_error !== null
}
