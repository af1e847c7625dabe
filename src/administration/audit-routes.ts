import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AuditEvent, AuditList, AuditQuery, AuditVerification } from '#schemas/audit.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { auditPage, boundsFaults, countEntries } from '#src/services/audit/list.ts'

const tags = ['Sistema']

/** The audit log as administrators read it. */
const auditRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db } = app
  app.addSchema(AuditEvent)

  app.route({
    method: 'GET',
    url: '/api/v1/audit',
    config: { access: 'admin', findFaults: ({ query }) => boundsFaults(query) },
    schema: {
      operationId: 'listAudit',
      tags,
      summary: 'Il registro delle azioni, dalla più recente, a pagine',
      querystring: AuditQuery,
      response: { 200: AuditList }
    },
    handler: async (request, reply) => {
      const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, ...filters } = request.query
      const [{ data, next }, total] = await Promise.all([
        auditPage(db, filters, limit, cursor),
        conteggio ? countEntries(db, filters) : undefined
      ])
      if (total !== undefined) reply.header('x-total-count', total)
      if (next) reply.header('link', nextLink('/api/v1/audit', request.query, next))
      return { data }
    }
  })

  app.route({
    method: 'GET',
    url: '/api/v1/audit/verifica',
    config: { access: 'admin' },
    schema: {
      operationId: 'verificaAudit',
      tags,
      summary: 'Ripercorre il registro delle azioni e dice se è integro',
      response: { 200: AuditVerification }
    },
    handler: async () => ({ ...(await app.audit.verify()), status: 200 })
  })
}
export default auditRoutes
