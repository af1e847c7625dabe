import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type FieldError, IdParams } from '#schemas/common.ts'
import {
  Webhook, WebhookAnswer, WebhookCreation, WebhookDeleted, WebhookEmptyBody, WebhookList, WebhookSecret
} from '#schemas/webhook.ts'
import type { RequestFields } from '#src/http/faults.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { AuditAction } from '#schemas/audit.ts'
import type { Transaction } from '#src/database/connect.ts'
import { type AuditEntry, authorOf } from '#src/services/audit/log.ts'
import type { Receivers } from './send-event.ts'
import {
  createWebhook, deleteWebhook, findWebhook, listWebhooks, readSecret, resumeWebhook, rotateSecret
} from './repository.ts'

const tags = ['Eventi']
export const WEBHOOKS = '/api/v1/webhooks'
/** A route about one webhook. */
const ONE = { errorCodes: ['WEBHOOK_NON_TROVATO'], tags, params: IdParams } as const

export interface WebhookRoutesOptions {
  keys: Keys
  receivers: Receivers
  /** Gives what has happened so far to the webhooks of so far. */
  closePast: () => Promise<void>
  /** There is one more to serve, or something more to deliver. */
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
    response: { 201: WebhookAnswer }
  }
} as const

const listRoute = {
  config: { access: 'admin' },
  schema: { operationId: 'listWebhook', tags, summary: 'I webhook', response: { 200: WebhookList } }
} as const

const getRoute = {
  config: { access: 'admin' },
  schema: { ...ONE, operationId: 'getWebhook', summary: 'Un webhook', response: { 200: WebhookAnswer } }
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
    response: { 200: WebhookAnswer }
  }
} as const

const secretRoute = {
  // A HEAD would be written down, and show nothing.
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
    response: { 200: WebhookAnswer }
  }
} as const

/** Does something to a webhook, writes down who did it, and notes what a repeated request is answered from. */
export async function audited<T> (
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

/** Webhooks: made, listed, deleted, set going again; their secrets. */
const webhookRoutes: FastifyPluginAsyncTypebox<WebhookRoutesOptions> = async (app, options) => {
  const { keys, receivers, closePast, onChange } = options
  const { db, audit } = app
  app.addSchema(Webhook)

  function findFaults ({ body: { url } }: RequestFields): FieldError[] {
    const messaggio = typeof url === 'string' && url !== '' ? receivers.faultOf(url) : undefined
    return messaggio === undefined ? [] : [{ campo: 'url', messaggio }]
  }

  app.post(WEBHOOKS, { ...createRoute, config: { ...createRoute.config, findFaults } }, async (request, reply) => {
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
export default webhookRoutes
