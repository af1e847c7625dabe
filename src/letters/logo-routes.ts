import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { DocumentImage, DocumentImagePart } from '#schemas/document.ts'
import { LOGO_BODY_MAX, LogoAnswer, LogoRemoved, LogoUpload } from '#schemas/establishment.ts'
import { IMAGE_ERRORS, DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import type { Config } from '#src/config/config.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { LogoNonTrovato } from './errors.ts'
import type { Establishments } from './establishment.ts'
import { findLogo, LOGO_PATH, writeLogo } from './logo.ts'

const tags = ['Lettere']

interface LogoOptions { config: Config, establishments: Establishments }

/** The logo that stands at the head of letters: everybody may see it, administrators change it. */
export const logoRoutes: FastifyPluginAsyncTypebox<LogoOptions> = async (app, { config, establishments }) => {
  const { audit, db, storage } = app

  /** Another logo, or none, in the place of the one before. */
  async function change (tx: Transaction, request: FastifyRequest, keep?: () => Promise<unknown>): Promise<void> {
    // Changes follow each other.
    await establishments.touch(tx)
    const before = await findLogo(storage, tx)
    if (!before && !keep) throw new LogoNonTrovato()
    if (before) await storage.discard(tx, [before])
    await keep?.()
    const details = { campi: ['logo'] }
    await audit.append(tx, { ...authorOf(request), action: 'struttura_cambiata', object: 'struttura', details })
  }

  app.route({
    method: 'PUT',
    url: LOGO_PATH,
    bodyLimit: LOGO_BODY_MAX,
    config: { access: 'admin', holdsBody: true },
    schema: {
      operationId: 'putLogo',
      errorCodes: [...IMAGE_ERRORS],
      tags,
      summary: 'Salva il logo delle lettere, al posto di quello che c’era',
      description: 'PNG o JPEG di al massimo 5 MiB. È ricodificato senza metadati, con al massimo 800 pixel per lato.',
      body: LogoUpload,
      response: { 200: LogoAnswer }
    },
    handler: async (request, reply) => {
      const file = await writeLogo(app, reply, request.body.base64Image)
      await storage.settle(file, () => db.transaction((tx) =>
        change(tx, request, () => storage.keep(tx, file, { replace: false }))))
      return { success: true, message: 'Logo salvato', url: config.PUBLIC_URL + LOGO_PATH }
    }
  })

  app.route({
    method: 'GET',
    url: LOGO_PATH,
    config: { access: 'auth' },
    schema: {
      operationId: 'getLogo',
      errorCodes: ['LOGO_NON_TROVATO', ...DOWNLOAD_ERRORS],
      tags,
      summary: 'Il logo delle lettere',
      response: { 200: DocumentImage, 206: DocumentImagePart, 304: Type.Null() }
    },
    handler: async (_request, reply) => {
      const logo = await findLogo(storage, db)
      if (!logo) throw new LogoNonTrovato()
      return await reply.sendObject(logo)
    }
  })

  app.route({
    method: 'DELETE',
    url: LOGO_PATH,
    config: { access: 'admin' },
    schema: {
      operationId: 'deleteLogo',
      errorCodes: ['LOGO_NON_TROVATO'],
      tags,
      summary: 'Elimina il logo delle lettere; quelle già create lo tengono',
      response: { 200: LogoRemoved }
    },
    handler: async (request) => {
      await db.transaction((tx) => change(tx, request))
      storage.removeDiscarded()
      return { success: true, message: 'Logo eliminato' }
    }
  })
}
