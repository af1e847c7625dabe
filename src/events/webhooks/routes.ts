import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, eq, sql } from 'drizzle-orm'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventi, eventi_in_arrivo as arriving, webhook_consegne as t } from '#drizzle/tables/events.ts'
import { type FieldError, IdParams } from '#schemas/common.ts'
import type { EventType } from '#schemas/event.ts'
import {
  Delivery, DeliveryResponse, DeliveryList, DeliveryParams, DeliveryQuery, Webhook, WebhookResponse, WebhookCreation,
  WebhookDeleted, WebhookEmptyBody, WebhookList, WebhookSecret
} from '#schemas/webhook.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { AuditAction } from '#schemas/audit.ts'
import type { Transaction } from '#src/database/connect.ts'
import { type AuditEntry, authorOf } from '#src/services/audit/log.ts'
import { WebhookSospeso } from '../errors.ts'
import { countDeliveries, deliveryPage, repeatDelivery } from './delivery-queue.ts'
import type { Receivers } from './send-event.ts'
import {
  createWebhook, deleteWebhook, findWebhook, listWebhooks, readSecret, resumeWebhook, rotateSecret
} from './repository.ts'

const tags = ['Eventi']
const WEBHOOKS = '/api/v1/webhooks'
/** A route about one webhook. */
const ONE = { errorCodes: ['WEBHOOK_NON_TROVATO'], tags, params: IdParams } as const

interface WebhookRoutesOptions {
  keys: Keys
  receivers: Receivers
  /** Creates the deliveries of all past events now, so that a later webhook does not receive these events. */
  closePast: () => Promise<void>
  /** Runs when a webhook or a delivery was added. */
  onChange: () => Promise<void>
}

const createRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    operationId: 'createWebhook',
    errorCodes: ['TROPPI_WEBHOOK'],
    tags,
    summary: 'Un nuovo webhook: gli si consegnano gli eventi da ora in poi',
    description:
      'Un POST per evento, firmato secondo Standard Webhooks col segreto che dà GET /api/v1/webhooks/{id}/segreto. ' +
      'Vale come ricevuto solo uno stato 2xx entro 10 secondi; altrimenti si ritenta, sempre più di rado, per tre ' +
      'giorni, poi il webhook è sospeso. Gli eventi di uno stesso oggetto arrivano in ordine; uno può arrivare due ' +
      'volte, con lo stesso webhook-id.',
    body: WebhookCreation,
    response: { 201: WebhookResponse }
  }
} as const

const listRoute = {
  config: { access: 'admin' },
  schema: { operationId: 'listWebhook', tags, summary: 'I webhook', response: { 200: WebhookList } }
} as const

const getRoute = {
  config: { access: 'admin' },
  schema: { ...ONE, operationId: 'getWebhook', summary: 'Un webhook', response: { 200: WebhookResponse } }
} as const

const deleteRoute = {
  config: { access: 'admin' },
  schema: {
    ...ONE,
    operationId: 'deleteWebhook',
    summary: 'Elimina un webhook, con le sue consegne',
    response: { 200: WebhookDeleted }
  }
} as const

const resumeRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    ...ONE,
    operationId: 'riattivaWebhook',
    summary: 'Riattiva un webhook sospeso, e riprende le consegne abbandonate',
    description: 'Ciò che è successo mentre era sospeso non si consegna: si legge in GET /api/v1/eventi.',
    body: WebhookEmptyBody,
    response: { 200: WebhookResponse }
  }
} as const

const secretRoute = {
  // No HEAD, because the audit log would record it although it does not show the secret.
  exposeHeadRoute: false,
  config: { access: 'admin' },
  schema: {
    ...ONE,
    operationId: 'getSegretoWebhook',
    summary: 'Il segreto con cui si firmano le consegne',
    response: { 200: WebhookSecret }
  }
} as const

const rotationRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    ...ONE,
    operationId: 'ruotaSegretoWebhook',
    summary: 'Cambia il segreto; per 24 ore si firma anche con quello di prima',
    description: 'Il nuovo si legge con GET: così nessuna risposta conservata lo contiene.',
    body: WebhookEmptyBody,
    response: { 200: WebhookResponse }
  }
} as const

/** Runs an action on a webhook, marks the Idempotency-Key as executed, and writes an entry in the audit log. */
async function audited<T> (
  { db, audit }: Pick<FastifyInstance, 'db' | 'audit'>,
  request: FastifyRequest<{ Params: { id: number } }>,
  action: AuditAction,
  act: (tx: Transaction, id: number) => Promise<T>,
  details?: AuditEntry['details']
): Promise<T> {
  const { id } = request.params
  return await db.transaction(async (tx) => {
    const done = await act(tx, id)
    await request.noteDone(tx)
    await audit.append(tx, { ...authorOf(request), action, object: `webhook:${id}`, ...details && { details } })
    return done
  })
}

/** Routes that create, list, delete and resume webhooks, and show or rotate their secrets. */
export const webhookRoutes: FastifyPluginAsyncTypebox<WebhookRoutesOptions> = async (app, options) => {
  const { keys, receivers, closePast, onChange } = options
  const { db, audit } = app
  app.addSchema(Webhook)

  function findValidationErrors ({ body: { url } }: RequestFields): FieldError[] {
    const messaggio = typeof url === 'string' && url !== '' ? receivers.faultOf(url) : undefined
    return messaggio === undefined ? [] : [{ campo: 'url', messaggio }]
  }

  app.post(WEBHOOKS, { ...createRoute, config: { ...createRoute.config, findValidationErrors } },
    async (request, reply) => {
      await closePast()
      const data = await db.transaction(async (tx) => {
        const created = await createWebhook(tx, keys, request.body)
        await request.noteDone(tx)
        const details = { host: new URL(created.url).host }
        await audit.append(tx, {
          ...authorOf(request), action: 'webhook_creato', object: `webhook:${created.id}`, details
        })
        return created
      })
      await onChange()
      reply.code(201).header('location', `${WEBHOOKS}/${data.id}`)
      return { data }
    })

  app.get(WEBHOOKS, listRoute, async () => ({ data: await listWebhooks(db) }))

  app.get(`${WEBHOOKS}/:id`, getRoute, async ({ params }) => ({ data: await findWebhook(db, params.id) }))

  app.delete(`${WEBHOOKS}/:id`, deleteRoute, async (request) => {
    await audited(app, request, 'webhook_eliminato', deleteWebhook)
    return { message: 'Webhook eliminato', status: 200 }
  })

  app.post(`${WEBHOOKS}/:id/riattiva`, resumeRoute, async (request) => {
    await closePast()
    const data = await audited(app, request, 'webhook_riattivato', resumeWebhook)
    await onChange()
    return { data }
  })

  app.get(`${WEBHOOKS}/:id/segreto`, secretRoute, async (request) =>
    await audited(app, request, 'webhook_segreto', (tx, id) => readSecret(tx, keys, id), { cambiato: false }))

  app.post(`${WEBHOOKS}/:id/segreto`, rotationRoute, async (request) => ({
    data: await audited(app, request, 'webhook_segreto', (tx, id) => rotateSecret(tx, keys, id), { cambiato: true })
  }))
}

const TEST: EventType = 'webhook.prova'

/**
 * Writes a test event, which only this webhook receives. The delivery is like that of any other event.
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

const deliveriesRoute = {
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
    response: { 200: DeliveryResponse }
  }
} as const

const testRoute = {
  config: { access: 'admin', idempotent: true },
  schema: {
    operationId: 'provaWebhook',
    errorCodes: ['WEBHOOK_NON_TROVATO', 'WEBHOOK_SOSPESO'],
    tags,
    summary: 'Consegna un evento di prova, webhook.prova, a questo webhook soltanto',
    description: 'L’esito si legge in GET /api/v1/webhooks/{id}/consegne.',
    params: IdParams,
    body: WebhookEmptyBody,
    response: { 200: DeliveryResponse }
  }
} as const

/** Routes that list the deliveries of a webhook, repeat one, and send a test event. */
export const deliveryRoutes: FastifyPluginAsyncTypebox<WebhookRoutesOptions> = async (app, options) => {
  const { closePast, onChange } = options
  const { db } = app
  app.addSchema(Delivery)

  app.get(`${WEBHOOKS}/:id/consegne`, deliveriesRoute, async (request, reply) => {
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
    const [consegna] = await db.select({ id: t.id }).from(t).innerJoin(eventi, eq(eventi.posizione, t.evento))
      .where(and(eq(t.webhook_id, id), eq(eventi.id, event)))
    // The webhook was suspended or deleted meanwhile.
    if (!consegna) throw new WebhookSospeso()
    const data = await db.transaction((tx) => repeatDelivery(tx, id, consegna.id, true))
    await onChange()
    return { data }
  })
}
