import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Ref, type FieldError } from '#schemas/common.ts'
import { FeatureChange, FeatureFlag, MaintenanceChange, MaintenanceState } from '#schemas/setting.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { MAX_FLAGS, setFeature } from './features.ts'
import { changeMaintenance, refuseNewSubmission } from './maintenance.ts'

const tags = ['Sistema']

const featuresRoute = {
  config: { access: 'public' },
  schema: {
    operationId: 'listFunzioni',
    tags,
    summary: 'Le funzioni e se sono accese',
    response: { 200: Type.Array(Ref(FeatureFlag), { maxItems: MAX_FLAGS }) }
  }
} as const

const setFeatureRoute = {
  config: { access: 'admin' },
  schema: {
    operationId: 'setFunzione',
    errorCodes: ['TROPPE_FUNZIONI'],
    tags,
    summary: 'Accende o spegne una funzione; una chiave nuova è una funzione nuova',
    body: FeatureChange,
    response: { 200: Ref(FeatureFlag) }
  }
} as const

const maintenanceRoute = {
  config: { access: 'auth' },
  schema: {
    operationId: 'getManutenzione',
    tags,
    summary: 'Se il servizio è in manutenzione',
    response: { 200: Ref(MaintenanceState) }
  }
} as const

const setMaintenanceRoute = {
  config: {
    access: 'admin', recentFactor: true, findValidationErrors: ({ body }: RequestFields) => maintenanceErrors(body)
  },
  schema: {
    operationId: 'setManutenzione',
    tags,
    summary: 'Comincia, cambia o termina la manutenzione',
    body: MaintenanceChange,
    response: { 200: Ref(MaintenanceState) }
  }
} as const

/** Routes of the feature flags and of maintenance. After the response, a change is effective in every process. */
const settingsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db, audit, settings } = app
  app.addSubmissionHook('beforeReady', refuseNewSubmission)
  for (const schema of [FeatureFlag, MaintenanceState]) app.addSchema(schema)

  app.get('/api/settings/features', featuresRoute, async (_request, reply) => {
    // Caches must revalidate, so that clients see a change at once.
    reply.header('cache-control', 'no-cache')
    return [...(await settings.current()).features]
  })

  app.post('/api/settings/features', setFeatureRoute, async (request) => {
    const { key, enabled } = request.body
    await db.transaction(async (tx) => {
      const before = await setFeature(tx, { key, enabled })
      await audit.append(tx, {
        ...authorOf(request),
        action: 'funzione',
        object: `funzione:${key}`,
        details: { before, after: enabled }
      })
    })
    await settings.inForce()
    return { key, enabled }
  })

  app.get('/api/settings/maintenance', maintenanceRoute, async () => (await settings.current()).maintenance)

  app.post('/api/settings/maintenance', setMaintenanceRoute, async (request) => {
    const { body } = request
    const { actor, ip } = authorOf(request)
    const state = await db.transaction(async (tx) => {
      const { before, after } = await changeMaintenance(tx, body, actor)
      await audit.append(tx, {
        actor,
        ip,
        action: 'manutenzione',
        // Omits the message, because it is free text.
        details: {
          before: before.enabled,
          after: after.enabled,
          allowed_before: before.allow,
          allowed_after: after.allow,
          message_changed: before.message !== after.message
        }
      })
      return after
    })
    request.log.warn({ actor, enabled: state.enabled }, 'maintenance was set')
    await settings.inForce()
    return state
  })
}
export default settingsRoutes

/** Errors for fields that are allowed only with `enabled: true`. */
function maintenanceErrors ({ enabled, ...rest }: Readonly<Record<string, unknown>>): FieldError[] {
  if (enabled !== false) return []
  return Object.keys(rest).map((campo) => ({ campo, messaggio: 'è ammesso solo con enabled true' }))
}
