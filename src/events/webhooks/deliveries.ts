import { and, count, desc, eq, lt, sql, type SQL } from 'drizzle-orm'
import { eventi, webhook_consegne as t, webhook_tentativi as attempts, webhooks } from '#drizzle/tables/events.ts'
import type { Delivery } from '#schemas/webhook.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { ConsegnaNonTrovata, WebhookSospeso } from '../errors.ts'

/** The only order of the list: the newest first. */
const SORT = '-id'
/** Attempts that are shown of a delivery. */
const ATTEMPTS = 20

const columns = {
  id: t.id,
  evento: eventi.id,
  tipo: eventi.tipo,
  oggetto: t.oggetto,
  stato: t.stato,
  prossimo_tentativo: sql<string | null>`case when ${t.stato} = 'in_coda' then ${isoInstant(t.prossimo_tentativo)} end`,
  creata_il: isoInstant(t.creata_il),
  consegnata_il: isoInstant(t.consegnata_il),
  numero_tentativi: t.tentativi,
  tentativi: sql<Delivery['tentativi']>`(
    select coalesce(json_agg(json_build_object(
      'quando', ${isoInstant(sql`a.quando`)}, 'durata_ms', a.durata_ms, 'stato_http', a.stato_http, 'errore', a.errore
    ) order by a.id desc), '[]')
    from (select * from ${attempts} where consegna_id = ${t.id} order by id desc limit ${ATTEMPTS}) a
  )`
}

/** A page of a webhook's deliveries, the newest first. */
export async function deliveryPage (
  db: Executor, webhook: number, { stato }: { stato?: Delivery['stato'] | undefined }, limit: number, cursor?: string
): Promise<{ data: Delivery[], next: Position | undefined }> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  const found = await db.select(columns).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(...of(webhook, stato), after && lt(t.id, after.id))).orderBy(desc(t.id)).limit(limit + 1)
  const last = found.length > limit ? found[limit - 1] : undefined
  return { data: found.slice(0, limit), next: last && { sort: SORT, value: String(last.id), id: last.id } }
}

export function countDeliveries (db: Executor, webhook: number, stato?: Delivery['stato']): Promise<number> {
  return db.$count(t, and(...of(webhook, stato)))
}

/**
 * Has a delivery made once more, in any of its states, before those that wait. One that was made or given up is outside
 * the order of its object. One that waits keeps that order: it comes after the earlier deliveries of its object.
 * @throws ConsegnaNonTrovata, WebhookSospeso
 */
export async function repeatDelivery (tx: Transaction, webhook: number, id: number): Promise<Delivery> {
  // The webhook is locked first, as where attempts are written down.
  const [owner] = await tx.update(webhooks).set(NO_REST).where(eq(webhooks.id, webhook))
    .returning({ stato: webhooks.stato })
  const mine = and(eq(t.id, id), eq(t.webhook_id, webhook))
  const [found] = await tx.select({ stato: t.stato }).from(t).where(mine).for('update')
  if (!owner || !found) throw new ConsegnaNonTrovata()
  if (owner.stato === 'sospeso') throw new WebhookSospeso()
  await tx.update(t).set(found.stato === 'in_coda' ? SOONER : AGAIN).where(mine)
  return await findDelivery(tx, webhook, id)
}

/** Has a delivery that was not tried yet made before others that wait, although its webhook is resting. */
export async function bringForward (tx: Transaction, webhook: number, id: number): Promise<void> {
  // The webhook is locked first, as where attempts are written down.
  await tx.select({ id: webhooks.id }).from(webhooks).where(eq(webhooks.id, webhook)).for('no key update')
  const moved = await tx.update(t).set({ a_mano: true, prossimo_tentativo: FIRST })
    .where(and(eq(t.id, id), eq(t.stato, 'in_coda'), eq(t.tentativi, 0))).returning({ id: t.id })
  if (moved.length > 0) await tx.update(webhooks).set(NO_REST).where(eq(webhooks.id, webhook))
}

/** @throws ConsegnaNonTrovata */
export async function findDelivery (db: Executor, webhook: number, id: number): Promise<Delivery> {
  const [found] = await db.select(columns).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(eq(t.id, id), eq(t.webhook_id, webhook)))
  if (!found) throw new ConsegnaNonTrovata()
  return found
}

/** A delivery by hand ends the rest of its webhook, the one that the receiver has asked for, too. */
const NO_REST = { fermo_fino_al: sql`now()`, chiesto_fino_al: null }

/** Those that wait are taken in the order of their times: before all others of the webhook. */
const FIRST = sql`(select least(now(), min(q.prossimo_tentativo) - interval '1 millisecond')
  from ${t} q where q.webhook_id = ${t}.webhook_id and q.stato = 'in_coda')`
const SOONER = { prossimo_tentativo: sql`case when ${t.presa} then ${t.prossimo_tentativo} else ${FIRST} end` }
const AGAIN = {
  stato: 'in_coda' as const,
  a_mano: true,
  falliti: 0,
  provata_dal: null,
  consegnata_il: null,
  prossimo_tentativo: FIRST
}

/** How many deliveries there are in each state. */
export async function countByState (db: Executor): Promise<Record<Delivery['stato'], number>> {
  const found = await db.select({ stato: t.stato, total: count() }).from(t).groupBy(t.stato)
  const counts = { in_coda: 0, consegnata: 0, abbandonata: 0 }
  for (const { stato, total } of found) counts[stato] = total
  return counts
}

/** Seconds for which the oldest delivery in the queue has waited; 0 when nothing waits. */
export async function queueAge (db: Executor): Promise<number> {
  const [row] = await db.select({
    seconds: sql<number>`coalesce(extract(epoch from now() - min(${t.creata_il})), 0)::float8`
  }).from(t).where(eq(t.stato, 'in_coda'))
  return row!.seconds
}

function of (webhook: number, stato: Delivery['stato'] | undefined): (SQL | undefined)[] {
  return [eq(t.webhook_id, webhook), stato === undefined ? undefined : eq(t.stato, stato)]
}
