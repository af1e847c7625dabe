import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { CheckAnswer, CheckFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { POLICE_ERRORS } from '#schemas/errors/groups.ts'
import { check } from '../service/check.ts'
import type { PoliceService } from '../service/police-service.ts'

/** Whether the service can be reached and takes the credentials. */
export const checkRoutes: FastifyPluginAsyncTypebox<{ service: PoliceService | null }> = async (app, { service }) => {
  app.addSchema(CheckFailure)

  app.route({
    method: 'GET',
    url: '/api/alloggiati/check',
    config: { access: 'auth' },
    schema: {
      operationId: 'checkAlloggiati',
      errorCodes: [...POLICE_ERRORS],
      tags: ['Alloggiati Web'],
      summary: 'Prova la connessione e le credenziali',
      // Too much load is a 503 too, of the common shape.
      response: { 200: CheckAnswer, 503: Type.Union([Ref(CheckFailure), Ref(ErrorBody)]) }
    },
    handler: async () => await check(service)
  })
}
