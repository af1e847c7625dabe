import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import { CheckAnswer, CheckFailure } from '#schemas/alloggiati.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { ConnessioneFallita } from '../errors.ts'
import { authenticate } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { AlloggiatiCredentialsError } from '../service/soap/errors.ts'

/** Whether the service can be reached and takes the credentials. */
export const checkRoutes: FastifyPluginAsyncTypebox<{ service: PoliceService | null }> = async (app, { service }) => {
  app.addSchema(CheckFailure)

  app.route({
    method: 'GET',
    url: '/api/alloggiati/check',
    config: { access: 'auth' },
    schema: {
      operationId: 'checkAlloggiati',
      tags: ['Alloggiati Web'],
      summary: 'Prova la connessione e le credenziali',
      // Too much load is a 503 too, of the common shape.
      response: { 200: CheckAnswer, 503: Type.Union([Ref(CheckFailure), Ref(ErrorBody)]) }
    },
    handler: async () => await check(service)
  })
}

async function check (service: PoliceService | null): Promise<Static<typeof CheckAnswer>> {
  if (service === null) {
    throw new ConnessioneFallita('CREDENZIALI_MANCANTI', 'Credenziali Alloggiati Web non configurate')
  }
  // A person looks whether it works now: neither a token nor a refusal of before says so.
  service.token.invalidate()
  const { esito, ErroreDes } = await authenticate(service, service.answerDeadline()).catch((err: Error) => {
    const refused = err instanceof AlloggiatiCredentialsError
    throw new ConnessioneFallita(refused ? 'CREDENZIALI_RIFIUTATE' : 'SERVIZIO_NON_RAGGIUNGIBILE', err.message)
  })
  if (!esito) {
    service.token.invalidate()
    throw new ConnessioneFallita('CREDENZIALI_RIFIUTATE', `Il servizio ha rifiutato l'accesso: ${ErroreDes}`)
  }
  return { connected: true, message: 'Connessione ad Alloggiati Web riuscita', endpoint: service.endpoint }
}
