import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { type FieldError, IdParams } from '#schemas/common.ts'
import { DOWNLOAD_ERRORS, IMAGE_ERRORS, OCR_ERRORS } from '#schemas/errors/groups.ts'
import { IMAGE_BODY_MAX, SOURCE_WORDS } from '#schemas/image.ts'
import { PhotoBody, PhotoResponse } from '#schemas/photo.ts'
import {
  SaveScanResponse, SaveScanBody, Scan, ScanResponse, ScanDeletion, ScanGuestResponse, ScanGuestBody, ScanImage,
  ScanImagePart, ScanList, ScanQuery
} from '#schemas/scan.ts'
import { Segnalazione } from '#schemas/schedina.ts'
import type { Executor } from '#src/database/connect.ts'
import { disconnectSignal } from '#src/http/client-disconnects.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import type { Clock, Day } from '#src/lib/time.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { FileService } from '#src/services/files/file-service.ts'
import { ScansioneNonTrovata } from './errors.ts'
import { makeGuest } from './make-guest.ts'
import { savePhoto } from './photo.ts'
import { discardScans, picturesOf, SAVED } from './scan-pictures.ts'
import type { ScanRepository, StoredScan } from './repository.ts'
import type { ScanRetention } from './scan-retention.ts'
import { saveScan } from './save.ts'

/** Converts scans to the API's format. */
async function present (
  { files, repository, retention }: { files: FileService, repository: ScanRepository, retention: ScanRetention },
  db: Executor,
  scans: readonly StoredScan[]
): Promise<Scan[]> {
  const pictures = await picturesOf(files, db, scans.map(({ id }) => id))
  const statuses = await retention.statusesOf(db, scans)
  return scans.map((scan, at) => ({
    id: scan.id,
    ...repository.open(scan),
    prenotazione_id: scan.prenotazione_id,
    guest_idx: scan.guest_idx,
    immagine: pictures.has(scan.id) ? `/api/v1/scansioni/${scan.id}/immagine` : null,
    fino_a: statuses[at]!.until,
    created_at: scan.created_at.toISOString()
  }))
}

/** Validation errors of a scan that concern several fields, or depend on today. */
function scanErrors ({ body }: Pick<RequestFields, 'body'>, today: Day): FieldError[] {
  const { birthDate, name, surname, prenotazione_id: booking, guest_idx: guest } = body
  const isNameless = [name, surname].every((each) => typeof each === 'string' && each.trim() === '')
  return [
    ...(isNameless ? [{ campo: 'surname', messaggio: 'deve avere un valore se name è vuoto' }] : []),
    ...(typeof birthDate === 'string' ? birthErrors(birthDate, today) : []),
    ...(booking !== undefined && guest === undefined ? [missing('guest_idx', 'prenotazione_id')] : []),
    ...(booking === undefined && guest !== undefined ? [missing('prenotazione_id', 'guest_idx')] : [])
  ]
}

/** Refuses a birth date in the future. An empty date and unknown parts (00) are allowed. */
function birthErrors (birthDate: string, today: Day): FieldError[] {
  return birthDate > today ? [{ campo: 'birthDate', messaggio: 'è nel futuro' }] : []
}

function missing (campo: string, other: string): FieldError {
  return { campo, messaggio: `è un campo obbligatorio con ${other}` }
}

const route = routesUnder('Scansione')
const SCANS_URL = '/api/v1/scansioni'

interface ScanRoutesOptions { repository: ScanRepository, retention: ScanRetention, clock: Clock }

const saveRoute = {
  bodyLimit: IMAGE_BODY_MAX,
  ...route(
    { access: 'auth', idempotent: true, holdsBody: true },
    'saveScan', 'Salva i dati letti da un documento, cifrati, con l’immagine se c’è', {
      errorCodes: ['PRENOTAZIONE_NON_TROVATA', ...IMAGE_ERRORS],
      description:
        'Con prenotazione_id e guest_idx la scansione è di quell’ospite, e si elimina con le immagini dei documenti; ' +
        'altrimenti dopo IMAGE_RETENTION_DAYS giorni.',
      body: SaveScanBody,
      response: { 200: SaveScanResponse }
    }
  )
}

const listRoute = route({ access: 'auth' }, 'listScansioni', 'Le scansioni salvate, dalla più recente, a pagine', {
  querystring: ScanQuery, response: { 200: ScanList }
})

const getRoute = route({ access: 'auth' }, 'getScansione', 'Una scansione salvata', {
  errorCodes: ['SCANSIONE_NON_TROVATA'], params: IdParams, response: { 200: ScanResponse }
})

const pictureRoute = route({ access: 'auth' }, 'getImmagineScansione', 'L’immagine di una scansione', {
  errorCodes: ['SCANSIONE_NON_TROVATA', ...DOWNLOAD_ERRORS],
  params: IdParams,
  response: { 200: ScanImage, 206: ScanImagePart, 304: Type.Null() }
})

const deleteRoute = route(
  { access: 'auth' }, 'deleteScansione', 'Elimina una scansione con la sua immagine; l’ospite che ne è nato resta', {
    errorCodes: ['SCANSIONE_NON_TROVATA'], params: IdParams, response: { 200: ScanDeletion }
  }
)

const guestRoute = route(
  { access: 'auth', idempotent: true },
  'creaOspiteDaScansione', 'Salva il titolare del documento come ospite di una prenotazione', {
    errorCodes: ['SCANSIONE_NON_TROVATA', 'PRENOTAZIONE_NON_TROVATA'],
    description:
      '`dati` completa o corregge i campi dell’ospite. La risposta dice che cosa impedirebbe ancora l’invio.',
    params: IdParams,
    body: ScanGuestBody,
    response: { 200: ScanGuestResponse }
  }
)

const photoRoute = {
  bodyLimit: IMAGE_BODY_MAX,
  ...route(
    { access: 'auth', idempotent: true, holdsBody: true, heavy: true, headers: { reads: ['If-Match'] } } as const,
    'fotografaDocumento', 'Legge la fotografia di un documento, e ne salva l’ospite e l’immagine', {
      errorCodes: [
        'PRENOTAZIONE_NON_TROVATA', 'PRENOTAZIONE_MODIFICATA', 'DOCUMENTO_NON_LETTO', ...OCR_ERRORS,
        'ARCHIVIO_NON_DISPONIBILE'
      ],
      description:
        `${SOURCE_WORDS}. Si salvano insieme l’ospite e l’immagine, o niente. La risposta dice che cosa è letto, ` +
        'proposto, o manca, e che cosa impedirebbe ancora l’invio. Una proposta non sostituisce ciò che è già salvato.',
      params: IdParams,
      body: PhotoBody,
      response: { 200: PhotoResponse }
    }
  )
}

/** Routes of saved document scans, and of the photo that becomes a guest at once. */
export const scanRoutes: FastifyPluginAsyncTypebox<ScanRoutesOptions> = async (app, options) => {
  const { repository, retention, clock } = options
  const { db, files, audit, eraseResponses } = app
  const shown = { files, repository, retention }
  for (const schema of [Scan, Segnalazione]) app.addSchema(schema)

  const findValidationErrors = (fields: RequestFields) => scanErrors(fields, clock.today())

  app.post('/api/save-scan', { ...saveRoute, config: { ...saveRoute.config, findValidationErrors } },
    async (request, reply) => {
      const signal = disconnectSignal(reply)
      const { id, avvisi } = await saveScan(app, request, request.body, { repository, clock, signal })
      return { success: true, message: SAVED, id, avvisi }
    })

  app.get(SCANS_URL, listRoute, async (request, reply) => {
    const { limit = DEFAULT_LIMIT, cursor, conteggio = cursor === undefined, prenotazione_id } = request.query
    const { rows, next } = await repository.page(db, prenotazione_id, limit, cursor)
    if (conteggio) reply.header('x-total-count', await repository.count(db, prenotazione_id))
    if (next) reply.header('link', nextLink(SCANS_URL, request.query, next))
    return { data: await present(shown, db, rows) }
  })

  app.get(`${SCANS_URL}/:id`, getRoute, async (request) => {
    const [data] = await present(shown, db, [await repository.find(db, request.params.id)])
    return { data: data! }
  })

  app.get(`${SCANS_URL}/:id/immagine`, pictureRoute, async (request, reply) => {
    const { id } = request.params
    const picture = (await picturesOf(files, db, [id])).get(id)
    if (!picture) throw new ScansioneNonTrovata()
    return await reply.sendObject(picture)
  })

  app.delete(`${SCANS_URL}/:id`, deleteRoute, async (request) => {
    const { id } = request.params
    await db.transaction(async (tx) => {
      await repository.find(tx, id, { lock: true })
      await discardScans({ files, repository, eraseResponses }, tx, [id])
      await audit.append(tx, { ...authorOf(request), action: 'scansione_eliminata', object: `scansione:${id}` })
    })
    files.removeDiscarded()
    return { success: true, message: 'Scansione eliminata' }
  })

  app.post('/api/v1/prenotazioni/:id/scansione', photoRoute, async (request, reply) => {
    const { body: { side = 'front', ...photo }, params: { id: booking } } = request
    const data = await savePhoto(app, request, { ...photo, side, booking }, clock.today(), disconnectSignal(reply))
    return { data, status: 200 }
  })

  app.post(`${SCANS_URL}/:id/ospite`, guestRoute, async (request) => {
    const { id } = request.params
    const { prenotazione_id, guest_idx } = request.body
    const { ospite, avvisi } = await makeGuest(app, id, request.body, {
      repository, today: clock.today(), noteDone: (tx) => request.noteDone(tx)
    })
    const remarks = await app.bookingRemarks(db, prenotazione_id)
    const ofGuest = (each: { ospite: number }) => each.ospite === guest_idx
    return {
      data: {
        prenotazione_id,
        guest_idx,
        ospite,
        errors: remarks.errors.filter(ofGuest),
        warnings: remarks.warnings.filter(ofGuest),
        avvisi
      },
      status: 200
    }
  })
}
