import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import {
  EstablishmentChange, EstablishmentCreation, EstablishmentRecord, EstablishmentRecordResponse, EstablishmentRecords
} from '#schemas/establishment-record.ts'
import { Removed } from '#schemas/unit.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { etag, expectedVersions, isKnown } from '#src/lib/etag.ts'
import { authorOf } from '#src/services/audit/log.ts'
import {
  changeEstablishment, createEstablishment, deleteEstablishment, findEstablishment, listEstablishments
} from './establishment-records.ts'

const route = routesUnder('Strutture')
const URL = '/api/v1/strutture'

const listRoute = route({ access: 'auth' }, 'listStrutture', 'Le strutture', {
  response: { 200: EstablishmentRecords }
})

const getRoute = route({ access: 'auth' }, 'getStrutturaRicettiva', 'Una struttura', {
  errorCodes: ['STRUTTURA_NON_TROVATA'],
  params: IdParams,
  response: { 200: EstablishmentRecordResponse, 304: Type.Null() }
})

const createRoute = route(
  { access: 'admin', idempotent: true, versioned: true }, 'createStruttura', 'Crea una struttura', {
    body: EstablishmentCreation, response: { 201: EstablishmentRecordResponse }
  }
)

const updateRoute = route(
  { access: 'admin', versioned: true }, 'updateStruttura', 'Modifica i campi presenti di una struttura', {
    errorCodes: ['STRUTTURA_NON_TROVATA', 'STRUTTURA_CAMBIATA'],
    params: IdParams,
    body: EstablishmentChange,
    response: { 200: EstablishmentRecordResponse }
  }
)

const deleteRoute = route(
  { access: 'admin' }, 'deleteStruttura', 'Elimina una struttura senza unità e senza account della Polizia', {
    errorCodes: ['STRUTTURA_NON_TROVATA', 'STRUTTURA_IN_USO'],
    params: IdParams,
    response: { 200: Removed, 409: Ref(ErrorBody) }
  }
)

/** The establishments of the installation. Administrators change them. */
export const establishmentRecordRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { audit, db } = app
  app.addSchema(EstablishmentRecord)

  app.get(URL, listRoute, async () => ({ data: await listEstablishments(db) }))

  app.get(`${URL}/:id`, getRoute, async (request, reply) => {
    const data = await findEstablishment(db, request.params.id)
    const tag = etag(data.versione)
    reply.header('etag', tag)
    if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
    return { data }
  })

  app.post(URL, createRoute, async (request, reply) => {
    const data = await db.transaction(async (tx) => {
      const created = await createEstablishment(tx, request.body)
      await request.noteDone(tx)
      await audit.append(tx, { ...authorOf(request), action: 'struttura_creata', object: `struttura:${created.id}` })
      return created
    })
    reply.code(201).headers({ location: `${URL}/${data.id}`, etag: etag(data.versione) })
    return { data }
  })

  app.put(`${URL}/:id`, updateRoute, async (request, reply) => {
    const { params: { id }, body, headers } = request
    const data = await db.transaction(async (tx) => {
      const changed = await changeEstablishment(tx, id, body, expectedVersions(headers['if-match']))
      const details = { campi: Object.keys(body), versione: changed.versione }
      await audit.append(tx, { ...authorOf(request), action: 'struttura_cambiata', object: `struttura:${id}`, details })
      return changed
    })
    reply.header('etag', etag(data.versione))
    return { data }
  })

  app.delete(`${URL}/:id`, deleteRoute, async (request) => {
    const { id } = request.params
    await db.transaction(async (tx) => {
      await deleteEstablishment(tx, id)
      await audit.append(tx, { ...authorOf(request), action: 'struttura_eliminata', object: `struttura:${id}` })
    })
    return { success: true, message: 'Struttura eliminata' }
  })
}
