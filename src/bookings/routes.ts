import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import {
  BookingResponse, BookingCreation, BookingDetailResponse, BookingList, BookingQuery, BookingUpdate, BulkDelete,
  BulkDeleteResponse, Calendar, CalendarQuery
} from '#schemas/booking.ts'
import { CountryList } from '#schemas/country.ts'
import { SaveGuests, SaveGuestsResponse } from '#schemas/guest.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { calendar, calendarErrors, calendarSpan } from './calendar.ts'
import { listCountries } from './countries.ts'
import { etag, expectedVersions, isKnown } from '#src/lib/etag.ts'
import { saveGuests } from './guests.ts'
import { countedPage, wholeList } from './booking-list.ts'
import { csvRoutes } from './csv/csv-routes.ts'
import { privacyRoutes } from './privacy/routes.ts'
import { bookingRepository } from './repository.ts'
import { createSearch, ensureSearchIndex } from './booking-search.ts'
import { givenStayErrors, newStayErrors } from './stay.ts'
import { establishmentRecordRoutes } from './establishments/establishment-record-routes.ts'
import { ensureNoOverlap } from './units/overlap.ts'
import { unitRoutes } from './units/unit-routes.ts'

const route = routesUnder('Prenotazioni')

const calendarRoute = route(
  { access: 'auth', findValidationErrors: ({ query }: RequestFields) => calendarErrors(query) },
  'getCalendario', 'Il calendario, nella forma che legge FullCalendar', {
    errorCodes: ['RICERCA_TROPPO_LUNGA'], querystring: CalendarQuery, response: { 200: Calendar }
  }
)

const listRoute = route({ access: 'auth' }, 'listPrenotazioni', 'Le prenotazioni: tutte, o a pagine', {
  errorCodes: ['RICERCA_TROPPO_LUNGA'], querystring: BookingQuery, response: { 200: BookingList }
})

const getRoute = route({ access: 'auth' }, 'getPrenotazione', 'Una prenotazione con i suoi ospiti', {
  errorCodes: ['PRENOTAZIONE_NON_TROVATA'], params: IdParams, response: { 200: BookingDetailResponse, 304: Type.Null() }
})

const createRoute = route(
  {
    access: 'auth',
    idempotent: true,
    versioned: true,
    findValidationErrors: ({ body }: RequestFields) => newStayErrors(body)
  },
  'createPrenotazione', 'Crea una prenotazione', {
    errorCodes: ['UNITA_OCCUPATA'],
    body: BookingCreation,
    response: { 201: BookingResponse(201), 409: Ref(ErrorBody) }
  }
)

const updateRoute = route(
  { access: 'auth', versioned: true, findValidationErrors: ({ body }: RequestFields) => givenStayErrors(body) },
  'updatePrenotazione', 'Modifica i campi presenti di una prenotazione', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA', 'PRENOTAZIONE_MODIFICATA', 'UNITA_OCCUPATA'],
    params: IdParams,
    body: BookingUpdate,
    response: { 200: BookingResponse(200), 409: Ref(ErrorBody) }
  }
)

const deleteRoute = route(
  { access: 'auth' }, 'deletePrenotazioni', 'Elimina prenotazioni con i loro ospiti, tutte o nessuna', {
    errorCodes: ['INVIO_IN_CORSO'], body: BulkDelete, response: { 200: BulkDeleteResponse, 409: Ref(ErrorBody) }
  }
)

const guestsRoute = route(
  { access: 'auth', idempotent: true }, 'saveOspiti', 'Salva la lista completa degli ospiti di una prenotazione', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA'], body: SaveGuests, response: { 200: SaveGuestsResponse }
  }
)

const countriesRoute = route({ access: 'auth' }, 'listPaesi', 'I paesi di ISO 3166-1, per paese_id', {
  response: { 200: CountryList }
})

/** Routes of bookings, guests, calendar, units, establishments, CSV files and personal data. */
const bookings: FastifyPluginAsyncTypebox = async (app) => {
  const repository = bookingRepository(app)
  const search = createSearch(app)
  await ensureSearchIndex(app)
  await ensureNoOverlap(app)
  const countries = { data: listCountries() }
  await app.register(privacyRoutes, { repository })
  await app.register(establishmentRecordRoutes)
  await app.register(unitRoutes, { repository })
  await app.register(csvRoutes, { search })

  app.get('/api/prenotazioni', calendarRoute, async (request, reply) =>
    reply.sendPieces(calendar(app.sql, calendarSpan(request.query))))

  app.get('/api/v1/prenotazioni', listRoute, async (request, reply) => {
    const { limit = DEFAULT_LIMIT, cursor, conteggio, ...filters } = request.query
    const isSearch = filters.q !== undefined
    const caller = request.principal!.id
    if (request.query.limit === undefined && cursor === undefined) {
      const list = wholeList(isSearch ? search.db : app.db, filters)
      return reply.sendPieces(isSearch ? search.pieces(caller, list) : list)
    }
    const page = { limit, cursor, conteggio }
    const { json, next, total } = isSearch
      ? await search.run(caller, () => countedPage(search.db, filters, page))
      : await countedPage(app.db, filters, page)
    if (total !== undefined) reply.header('x-total-count', total)
    if (next) reply.header('link', nextLink('/api/v1/prenotazioni', request.query, next))
    return sendJson(reply, `{"data":[${json}]}`)
  })

  app.get('/api/v1/prenotazioni/:id', getRoute, async (request, reply) => {
    const { json, versione } = await repository.find(request.params.id)
    const tag = etag(versione)
    reply.header('etag', tag)
    if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
    return sendJson(reply, `{"data":${json}}`)
  })

  app.post('/api/v1/prenotazioni', createRoute, async (request, reply) => {
    const { json, id, versione } = await repository.create(request.body, request.doneNote())
    reply.code(201).header('etag', etag(versione)).header('location', `/api/v1/prenotazioni/${id}`)
    return sendJson(reply, `{"data":${json},"status":201}`)
  })

  app.put('/api/v1/prenotazioni/:id', updateRoute, async (request, reply) => {
    const expected = expectedVersions(request.headers['if-match'])
    const { booking, versione } = await repository.update(request.params.id, request.body, expected)
    reply.header('etag', etag(versione))
    return { data: booking, status: 200 }
  })

  app.post('/api/v1/prenotazioni/delete-bulk', deleteRoute, async (request) => {
    const deleted = await repository.deleteMany(request.body.ids, authorOf(request))
    const message = countWithNoun(deleted.length, 'prenotazione eliminata', 'prenotazioni eliminate')
    return { message, deleted, status: 200 }
  })

  app.post('/api/saveOspiti', guestsRoute, async (request) => {
    const { guestsRemoved } = app.bookingHooks
    const count = await saveGuests(app.db, guestsRemoved, request.body, (tx) => request.noteDone(tx))
    return { message: countWithNoun(count, 'ospite salvato', 'ospiti salvati'), count, status: 200 }
  })

  app.get('/api/v1/paesi', countriesRoute, async () => countries)
}
export default bookings

/** Sends JSON from PostgreSQL unchanged, without the serializer. */
function sendJson (reply: FastifyReply, json: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}
