import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Codice, Codici, CodiciQuery } from '#schemas/codici.ts'
import { Ref } from '#schemas/common.ts'
import { isKnown } from '#src/lib/etag.ts'
import { codici } from '../tables/codici.ts'
import type { Tables } from '../tables/tables.ts'

/** The code tables of the police, for forms and searches. */
export const codiciRoutes: FastifyPluginAsyncTypebox<{ tables (): Promise<Tables> }> = async (app, { tables }) => {
  for (const schema of [Codice, Codici]) app.addSchema(schema)

  app.route({
    method: 'GET',
    url: '/api/alloggiati/codici',
    config: { access: 'auth' },
    schema: {
      operationId: 'getCodici',
      tags: ['Alloggiati Web'],
      summary: 'Le tabelle dei codici; q e limit cercano',
      querystring: CodiciQuery,
      response: { 200: Ref(Codici), 304: Type.Null() }
    },
    handler: async (request, reply) => {
      const current = await tables()
      const tag = `"${current.version}"`
      reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
      return codici(current, request.query)
    }
  })
}
