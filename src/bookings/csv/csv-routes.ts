import { Readable } from 'node:stream'
import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { BookingCreation } from '#schemas/booking.ts'
import {
  ExportFile, ExportQuery, ImportForm, ImportQuery, ImportResponse, IMPORT_BYTES_MAX, IMPORT_ROWS_MAX
} from '#schemas/booking-csv.ts'
import { fileForm } from '#src/http/file-form.ts'
import { limitConcurrency } from '#src/lib/concurrency-limit.ts'
import { contentDisposition } from '#src/lib/content-disposition.ts'
import { CorpoNonUtf8 } from '#src/lib/errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { isUtf8OrWestern, utf16Of } from '#src/lib/utf8.ts'
import type { Search } from '../booking-search.ts'
import { exportedLines } from './export-lines.ts'
import { importBookings } from './import-bookings.ts'
import type { Validator } from './read-line.ts'

const route = routesUnder('Prenotazioni')
const PATH = '/api/v1/prenotazioni/csv'

const exportRoute = route({ access: 'auth' }, 'exportPrenotazioni', 'Le prenotazioni come file CSV', {
  errorCodes: ['RICERCA_TROPPO_LUNGA'],
  description: 'Una cella che un foglio di calcolo leggerebbe come formula comincia con un apostrofo.',
  querystring: ExportQuery,
  response: { 200: ExportFile }
})

const form = fileForm(IMPORT_BYTES_MAX)

/** Imports run one at a time in a process, because a waiting import would hold one of the few connections. */
const CONCURRENCY = { total: 1, perCaller: 1 }

const importRoute = {
  bodyLimit: form.bodyLimit,
  preParsing: form.check,
  preValidation: form.read,
  ...route(
    { access: 'auth', idempotent: true, heavy: true, holdsBody: true },
    'importPrenotazioni', 'Importa prenotazioni da un file CSV, tutte o nessuna; prima una prova', {
      errorCodes: ['CONTENUTO_TROPPO_GRANDE'],
      description:
        'La prima riga dà i nomi delle colonne, in italiano o come li scrivono Airbnb e Booking.com; il separatore ' +
        '(punto e virgola, virgola, tabulazione) si riconosce da quella. UTF-8, UTF-16 o Windows-1252. Giorni ' +
        `28/11/2026 o 2026-11-28, unità per nome, al massimo ${IMPORT_ROWS_MAX} righe. Una riga con un codice che ` +
        'c’è già non si importa, e sta in `doppioni`. I dati degli ospiti (nascita, documento) non si importano: le ' +
        'loro colonne stanno in `colonne_ignorate`. Senza errori nella prova, ripetere con `prova=false`.',
      consumes: ['multipart/form-data'],
      querystring: ImportQuery,
      body: ImportForm,
      response: { 200: ImportResponse }
    }
  )
}

/** Bookings as CSV: import and export. */
export const csvRoutes: FastifyPluginAsyncTypebox<{ search: Search }> = async (app, { search }) => {
  app.get(PATH, exportRoute, async (request, reply) => {
    const { db } = request.query.q === undefined ? app : search
    const pieces = () => exportedLines(db, request.query)
    const { id } = request.principal!
    const lines = request.query.q === undefined ? pieces() : search.pieces(id, pieces)(async () => {})
    reply.type('text/csv; charset=utf-8').header('content-disposition', contentDisposition('attachment', NAME))
    return await reply.sendBytes(async () => Readable.from(lines, { objectMode: false }))
  })
  await app.register(imports)
}

const NAME = 'prenotazioni.csv'

/** The import has a separate scope, because only it accepts a form as body. */
const imports: FastifyPluginAsyncTypebox = async (app) => {
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits: form.limits })
  const acquireSlot = limitConcurrency(CONCURRENCY)

  app.post(PATH, importRoute, async (request) => {
    const { body: { file }, query } = request
    if (utf16Of(file) === undefined && !isUtf8OrWestern(file)) throw new CorpoNonUtf8('file')
    const isValid: Validator = request.compileValidationSchema(BookingCreation, 'body')
    // A dry run changes nothing, so its response is not stored.
    request.isUndecided = query.prova ?? true
    const giveBack = await acquireSlot(request.principal!.id)
    try {
      return await importBookings(app.db, { ...query, file, isValid, noteDone: (tx) => request.noteDone(tx) })
    } finally {
      giveBack()
    }
  })
}
