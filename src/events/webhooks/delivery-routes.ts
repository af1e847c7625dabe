import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdParams } from '#schemas/common.ts'
import {
  Delivery, DeliveryAnswer, DeliveryList, DeliveryParams, DeliveryQuery, WebhookEmptyBody
} from '#schemas/webhook.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { bringForward, countDeliveries, deliveryPage, findDelivery, repeatDelivery } from './deliveries.ts'
import { WebhookSospeso } from './errors.ts'
import { findWebhook } from './repository.ts'
import { WEBHOOKS, type WebhookRoutesOptions } from './routes.ts'
import { deliveryOf, writeTest } from './test-event.ts'

const tags = ['Eventi']

/** What became of the deliveries of a webhook, making one once more, and one to try it. */
const deliveryRoutes: FastifyPluginAsyncTypebox<
  Pick<WebhookRoutesOptions, 'closePast' | 'onChange'>
> = async (app, { closePast, onChange }) => {
  const { db, audit } = app
  app.addSchema(Delivery)

  app.route({
    method: 'GET',
    url: `${WEBHOOKS}/:id/consegne`,
    config: { access: 'admin' },
    schema: {
      operationId: 'listConsegneWebhook',
      errorCodes: ['WEBHOOK_NON_TROVATO'],
      tags,
      summary: 'Le consegne di un webhook con i loro tentativi, dalla più recente, a pagine',
      params: IdParams,
      querystring: DeliveryQuery,
      response: { 200: DeliveryList }
    },
    handler: async (request, reply) => {
      const { params: { id }, query } = request
      const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, stato } = query
      await findWebhook(db, id)
      const { data, next } = await deliveryPage(db, id, { stato }, limit, cursor)
      if (conteggio) reply.header('x-total-count', await countDeliveries(db, id, stato))
      if (next) reply.header('link', nextLink(`${WEBHOOKS}/${id}/consegne`, query, next))
      return { data }
    }
  })

  app.route({
    method: 'POST',
    url: `${WEBHOOKS}/:id/consegne/:consegna/ripeti`,
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
    },
    handler: async (request) => {
      const { id, consegna } = request.params
      const data = await db.transaction(async (tx) => {
        const repeated = await repeatDelivery(tx, id, consegna)
        await request.noteDone(tx)
        await audit.append(tx, {
          ...authorOf(request), action: 'webhook_consegna', object: `webhook:${id}`, details: { consegna }
        })
        return repeated
      })
      await onChange()
      return { data }
    }
  })

  app.route({
    method: 'POST',
    url: `${WEBHOOKS}/:id/prova`,
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
    },
    handler: async (request) => {
      const { id } = request.params
      const event = await db.transaction(async (tx) => {
        const written = await writeTest(tx, id)
        await request.noteDone(tx)
        await audit.append(tx, { ...authorOf(request), action: 'webhook_prova', object: `webhook:${id}` })
        return written
      })
      await closePast()
      const consegna = await deliveryOf(db, id, event)
      if (consegna === undefined) throw new WebhookSospeso()
      await db.transaction((tx) => bringForward(tx, id, consegna))
      const data = await findDelivery(db, id, consegna)
      await onChange()
      return { data }
    }
  })
}
export default deliveryRoutes
