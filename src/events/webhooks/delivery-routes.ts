import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, sql } from 'drizzle-orm'
import { eventi, eventi_in_arrivo as arriving, webhook_consegne as t } from '#drizzle/tables/events.ts'
import { IdParams } from '#schemas/common.ts'
import type { EventType } from '#schemas/event.ts'
import {
  Delivery, DeliveryAnswer, DeliveryList, DeliveryParams, DeliveryQuery, WebhookEmptyBody
} from '#schemas/webhook.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { countDeliveries, deliveryPage, repeatDelivery } from './delivery-queue.ts'
import { WebhookSospeso } from '../errors.ts'
import { findWebhook } from './repository.ts'
import { audited, type WebhookRoutesOptions, WEBHOOKS } from './routes.ts'

const TEST: EventType = 'webhook.prova'

/**
 * Writes down an event that is delivered to one webhook alone, in the way of all others.
 * @returns the event's id
 * @throws WebhookNonTrovato, WebhookSospeso
 */
async function writeTest (tx: Transaction, webhook: number): Promise<string> {
  const { stato } = await findWebhook(tx, webhook)
  if (stato === 'sospeso') throw new WebhookSospeso()
  const [event] = await tx.insert(arriving)
    .values({ transazione: sql`pg_current_xact_id()::text::bigint`, tipo: TEST, oggetto: `webhook:${webhook}` })
    .returning({ id: arriving.id })
  await tx.execute(sql`select evento_sveglia()`)
  return event!.id
}

/** The delivery of an event that has its place; undefined where the webhook was suspended, or deleted, meanwhile. */
async function deliveryOf (db: Executor, webhook: number, event: string): Promise<number | undefined> {
  const [found] = await db.select({ id: t.id }).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
    .where(and(eq(t.webhook_id, webhook), eq(eventi.id, event)))
  return found?.id
}

const tags = ['Eventi']

const listRoute = {
  config: { access: 'admin' },
  schema: {
    operationId: 'listConsegneWebhook',
    errorCodes: ['WEBHOOK_NON_TROVATO'],
    tags,
    summary: 'Le consegne di un webhook con i loro tentativi, dalla più recente, a pagine',
    params: IdParams,
    querystring: DeliveryQuery,
    response: { 200: DeliveryList }
  }
} as const

const repeatRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    operationId: 'ripetiConsegnaWebhook',
    errorCodes: ['CONSEGNA_NON_TROVATA', 'WEBHOOK_SOSPESO'],
    tags,
    summary: 'Ripete subito una consegna, con lo stesso webhook-id',
    description: 'Prima di quelle che aspettano. Una già consegnata, o abbandonata, non segue l’ordine del suo ' +
      'oggetto; una in coda viene dopo le precedenti del suo oggetto.',
    params: DeliveryParams,
    body: WebhookEmptyBody,
    response: { 200: DeliveryAnswer }
  }
} as const

const testRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    operationId: 'provaWebhook',
    errorCodes: ['WEBHOOK_NON_TROVATO', 'WEBHOOK_SOSPESO'],
    tags,
    summary: 'Consegna un evento di prova, webhook.prova, a questo webhook soltanto',
    description: 'Che cosa ne è stato si legge in GET /api/v1/webhooks/{id}/consegne.',
    params: IdParams,
    body: WebhookEmptyBody,
    response: { 200: DeliveryAnswer }
  }
} as const

/** What became of the deliveries of a webhook, making one once more, and one to try it. */
const deliveryRoutes: FastifyPluginAsyncTypebox<
  Pick<WebhookRoutesOptions, 'closePast' | 'onChange'>
> = async (app, { closePast, onChange }) => {
  const { db } = app
  app.addSchema(Delivery)

  app.get(`${WEBHOOKS}/:id/consegne`, listRoute, async (request, reply) => {
    const { params: { id }, query } = request
    const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, stato } = query
    await findWebhook(db, id)
    const { data, next } = await deliveryPage(db, id, { stato }, limit, cursor)
    if (conteggio) reply.header('x-total-count', await countDeliveries(db, id, stato))
    if (next) reply.header('link', nextLink(`${WEBHOOKS}/${id}/consegne`, query, next))
    return { data }
  })

  app.post(`${WEBHOOKS}/:id/consegne/:consegna/ripeti`, repeatRoute, async (request) => {
    const { consegna } = request.params
    const data = await audited(app, request, 'webhook_consegna', (tx, id) => repeatDelivery(tx, id, consegna), {
      consegna
    })
    await onChange()
    return { data }
  })

  app.post(`${WEBHOOKS}/:id/prova`, testRoute, async (request) => {
    const { id } = request.params
    const event = await audited(app, request, 'webhook_prova', writeTest)
    await closePast()
    const consegna = await deliveryOf(db, id, event)
    if (consegna === undefined) throw new WebhookSospeso()
    const data = await db.transaction((tx) => repeatDelivery(tx, id, consegna, true))
    await onChange()
    return { data }
  })
}
export default deliveryRoutes
