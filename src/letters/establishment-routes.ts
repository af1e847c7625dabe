import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { DocumentImage, DocumentImagePart } from '#schemas/document.ts'
import { DOWNLOAD_ERRORS, IMAGE_ERRORS } from '#schemas/errors/groups.ts'
import {
  Establishment, EstablishmentQuery, EstablishmentResponse, EstablishmentSaved, EstablishmentUpdate, LOGO_BODY_MAX,
  LogoRemoved, LogoResponse, LogoUpload
} from '#schemas/establishment.ts'
import { changedFields, type Establishments, type StoredEstablishment } from '#src/bookings/index.ts'
import type { Config } from '#src/config/config.ts'
import type { Transaction } from '#src/database/connect.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { expectedTags, isKnown } from '#src/lib/etag.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { StoredFile } from '#src/services/files/file-service.ts'
import { LogoNonTrovato } from './errors.ts'
import { findLogo, LOGO_PATH, writeLogo } from './logo.ts'

const route = routesUnder('Lettere')
const URL = '/api/v1/struttura'

interface EstablishmentOptions { config: Config, establishments: Establishments }

const getRoute = route({ access: 'auth' }, 'getStruttura', 'I dati della struttura nelle lettere', {
  errorCodes: ['STRUTTURA_NON_TROVATA'],
  description: 'Con struttura_id quelli di un’altra. Finché ha solo nome, indirizzo, luogo e CIN, le sue lettere ' +
    'hanno gli altri dati della prima.',
  querystring: EstablishmentQuery,
  response: { 200: EstablishmentResponse, 304: Type.Null() }
})

const updateRoute = route(
  { access: 'admin', versioned: true }, 'putStruttura', 'Cambia i dati della struttura che sono presenti', {
    errorCodes: ['STRUTTURA_CAMBIATA', 'STRUTTURA_NON_TROVATA'],
    description: 'Null svuota un campo: le lettere non lo nominano. Con If-Match si cambia solo quella versione.',
    querystring: EstablishmentQuery,
    body: EstablishmentUpdate,
    response: { 200: EstablishmentSaved }
  }
)

const saveLogoRoute = {
  bodyLimit: LOGO_BODY_MAX,
  ...route(
    { access: 'admin', holdsBody: true }, 'putLogo', 'Salva il logo delle lettere, al posto di quello che c’era', {
      errorCodes: [...IMAGE_ERRORS],
      description: 'PNG o JPEG di al massimo 5 MiB. È ricodificato senza metadati, con al massimo 800 pixel per lato.',
      body: LogoUpload,
      response: { 200: LogoResponse }
    }
  )
}

const logoRoute = route({ access: 'auth' }, 'getLogo', 'Il logo delle lettere', {
  errorCodes: ['LOGO_NON_TROVATO', ...DOWNLOAD_ERRORS],
  response: { 200: DocumentImage, 206: DocumentImagePart, 304: Type.Null() }
})

const deleteLogoRoute = route(
  { access: 'admin' }, 'deleteLogo', 'Elimina il logo delle lettere; quelle già create lo tengono', {
    errorCodes: ['LOGO_NON_TROVATO'], response: { 200: LogoRemoved }
  }
)

/**
 * The establishments' data for letters, and the logo at the head of letters. Every authenticated caller may read both.
 * Only administrators may change them.
 */
export const establishmentRoutes: FastifyPluginAsyncTypebox<EstablishmentOptions> = async (
  app, { config, establishments }
) => {
  const { audit, db, files } = app
  app.addSchema(Establishment)

  app.get(URL, getRoute, async (request, reply) => {
    const stored = await establishments.find(db, request.query.struttura_id)
    const logo = await findLogo(files, db)
    const tag = tagOf(stored.versione, logo)
    reply.header('etag', tag)
    if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
    return { data: present(stored, logo, config) }
  })

  app.put(URL, updateRoute, async (request, reply) => {
    const { body, headers, query: { struttura_id: id } } = request
    return await db.transaction(async (tx) => {
      const expected = expectedTags(headers['if-match'])
      const stored = await establishments.update(tx, body, async (versione) =>
        expected?.has(tagOf(versione, await findLogo(files, tx))) ?? true, id)
      const logo = await findLogo(files, tx)
      const data = present(stored, logo, config)
      const campi = changedFields(body)
      if (campi.length > 0) {
        const details = { campi, versione: stored.versione }
        const object = id === undefined ? 'struttura' : `struttura:${id}`
        await audit.append(tx, { ...authorOf(request), action: 'struttura_cambiata', object, details })
      }
      reply.header('etag', tagOf(stored.versione, logo))
      return { data, status: 200 }
    })
  })

  app.put(LOGO_PATH, saveLogoRoute, async (request, reply) => {
    const file = await writeLogo(app, reply, request.body.base64Image)
    await files.settle(file, () => db.transaction((tx) =>
      changeLogo(tx, request, () => files.keep(tx, file, { replace: false }))))
    return { success: true, message: 'Logo salvato', url: config.PUBLIC_URL + LOGO_PATH }
  })

  app.get(LOGO_PATH, logoRoute, async (_request, reply) => {
    const logo = await findLogo(files, db)
    if (!logo) throw new LogoNonTrovato()
    return await reply.sendObject(logo)
  })

  app.delete(LOGO_PATH, deleteLogoRoute, async (request) => {
    await db.transaction((tx) => changeLogo(tx, request))
    files.removeDiscarded()
    return { success: true, message: 'Logo eliminato' }
  })

  /** Replaces or removes the logo. */
  async function changeLogo (tx: Transaction, request: FastifyRequest, keep?: () => Promise<unknown>): Promise<void> {
    // Locks the row, so that concurrent changes of the logo run one after the other.
    await establishments.touch(tx)
    const before = await findLogo(files, tx)
    if (!before && !keep) throw new LogoNonTrovato()
    if (before) await files.discard(tx, [before])
    await keep?.()
    const details = { campi: ['logo'] }
    await audit.append(tx, { ...authorOf(request), action: 'struttura_cambiata', object: 'struttura', details })
  }
}

/** Includes the id of the logo's file, because `/storage/v1` can delete the file without a new version. */
function tagOf (versione: number, logo: StoredFile | undefined): string {
  return logo ? `"${versione}-${logo.id.slice(0, 8)}"` : `"${versione}"`
}

function present (
  { fields, updated_at }: StoredEstablishment, logo: StoredFile | undefined, { PUBLIC_URL }: Config
): Establishment {
  return { ...fields, logo: logo ? PUBLIC_URL + LOGO_PATH : null, updated_at: updated_at?.toISOString() ?? null }
}
