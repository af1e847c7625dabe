import { and, eq, sql } from 'drizzle-orm'
import { eventi, eventi_in_arrivo as arriving, webhook_consegne as t } from '#drizzle/tables/events.ts'
import type { EventType } from '#schemas/event.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { WebhookSospeso } from './errors.ts'
import { findWebhook } from './repository.ts'

const TEST: EventType = 'webhook.prova'

/**
 * Writes down an event that is delivered to one webhook alone, in the way of all others.
 * @returns the event's id
 * @throws WebhookNonTrovato, WebhookSospeso
 */
export async function writeTest (tx: Transaction, webhook: number): Promise<string> {
  const { stato } = await findWebhook(tx, webhook)
  if (stato === 'sospeso') throw new WebhookSospeso()
  const [event] = await tx.insert(arriving)
    .values({ transazione: sql`pg_current_xact_id()::text::bigint`, tipo: TEST, oggetto: `webhook:${webhook}` })
    .returning({ id: arriving.id })
  await tx.execute(sql`select evento_sveglia()`)
  return event!.id
}

/** The delivery of an event that has its place; undefined where the webhook was suspended, or deleted, meanwhile. */
export async function deliveryOf (db: Executor, webhook: number, event: string): Promise<number | undefined> {
  const [found] = await db.select({ id: t.id }).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(eq(t.webhook_id, webhook), eq(eventi.id, event)))
  return found?.id
}
