import { setTimeout as wait } from 'node:timers/promises'
import { asc, inArray } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { mails } from '#drizzle/tables/mail.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'

/** The delivery status of a mail. At the end of the delivery the recipient is erased. */
export type DeliveryStatus = Pick<
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

/** Poll interval in milliseconds. Polling is needed because another process may deliver the mail. */
const POLL_MS = 200

/** Reads the status of mails, ordered by id. Deleted mails are left out. */
export async function readDeliveryStatuses (db: Executor, ids: readonly number[]): Promise<DeliveryStatus[]> {
  return await db.select(columns).from(mails).where(inArray(mails.id, [...ids])).orderBy(asc(mails.id))
}

/**
 * Returns the status of mails after each was tried, or after `ms` milliseconds, even with a slow database. It never
 * fails, because the mails are already queued. Mails whose status could not be read are left out.
 */
export async function awaitDelivery (
  db: Database,
  log: Pick<FastifyBaseLogger, 'warn'>,
  ids: readonly number[],
  ms: number
): Promise<DeliveryStatus[]> {
  const end = new AbortController()
  let known: DeliveryStatus[] = []
  async function poll (): Promise<void> {
    while (!end.signal.aborted) {
      try {
        known = await readDeliveryStatuses(db, ids)
        if (known.every(wasTried)) return
      } catch (err) {
        log.warn({ err }, 'the status of mails could not be read')
      }
      await wait(POLL_MS, undefined, { signal: end.signal }).catch(() => {})
    }
  }
  await waitAtMost(ms, poll())
  end.abort()
  return known
}

/** A failed attempt counts, because the next one follows about a minute later. */
function wasTried ({ stato, last_error }: DeliveryStatus): boolean {
  return stato !== 'in_coda' || last_error !== null
}
