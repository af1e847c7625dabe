import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  Apartment,
  ApartmentAnswer,
  ApartmentBody,
  ApartmentList,
  ApartmentParams,
  ApartmentRefused
} from '#schemas/apartment.ts'
import { ErrorBody, Ref } from '#schemas/common.ts'
import { POLICE_ERRORS } from '#schemas/errors/groups.ts'
import { addApartment, disableApartment, listApartments } from '../service/apartments.ts'
import { CredenzialiMancanti } from '../errors.ts'
import type { PoliceService } from '../service/police-service.ts'

const tags = ['Alloggiati Web']
const refused = Type.Union([Ref(ApartmentRefused), Ref(ErrorBody)])

/** The apartments of an account of category "Gestione Appartamenti". The service keeps them; nothing is stored here. */
export const apartmentRoutes: FastifyPluginAsyncTypebox<{ service: PoliceService | null }> = async (
  app,
  { service }
) => {
  for (const schema of [Apartment, ApartmentRefused]) app.addSchema(schema)

  app.route({
    method: 'GET',
    url: '/api/v1/appartamenti',
    config: { access: 'auth' },
    schema: {
      operationId: 'listAppartamenti',
      errorCodes: [...POLICE_ERRORS],
      tags,
      summary: "Gli appartamenti attivi dell'account",
      response: { 200: ApartmentList, 503: Ref(ErrorBody) }
    },
    handler: async () => ({ data: await listApartments(connected()) })
  })

  app.route({
    method: 'POST',
    url: '/api/v1/appartamenti',
    // The service does not say which id it gave.
    config: { access: 'admin', idempotent: true, headers: { sends: { Location: [] } } },
    schema: {
      operationId: 'addAppartamento',
      errorCodes: ['APPARTAMENTO_RIFIUTATO', 'ESITO_SCONOSCIUTO', ...POLICE_ERRORS],
      tags,
      summary: "Aggiunge un appartamento all'account",
      body: ApartmentBody,
      response: { 201: ApartmentAnswer(201), 422: refused, 503: Ref(ErrorBody) }
    },
    handler: async (request, reply) => {
      await addApartment(connected(), request.body)
      await request.noteDone(app.db)
      reply.code(201)
      return { message: "Appartamento aggiunto: il servizio gli ha dato un id, che è nell'elenco", status: 201 }
    }
  })

  app.route({
    method: 'DELETE',
    url: '/api/v1/appartamenti/:id',
    config: { access: 'admin' },
    schema: {
      operationId: 'disableAppartamento',
      errorCodes: ['APPARTAMENTO_RIFIUTATO', 'ESITO_SCONOSCIUTO', ...POLICE_ERRORS],
      tags,
      summary: 'Disabilita un appartamento, per sempre',
      params: ApartmentParams,
      response: { 200: ApartmentAnswer(200), 422: refused, 503: Ref(ErrorBody) }
    },
    handler: async (request) => {
      const { id } = request.params
      await disableApartment(connected(), id)
      return {
        message: `Appartamento ${id} disabilitato: non si può riattivare, solo aggiungere di nuovo con un altro id`,
        status: 200
      }
    }
  })

  function connected (): PoliceService {
    if (service === null) throw new CredenzialiMancanti()
    return service
  }
}
