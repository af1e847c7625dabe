import { randomBytes } from 'node:crypto'
import { asc, eq, sql } from 'drizzle-orm'
import { webhook_consegne as deliveries, webhooks as t } from '#drizzle/tables/events.ts'
import type { Webhook, WebhookCreation, WebhookSecret } from '#schemas/webhook.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { TroppiWebhook, WebhookNonTrovato } from '../errors.ts'
import { NO_FAILURES } from './delivery-queue.ts'

export const MAX_WEBHOOKS = 20
export const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
/** Until this time deliveries are also signed with the previous secret. */
const PREVIOUS_UNTIL = sql`now() + interval '24 hours'`

const columns = {
  id: t.id,
  url: t.url,
  descrizione: t.descrizione,
  tipi: t.tipi,
  stato: t.stato,
  in_coda: sql<number>`(
    select count(*)::int from ${deliveries} c where c.webhook_id = ${t}.id and c.stato = 'in_coda'
  )`,
  errori_di_fila: t.errori_di_fila,
  fermo_fino_al: sql<string | null>`
    case when ${t.stato} = 'attivo' and ${t.fermo_fino_al} > now() then ${isoInstant(t.fermo_fino_al)} end`,
  sospeso_il: isoInstant(t.sospeso_il),
  creato_il: isoInstant(t.creato_il)
}

export async function listWebhooks (db: Executor): Promise<Webhook[]> {
  return await db.select(columns).from(t).orderBy(asc(t.id))
}

/** @throws WebhookNonTrovato */
export async function findWebhook (db: Executor, id: number): Promise<Webhook> {
  const [found] = await db.select(columns).from(t).where(eq(t.id, id))
  if (!found) throw new WebhookNonTrovato()
  return found
}

/** @throws TroppiWebhook */
export async function createWebhook (
  tx: Transaction, keys: Keys, { url, tipi = [], descrizione }: WebhookCreation
): Promise<Webhook> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.webhooks})`)
  if (await tx.$count(t) >= MAX_WEBHOOKS) throw new TroppiWebhook(MAX_WEBHOOKS)
  const [taken] = await tx.execute<{ id: number }>(sql`select nextval('webhooks_id_seq')::int as id`)
  const { id } = taken!
  await tx.insert(t).values({ id, url, tipi, descrizione, segreto: sealedSecret(keys, id) })
  return await findWebhook(tx, id)
}

/** Deletes a webhook with its deliveries. @throws WebhookNonTrovato */
export async function deleteWebhook (tx: Transaction, id: number): Promise<void> {
  const gone = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
  if (gone.length === 0) throw new WebhookNonTrovato()
}

/**
 * Resumes a webhook, and queues again the deliveries that were abandoned when it was suspended.
 * @throws WebhookNonTrovato
 */
export async function resumeWebhook (tx: Transaction, id: number): Promise<Webhook> {
  const now = sql`now()`
  await tx.update(t)
    .set({ stato: 'attivo', sospeso_il: null, fermo_fino_al: now, chiesto_fino_al: null, ...NO_FAILURES })
    .where(eq(t.id, id))
  await tx.update(deliveries)
    .set({ stato: 'in_coda', a_mano: false, falliti: 0, provata_dal: null, presa: false, prossimo_tentativo: now })
    .where(sql`${deliveries.webhook_id} = ${id} and ${deliveries.stato} = 'abbandonata'`)
  return await findWebhook(tx, id)
}

/** Makes a new secret. The previous one stays valid for a day. @throws WebhookNonTrovato */
export async function rotateSecret (tx: Transaction, keys: Keys, id: number): Promise<Webhook> {
  await tx.update(t)
    .set({ segreto: sealedSecret(keys, id), segreto_precedente: sql`${t.segreto}`, precedente_fino_al: PREVIOUS_UNTIL })
    .where(eq(t.id, id))
  return await findWebhook(tx, id)
}

/** @throws WebhookNonTrovato */
export async function readSecret (db: Executor, keys: Keys, id: number): Promise<WebhookSecret> {
  const [found] = await db.select({
    segreto: t.segreto,
    precedente: t.segreto_precedente,
    fino_al: isoInstant(t.precedente_fino_al),
    isGood: sql<boolean>`coalesce(${t.precedente_fino_al} > now(), false)`
  }).from(t).where(eq(t.id, id))
  if (!found) throw new WebhookNonTrovato()
  const { segreto, precedente, fino_al: until, isGood } = found
  return {
    segreto: keys.unseal(segreto, contextOf(id)).toString(),
    segreto_precedente: isGood && precedente ? keys.unseal(precedente, contextOf(id)).toString() : null,
    precedente_fino_al: isGood ? until : null
  }
}

/** Whether there is an active webhook. */
export async function hasActive (db: Executor): Promise<boolean> {
  return await db.$count(t, eq(t.stato, 'attivo')) > 0
}

/** A new sealed secret in the format of Standard Webhooks. */
function sealedSecret (keys: Keys, id: number): Buffer {
  return keys.seal(SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64'), contextOf(id))
}

function contextOf (id: number): string {
  return `webhook:${id}:segreto`
}
