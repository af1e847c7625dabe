import type { PassThrough, Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { eq } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import { ZipFile } from 'yazl'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import { Closed, ErrorBody, IdParams, Ref } from '#schemas/common.ts'
import { READING_ERRORS } from '#schemas/errors/groups.ts'
import { ErasureResponse, HeldData, PrivacyResponse } from '#schemas/privacy.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Executor } from '#src/database/connect.ts'
import emptyBody from '#src/http/empty-body.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { PrenotazioneNonTrovata } from '../errors.ts'
import { detailColumns } from '../booking-columns.ts'
import {
  describePersonalData, type ExportFile, REPORT_DEFAULTS, type PersonalDataReport, jsonFile
} from '../personal-data-report.ts'
import type { BookingRepository } from '../repository.ts'
import { bookingExists } from '../stays.ts'

/**
 * Streams files as a ZIP archive, with one file open at a time. An error destroys the stream, so that no client accepts
 * an incomplete archive as complete.
 */
export function archive (files: readonly ExportFile[]): Readable {
  const zip = new ZipFile()
  const out = zip.outputStream as PassThrough
  const fail = (err: unknown) => { out.destroy(err instanceof Error ? err : new Error('a file cannot be read')) }
  zip.on('error', fail)
  for (const { path, changed: mtime, content } of files) {
    if (Buffer.isBuffer(content)) {
      zip.addBuffer(content, path, { mtime })
      continue
    }
    // Images are already compressed.
    zip.addReadStreamLazy(path, { mtime, compress: false, size: content.bytes }, (pump) => {
      content.open().then((stream) => {
        // A stream's error does not reach the archive by itself.
        stream.once('error', fail)
        // If the client disconnects, the file is closed.
        if (out.destroyed) stream.destroy()
        const leave = () => { stream.destroy() }
        out.once('close', leave)
        stream.once('close', () => { out.off('close', leave) })
        pump(null, stream)
      }, fail)
    })
  }
  zip.end()
  return out
}

/** The part of the report about the booking itself and its guests. */
const bookingReport: PersonalDataReport = {
  async describe (db, id) {
    const found = await read(db, id)
    if (!found) return []
    const booking = { ...OF_BOOKING, cosa: 'prenotazione' as const }
    return found.ospiti.length === 0
      ? [booking]
      : [booking, { ...OF_BOOKING, cosa: 'ospiti' as const, quanti: found.ospiti.length }]
  },

  async files (db, id) {
    const found = await read(db, id)
    if (!found) return []
    const { ospiti, ...booking } = found
    return [jsonFile('prenotazione.json', booking), jsonFile('ospiti.json', ospiti)]
  }
}

const OF_BOOKING = {
  ...REPORT_DEFAULTS,
  stato: 'finche_esiste_la_prenotazione',
  motivo: 'Gestione del soggiorno: resta finché la prenotazione non si elimina'
} as const

async function read (db: Executor, id: number) {
  const [found] = await db.select(detailColumns).from(t).where(eq(t.id, id))
  return found
}

const route = routesUnder('Riservatezza')

type App = Pick<FastifyInstance, 'db' | 'personalDataReports'>

const privacyRoute = route(
  { access: 'auth' }, 'getPrivacyPrenotazione', 'Che cosa è conservato di una prenotazione, fino a quando e perché', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA'],
    description: 'Anche di una prenotazione eliminata, finché ne resta qualcosa che la legge vuole conservato.',
    params: IdParams,
    response: { 200: PrivacyResponse }
  }
)

const exportRoute = {
  // No HEAD, because the audit log would record it as an export.
  exposeHeadRoute: false,
  ...route(
    { access: 'auth' },
    'exportPrenotazione', 'Tutti i dati di una prenotazione e dei suoi ospiti: un archivio ZIP di JSON e immagini', {
      errorCodes: ['PRENOTAZIONE_NON_TROVATA', ...READING_ERRORS],
      description: 'Un file che non si legge interrompe la risposta: un archivio che si apre è completo.',
      params: IdParams,
      response: {
        200: {
          description: 'L’archivio',
          content: { 'application/zip': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) } }
        }
      }
    }
  )
}

const erasureRoute = route(
  { access: 'auth' },
  'cancellaPrenotazione',
  'Cancella i dati di una prenotazione e dei suoi ospiti; resta ciò che la legge vuole conservato', {
    errorCodes: ['PRENOTAZIONE_NON_TROVATA', 'INVIO_IN_CORSO'],
    description:
      'Non si può annullare. Non con un invio alla Polizia aperto o di esito sconosciuto (409). Ripetuta, dice che ' +
      'cosa resta.',
    params: IdParams,
    body: Closed({}, { examples: [{}] }),
    response: { 200: ErasureResponse, 409: Ref(ErrorBody) }
  }
)

/** Routes for the rights of guests under GDPR, art. 15, 17 and 20: personal-data report, export, erasure. */
export const privacyRoutes: FastifyPluginAsyncTypebox<{ repository: BookingRepository }> = async (
  app,
  { repository }
) => {
  const { db, audit, personalDataReports } = app
  await app.register(emptyBody)
  app.addSchema(HeldData)
  app.addPersonalDataReport(bookingReport)

  app.get('/api/v1/prenotazioni/:id/privacy', privacyRoute, async (request) => ({
    data: await inOneSnapshot(app, (tx) => describe(app, tx, request.params.id))
  }))

  app.get('/api/v1/prenotazioni/:id/export', exportRoute, async (request, reply) => {
    const { id } = request.params
    return await reply.sendBytes(async () => {
      const files = await inOneSnapshot(app, (tx) => filesOf(app, tx, id))
      const object = `prenotazione:${id}`
      await audit.append(db, {
        ...authorOf(request), action: 'dati_esportati', object, details: { file: files.length }
      })
      reply.type('application/zip').header('content-disposition', `attachment; filename=prenotazione_${id}.zip`)
      return archive(files)
    })
  })

  app.post('/api/v1/prenotazioni/:id/cancellazione', erasureRoute, async (request) => {
    const { id } = request.params
    const { existed, before, after } = await repository.erase(id, authorOf(request), (tx) =>
      describePersonalData(personalDataReports, tx, id))
    app.files.removeDiscarded()
    return {
      message: existed ? `Prenotazione ${id} cancellata` : 'Non c’è più niente da cancellare',
      eliminati: existed ? before.filter(({ per_legge: isLegal }) => !isLegal) : [],
      conservati: after,
      status: 200
    }
  })
}

/** Reads all parts of the report from one snapshot. */
function inOneSnapshot<Result> ({ db }: App, read: (tx: Executor) => Promise<Result>): Promise<Result> {
  return db.transaction(read, { isolationLevel: 'repeatable read', accessMode: 'read only' })
}

/** @throws PrenotazioneNonTrovata when no data are stored */
async function describe ({ personalDataReports }: App, tx: Executor, id: number) {
  const conservati = await describePersonalData(personalDataReports, tx, id)
  if (conservati.length === 0) throw new PrenotazioneNonTrovata()
  return { prenotazione_id: id, esiste: await bookingExists(tx, id), conservati }
}

async function filesOf (app: App, tx: Executor, id: number): Promise<ExportFile[]> {
  const files = [jsonFile('privacy.json', await describe(app, tx, id))]
  for (const report of app.personalDataReports) files.push(...await report.files(tx, id))
  return files
}
