import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, asc, eq, gt, lte } from 'drizzle-orm'
import { blocchi } from '#drizzle/tables/occupancy.ts'
import { Closed, ErrorBody, IdParams, Ref, type FieldError } from '#schemas/common.ts'
import { BookingResponse } from '#schemas/booking.ts'
import {
  Block, BlockCreation, BlockList, BlockQuery, BlockResponse, FreeUnitsQuery, OccupancyCalendar,
  OccupancyQuery, Removed, Unit, UnitCreation, UnitList,
  UnitResponse, UnitUpdate
} from '#schemas/unit.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { etag } from '#src/lib/etag.ts'
import emptyBody from '#src/http/empty-body.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { BloccoNonTrovato } from '../errors.ts'
import type { BookingRepository } from '../repository.ts'
import { occupancyCalendar, occupancyErrors } from './occupancy-calendar.ts'
import { occupying } from './overlap.ts'
import { createUnit, deleteUnit, findUnit, freeUnits, listUnits, updateUnit } from './unit-repository.ts'

const route = routesUnder('Unità')
const UNITS = '/api/v1/unita'
const BLOCKS = '/api/v1/blocchi'
const conflict = { 409: Ref(ErrorBody) }

const listRoute = route({ access: 'auth' }, 'listUnita', 'Le unità, nell’ordine dell’host', {
  response: { 200: UnitList }
})

const freeRoute = route(
  { access: 'auth', findValidationErrors: ({ query }: RequestFields) => orderErrors(query, 'da', 'a') },
  'listUnitaLibere', 'Le unità libere in ogni notte di un soggiorno', {
    querystring: FreeUnitsQuery, response: { 200: UnitList }
  }
)

const getRoute = route({ access: 'auth' }, 'getUnita', 'Una unità', {
  errorCodes: ['UNITA_NON_TROVATA'], params: IdParams, response: { 200: UnitResponse }
})

/** A unit that is in use for one day has the same first and last day. */
const findValidationErrors = ({ body }: RequestFields) => orderErrors(body, 'attiva_da', 'attiva_a', true)

const createRoute = route(
  { access: 'auth', idempotent: true, findValidationErrors }, 'createUnita', 'Crea una unità', {
    body: UnitCreation, response: { 201: UnitResponse }
  }
)

const updateRoute = route(
  { access: 'auth', findValidationErrors }, 'updateUnita', 'Modifica i campi presenti di una unità', {
    errorCodes: ['UNITA_NON_TROVATA', 'UNITA_IN_USO'],
    params: IdParams,
    body: UnitUpdate,
    response: { 200: UnitResponse, ...conflict }
  }
)

const deleteRoute = route({ access: 'auth' }, 'deleteUnita', 'Elimina una unità senza prenotazioni', {
  errorCodes: ['UNITA_NON_TROVATA', 'UNITA_IN_USO'], params: IdParams, response: { 200: Removed, ...conflict }
})

const blocksRoute = route(
  { access: 'auth', findValidationErrors: ({ query }: RequestFields) => orderErrors(query, 'da', 'a', true) },
  'listBlocchi', 'I blocchi: le notti in cui una unità non si affitta', {
    querystring: BlockQuery, response: { 200: BlockList }
  }
)

const blockRoute = route(
  {
    access: 'auth',
    idempotent: true,
    findValidationErrors: ({ body }: RequestFields) => orderErrors(body, 'dal', 'al')
  },
  'createBlocco', 'Blocca una unità', {
    errorCodes: ['UNITA_OCCUPATA'], body: BlockCreation, response: { 201: BlockResponse, ...conflict }
  }
)

const unblockRoute = route({ access: 'auth' }, 'deleteBlocco', 'Elimina un blocco', {
  errorCodes: ['BLOCCO_NON_TROVATO'], params: IdParams, response: { 200: Removed }
})

const calendarRoute = route(
  { access: 'auth', findValidationErrors: ({ query }: RequestFields) => occupancyErrors(query) },
  'getCalendarioUnita', 'Le unità con le prenotazioni, i blocchi e le notti libere di ogni giorno', {
    querystring: OccupancyQuery, response: { 200: OccupancyCalendar }
  }
)

const assignRoute = route(
  { access: 'auth', idempotent: true, versioned: true },
  'assegnaUnita', 'Assegna alla prenotazione l’unità libera più piccola che basta', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA', 'NESSUNA_UNITA_LIBERA', 'UNITA_OCCUPATA'],
    description: 'Una prenotazione che ha già una unità la tiene.',
    params: IdParams,
    body: Closed({}, { examples: [{}] }),
    response: { 200: BookingResponse(200), ...conflict }
  }
)

/** Routes of units, their blocks, and the assignment of units to bookings. */
export const unitRoutes: FastifyPluginAsyncTypebox<{ repository: BookingRepository }> = async (app, { repository }) => {
  const { db } = app
  app.addSchema(Unit)
  app.addSchema(Block)

  app.get(UNITS, listRoute, async () => ({ data: await listUnits(db) }))

  app.get(`${UNITS}/disponibilita`, freeRoute, async ({ query: { da, a, ospiti } }) =>
    ({ data: await freeUnits(db, { check_in: da, check_out: a }, ospiti) }))

  app.get(`${UNITS}/:id`, getRoute, async ({ params }) => ({ data: await findUnit(db, params.id) }))

  app.post(UNITS, createRoute, async (request, reply) => {
    const data = await db.transaction(async (tx) => {
      const created = await createUnit(tx, request.body)
      await request.noteDone(tx)
      return created
    })
    reply.code(201).header('location', `${UNITS}/${data.id}`)
    return { data }
  })

  app.put(`${UNITS}/:id`, updateRoute, async ({ params, body }) => ({ data: await updateUnit(db, params.id, body) }))

  app.delete(`${UNITS}/:id`, deleteRoute, async ({ params }) => {
    await db.transaction((tx) => deleteUnit(tx, params.id))
    return { success: true, message: 'Unità eliminata' }
  })

  app.get(BLOCKS, blocksRoute, async ({ query: { unita_id, da, a } }) => ({
    data: await db.select().from(blocchi).where(and(
      unita_id === undefined ? undefined : eq(blocchi.unita_id, unita_id),
      da === undefined ? undefined : gt(blocchi.al, da),
      a === undefined ? undefined : lte(blocchi.dal, a)
    )).orderBy(asc(blocchi.dal), asc(blocchi.id))
  }))

  app.post(BLOCKS, blockRoute, async (request, reply) => {
    const data = await occupying(() => db.transaction(async (tx) => {
      const [created] = await tx.insert(blocchi).values(request.body).returning()
      await request.noteDone(tx)
      return created!
    }))
    reply.code(201).header('location', `${BLOCKS}?unita_id=${data.unita_id}`)
    return { data }
  })

  app.delete(`${BLOCKS}/:id`, unblockRoute, async ({ params: { id } }) => {
    const deleted = await db.delete(blocchi).where(eq(blocchi.id, id)).returning({ id: blocchi.id })
    if (deleted.length === 0) throw new BloccoNonTrovato()
    return { success: true, message: 'Blocco eliminato' }
  })

  app.get('/api/v1/calendario', calendarRoute, async ({ query }, reply) =>
    reply.sendPieces(occupancyCalendar(db, query)))

  await app.register(assignment, { repository })
}

const assignment: FastifyPluginAsyncTypebox<{ repository: BookingRepository }> = async (app, { repository }) => {
  await app.register(emptyBody)
  app.post('/api/v1/prenotazioni/:id/assegna', assignRoute, async (request, reply) => {
    const { booking, versione } = await repository.assign(request.params.id, (tx) => request.noteDone(tx))
    reply.header('etag', etag(versione))
    return { data: booking, status: 200 }
  })
}

/** The error of two days in the wrong order. The schema reports missing days. */
function orderErrors (
  fields: Readonly<Record<string, unknown>>, first: string, last: string, same = false
): FieldError[] {
  const { [first]: from, [last]: to } = fields
  if (typeof from !== 'string' || typeof to !== 'string' || (same ? to >= from : to > from)) return []
  return [{ campo: last, messaggio: same ? `non può essere prima di ${first}` : `deve essere dopo ${first}` }]
}
