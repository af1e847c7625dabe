import { and, count, desc, eq, lt, notInArray, sql, type SQL } from 'drizzle-orm'
import { eventi, webhook_consegne as t, webhook_tentativi as attempts, webhooks } from '#drizzle/tables/events.ts'
import type { Event } from '#schemas/event.ts'
import type { Delivery } from '#schemas/webhook.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { backOff, inSeconds, LEASE } from '#src/services/queue/worker.ts'
import { ConsegnaNonTrovata, WebhookSospeso } from '../errors.ts'
import { eventColumns, presentEvent } from '../event-list.ts'
import { GONE, type Outcome } from './send-event.ts'

/** A claimed delivery. `tentativi` counts this attempt too, so it distinguishes this claim from later ones. */
export interface Claimed {
  id: number
  webhook_id: number
  tentativi: number
  falliti: number
  url: string
  event: Event
}

/** Resets the failure count of a webhook after a successful delivery, or when it is resumed. */
export const NO_FAILURES = { errori_di_fila: 0, errori_dal: null, ultimo_errore: null }

/** A suspended webhook, and the outcome of the last attempt. */
export interface Suspended { id: number, url: string, descrizione: string | null, outcome: Outcome }

/**
 * The result of `settle`: the new state of the delivery, or `sospeso` when the webhook was suspended. `gone` means that
 * nothing was recorded, because the webhook was deleted or suspended, or another process has claimed the delivery.
 */
export type Settled = 'consegnata' | 'in_coda' | 'sospeso' | 'gone'

/** Maximum delay of a retry. */
const MAX_DELAY_SECONDS = 4 * 3600
/** After this many failures in a row, of any deliveries, no delivery of the webhook is attempted for some time. */
const FAILURES_IN_A_ROW = 3
/** A success ends the back-off after failures, but not a wait that the receiver requested with `Retry-After`. */
const AFTER_SUCCESS = sql`least(${webhooks.fermo_fino_al}, greatest(now(), ${webhooks.chiesto_fino_al}))`
const SUSPENDED_AFTER = sql`interval '3 days'`
/** A webhook is suspended after `SUSPENDED_AFTER` and at least this many failed attempts. */
const FAILURES_MIN = 10
/** Longer than any back-off plus its attempt. A longer gap between attempts means that the server was off. */
const MAX_SILENCE = sql`interval '5 hours'`

/**
 * Claims the delivery that has been due longest. It skips webhooks in back-off, and deliveries that must wait for an
 * earlier one of the same object. No other process can claim it before the lease expires.
 * @param busy ids of webhooks to skip
 */
export async function claim (db: Database, busy: readonly number[] = []): Promise<Claimed | undefined> {
  const [taken] = await db.execute<Omit<Claimed, 'event' | 'url'> & { evento: number }>(sql`
    update ${t} set
      tentativi = tentativi + 1,
      presa = true,
      provata_dal = coalesce(provata_dal, now()),
      prossimo_tentativo = ${LEASE}
    where id = (
      select first.id from ${webhooks} cross join lateral (
        select c.id, c.prossimo_tentativo from ${t} c
        where c.webhook_id = ${webhooks.id} and c.stato = 'in_coda' and c.prossimo_tentativo <= now()
          and (c.a_mano or not exists (
            select from ${t} p where p.webhook_id = c.webhook_id and p.oggetto = c.oggetto and p.id < c.id
              and p.stato = 'in_coda' and not p.a_mano
          ))
        order by c.prossimo_tentativo, c.id limit 1 for update skip locked
      ) first
      where ${webhooks.stato} = 'attivo' and ${webhooks.fermo_fino_al} <= now()
        and ${notInArray(webhooks.id, [...busy])}
      order by first.prossimo_tentativo limit 1
    )
    returning id, webhook_id, tentativi, falliti, evento`)
  if (!taken) return undefined
  const { evento, ...claimed } = taken
  const [found] = await db.select({ url: webhooks.url, ...eventColumns }).from(eventi)
    .innerJoin(webhooks, eq(webhooks.id, claimed.webhook_id)).where(eq(eventi.posizione, evento))
  // The webhook was deleted meanwhile, with its deliveries.
  if (!found) return undefined
  const { url, ...event } = found
  return { ...claimed, url, event: presentEvent(event) }
}

/**
 * Records the outcome of an attempt, and schedules the next one or suspends the webhook.
 * @param firstDelayMs delay until the second attempt. Each further delay is twice as long
 * @param onSuspension called in the same transaction with the suspended webhook
 */
export async function settle (
  db: Database,
  claimed: Claimed,
  outcome: Outcome & { at: Date, durationMs: number },
  firstDelayMs: number,
  onSuspension: (tx: Transaction, suspended: Suspended) => Promise<void>
): Promise<Settled> {
  const { stato_http, errore, at: quando, durationMs: durata_ms } = outcome
  const asked = Math.min((outcome.retryAfterMs ?? 0) / 1000, MAX_DELAY_SECONDS)
  const delay = (failures: number) => backOff(failures, { first: firstDelayMs / 1000, max: MAX_DELAY_SECONDS })
  const isGood = stato_http !== null && stato_http >= 200 && stato_http < 300
  return await db.transaction(async (tx) => {
    // Locks the webhook, because concurrent attempts also count its failures.
    const [webhook] = await tx.select({ descrizione: webhooks.descrizione }).from(webhooks)
      .where(eq(webhooks.id, claimed.webhook_id)).for('no key update')
    if (!webhook) return 'gone'
    const stillMine = and(eq(t.id, claimed.id), eq(t.tentativi, claimed.tentativi), eq(t.stato, 'in_coda'))
    const [mine] = await tx.select({ isOver: sql<boolean>`${t.provata_dal} <= now() - ${SUSPENDED_AFTER}` }).from(t)
      .where(stillMine).for('update')
    // Another process claimed the delivery after the lease expired, or the webhook is suspended.
    if (!mine) return 'gone'
    await tx.insert(attempts).values({ consegna_id: claimed.id, quando, durata_ms, stato_http, errore })
    if (isGood) {
      await tx.update(t).set({ stato: 'consegnata', consegnata_il: sql`now()`, presa: false }).where(stillMine)
      await tx.update(webhooks).set({ ...NO_FAILURES, fermo_fino_al: AFTER_SUCCESS })
        .where(eq(webhooks.id, claimed.webhook_id))
      return 'consegnata'
    }
    const { inARow, isDead } = await noteFailure(tx, claimed.webhook_id)
    const rest = inARow < FAILURES_IN_A_ROW ? 0 : delay(inARow - FAILURES_IN_A_ROW + 1)
    const next = inSeconds(Math.max(delay(claimed.falliti + 1), asked))
    await tx.update(t).set({ falliti: sql`${t.falliti} + 1`, prossimo_tentativo: next, presa: false }).where(stillMine)
    // Keeps a later `Retry-After` from another attempt.
    await tx.update(webhooks).set({
      fermo_fino_al: sql`greatest(${webhooks.fermo_fino_al}, ${inSeconds(Math.max(rest, asked))})`,
      ...asked > 0 && { chiesto_fino_al: sql`greatest(${webhooks.chiesto_fino_al}, ${inSeconds(asked)})` }
    }).where(eq(webhooks.id, claimed.webhook_id))
    // This delivery fails while others succeed. Suspend, because it blocks later deliveries of its object.
    const isStuck = mine.isOver && claimed.falliti + 1 >= FAILURES_MIN && inARow <= claimed.falliti
    if (!isDead && !isStuck && stato_http !== GONE) return 'in_coda'
    const { webhook_id: id, url } = claimed
    await suspend(tx, id)
    await onSuspension(tx, { id, url, descrizione: webhook.descrizione, outcome })
    return 'sospeso'
  })
}

/**
 * Counts a failure per webhook, not per delivery: in a long queue each delivery is attempted too rarely.
 * @returns the failures since the last success, and whether to suspend the webhook
 */
async function noteFailure (tx: Transaction, id: number): Promise<{ inARow: number, isDead: boolean }> {
  const absence = sql`greatest(now() - ${webhooks.ultimo_errore} - ${MAX_SILENCE}, interval '0')`
  const [noted] = await tx.update(webhooks).set({
    errori_di_fila: sql`${webhooks.errori_di_fila} + 1`,
    errori_dal: sql`coalesce(${webhooks.errori_dal} + ${absence}, now())`,
    ultimo_errore: sql`now()`
  }).where(eq(webhooks.id, id)).returning({
    inARow: webhooks.errori_di_fila,
    isDead: sql<boolean>`
      ${webhooks.errori_dal} <= now() - ${SUSPENDED_AFTER} and ${webhooks.errori_di_fila} >= ${FAILURES_MIN}`
  })
  return noted!
}

/** Releases the claim of an attempt that was aborted. */
export async function release (db: Database, { id, tentativi }: Claimed): Promise<void> {
  await db.update(t).set({ prossimo_tentativo: sql`now()`, presa: false })
    .where(and(eq(t.id, id), eq(t.tentativi, tentativi), eq(t.stato, 'in_coda')))
}

/** Suspends a webhook until an administrator resumes it. Other webhooks receive an event about the suspension. */
async function suspend (tx: Transaction, id: number): Promise<void> {
  await tx.update(webhooks).set({ stato: 'sospeso', sospeso_il: sql`now()` }).where(eq(webhooks.id, id))
  await tx.update(t).set({ stato: 'abbandonata', presa: false })
    .where(and(eq(t.webhook_id, id), eq(t.stato, 'in_coda')))
  await tx.execute(sql`select evento_annota('webhook.sospeso', ${`webhook:${id}`}, null)`)
}

/** The only sort order of the list: newest first. */
const SORT = '-id'
/** Maximum number of attempts shown per delivery. */
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

/** A page of a webhook's deliveries, newest first. */
export async function deliveryPage (
  db: Executor, webhook: number, { stato }: { stato?: Delivery['stato'] | undefined }, limit: number, cursor?: string
): Promise<{ data: Delivery[], next: Position | undefined }> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  const found = await db.select(columns).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(...matching(webhook, stato), after && lt(t.id, after.id))).orderBy(desc(t.id)).limit(limit + 1)
  const last = found.length > limit ? found[limit - 1] : undefined
  return { data: found.slice(0, limit), next: last && { sort: SORT, value: String(last.id), id: last.id } }
}

export function countDeliveries (db: Executor, webhook: number, stato?: Delivery['stato']): Promise<number> {
  return db.$count(t, and(...matching(webhook, stato)))
}

/**
 * Repeats a delivery in any state, before all others in the queue. A queued delivery still waits for earlier deliveries
 * of its object. A delivered or abandoned delivery does not wait.
 * @param isTest a test event does not wait, even if it is queued. It stays unchanged if it was attempted meanwhile
 * @throws ConsegnaNonTrovata, WebhookSospeso
 */
export async function repeatDelivery (
  tx: Transaction, webhook: number, id: number, isTest = false
): Promise<Delivery> {
  // Locks the webhook first, in the same order as `settle`, to avoid deadlocks.
  const [owner] = await tx.update(webhooks).set(NO_REST).where(eq(webhooks.id, webhook))
    .returning({ stato: webhooks.stato })
  const mine = and(eq(t.id, id), eq(t.webhook_id, webhook))
  const [found] = await tx.select({ stato: t.stato, tentativi: t.tentativi }).from(t).where(mine).for('update')
  if (!owner || !found) throw new ConsegnaNonTrovata()
  if (owner.stato === 'sospeso') throw new WebhookSospeso()
  const isWaiting = found.stato === 'in_coda' && !isTest
  if (!isTest || found.tentativi === 0) await tx.update(t).set(isWaiting ? SOONER : AGAIN).where(mine)
  return await findDelivery(tx, webhook, id)
}

/** @throws ConsegnaNonTrovata */
async function findDelivery (db: Executor, webhook: number, id: number): Promise<Delivery> {
  const [found] = await db.select(columns).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(eq(t.id, id), eq(t.webhook_id, webhook)))
  if (!found) throw new ConsegnaNonTrovata()
  return found
}

/** A delivery started by hand ends the back-off of its webhook, even after a `Retry-After`. */
const NO_REST = { fermo_fino_al: sql`now()`, chiesto_fino_al: null }

/** A due time before all other queued deliveries of the webhook. */
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

/** Counts deliveries by state. */
export async function countByState (db: Executor): Promise<Record<Delivery['stato'], number>> {
  const found = await db.select({ stato: t.stato, total: count() }).from(t).groupBy(t.stato)
  const counts = { in_coda: 0, consegnata: 0, abbandonata: 0 }
  for (const { stato, total } of found) counts[stato] = total
  return counts
}

/** Age of the oldest queued delivery in seconds. 0 when the queue is empty. */
export async function queueAge (db: Executor): Promise<number> {
  const [row] = await db.select({
    seconds: sql<number>`coalesce(extract(epoch from now() - min(${t.creata_il})), 0)::float8`
  }).from(t).where(eq(t.stato, 'in_coda'))
  return row!.seconds
}

function matching (webhook: number, stato: Delivery['stato'] | undefined): (SQL | undefined)[] {
  return [eq(t.webhook_id, webhook), stato === undefined ? undefined : eq(t.stato, stato)]
}
