import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdParams } from '#schemas/common.ts'
import {
  Webhook, WebhookAnswer, WebhookCreation, WebhookDeleted, WebhookEmptyBody, WebhookList, WebhookSecret
} from '#schemas/webhook.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Receivers } from './receivers.ts'
import {
  createWebhook, deleteWebhook, findWebhook, listWebhooks, readSecret, resumeWebhook, rotateSecret
} from './repository.ts'

const tags = ['Eventi']
export const WEBHOOKS = '/api/v1/webhooks'

export interface WebhookRoutesOptions {
  keys: Keys
  receivers: Receivers
  /** Gives what has happened so far to the webhooks of so far. */
  closePast: () => Promise<void>
  /** There is one more to serve, or something more to deliver. */
  onChange: () => Promise<void>
}

/** Webhooks: made, listed, deleted, set going again; their secrets. */
const webhookRoutes: FastifyPluginAsyncTypebox<WebhookRoutesOptions> = async (app, options) => {
  const { keys, receivers, closePast, onChange } = options
  const { db, audit } = app
  app.addSchema(Webhook)

  app.route({
    method: 'POST',
    url: WEBHOOKS,
    config: {
      access: 'admin',
      idempotent: true,
      findFaults: ({ body: { url } }) => {
        const messaggio = typeof url === 'string' && url !== '' ? receivers.faultOf(url) : undefined
        return messaggio === undefined ? [] : [{ campo: 'url', messaggio }]
      }
    },
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
      response: { 201: WebhookAnswer }
    },
    handler: async (request, reply) => {
      await closePast()
      const data = await db.transaction(async (tx) => {
        const created = await createWebhook(tx, keys, request.body)
        await request.noteDone(tx)
        await audit.append(tx, {
          ...authorOf(request),
          action: 'webhook_creato',
          object: `webhook:${created.id}`,
          details: { host: new URL(created.url).host }
        })
        return created
      })
      await onChange()
      reply.code(201).header('location', `${WEBHOOKS}/${data.id}`)
      return { data }
    }
  })

  app.route({
    method: 'GET',
    url: WEBHOOKS,
    config: { access: 'admin' },
    schema: { operationId: 'listWebhook', tags, summary: 'I webhook', response: { 200: WebhookList } },
    handler: async () => ({ data: await listWebhooks(db) })
  })

  app.route({
    method: 'GET',
    url: `${WEBHOOKS}/:id`,
    config: { access: 'admin' },
    schema: {
      operationId: 'getWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Un webhook',
      params: IdParams,
      response: { 200: WebhookAnswer }
    },
    handler: async ({ params }) => ({ data: await findWebhook(db, params.id) })
  })

  app.route({
    method: 'DELETE',
    url: `${WEBHOOKS}/:id`,
    config: { access: 'admin' },
    schema: {
      operationId: 'deleteWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Elimina un webhook, con le sue consegne',
      params: IdParams,
      response: { 200: WebhookDeleted }
    },
    handler: async (request) => {
      const { id } = request.params
      await db.transaction(async (tx) => {
        await deleteWebhook(tx, id)
        await audit.append(tx, { ...authorOf(request), action: 'webhook_eliminato', object: `webhook:${id}` })
      })
      return { message: 'Webhook eliminato', status: 200 }
    }
  })

  app.route({
    method: 'POST',
    url: `${WEBHOOKS}/:id/riattiva`,
    config: { access: 'admin', idempotent: true },
    schema: {
      operationId: 'riattivaWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Riattiva un webhook sospeso, e riprende le consegne abbandonate',
      description: 'Ciò che è successo mentre era sospeso non si consegna: si legge in GET /api/v1/eventi.',
      params: IdParams,
      body: WebhookEmptyBody,
      response: { 200: WebhookAnswer }
    },
    handler: async (request) => {
      const { id } = request.params
      await closePast()
      const data = await db.transaction(async (tx) => {
        const resumed = await resumeWebhook(tx, id)
        await request.noteDone(tx)
        await audit.append(tx, { ...authorOf(request), action: 'webhook_riattivato', object: `webhook:${id}` })
        return resumed
      })
      await onChange()
      return { data }
    }
  })

  app.route({
    method: 'GET',
    url: `${WEBHOOKS}/:id/segreto`,
    // A HEAD would be written down, and show nothing.
    exposeHeadRoute: false,
    config: { access: 'admin' },
    schema: {
      operationId: 'getSegretoWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Il segreto con cui si firmano le consegne',
      params: IdParams,
      response: { 200: WebhookSecret }
    },
    handler: async (request) => {
      const { id } = request.params
      return await db.transaction(async (tx) => {
        const secret = await readSecret(tx, keys, id)
        await audit.append(tx, {
          ...authorOf(request), action: 'webhook_segreto', object: `webhook:${id}`, details: { cambiato: false }
        })
        return secret
      })
    }
  })

  app.route({
    method: 'POST',
    url: `${WEBHOOKS}/:id/segreto`,
    config: { access: 'admin', idempotent: true },
    schema: {
      operationId: 'ruotaSegretoWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Cambia il segreto; per 24 ore si firma anche con quello di prima',
      description: 'Il nuovo si legge con GET: così nessuna risposta conservata lo contiene.',
      params: IdParams,
      body: WebhookEmptyBody,
      response: { 200: WebhookAnswer }
    },
    handler: async (request) => {
      const { id } = request.params
      const data = await db.transaction(async (tx) => {
        await rotateSecret(tx, keys, id)
        await request.noteDone(tx)
        await audit.append(tx, {
          ...authorOf(request), action: 'webhook_segreto', object: `webhook:${id}`, details: { cambiato: true }
        })
        return await findWebhook(tx, id)
      })
      return { data }
    }
  })
}
export default webhookRoutes
