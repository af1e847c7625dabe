import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import {
  Establishment, EstablishmentAnswer, EstablishmentSaved, EstablishmentUpdate
} from '#schemas/establishment.ts'
import type { Config } from '#src/config/config.ts'
import { expectedTags, isKnown } from '#src/lib/etag.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { StoredObject } from '#src/services/files/storage.ts'
import { changedFields, type Establishments, type StoredEstablishment } from './establishment.ts'
import { findLogo, LOGO_PATH } from './logo.ts'

const tags = ['Lettere']
const URL = '/api/v1/struttura'

interface EstablishmentOptions { config: Config, establishments: Establishments }

/** What the house says of itself in its letters: everybody may read it, administrators change it. */
export const establishmentRoutes: FastifyPluginAsyncTypebox<EstablishmentOptions> = async (
  app, { config, establishments }
) => {
  const { audit, db, storage } = app
  app.addSchema(Establishment)

  const present = ({ fields, updated_at }: StoredEstablishment, logo: StoredObject | undefined): Establishment => ({
    ...fields,
    logo: logo ? config.PUBLIC_URL + LOGO_PATH : null,
    updated_at: updated_at?.toISOString() ?? null
  })

  app.route({
    method: 'GET',
    url: URL,
    config: { access: 'auth' },
    schema: {
      operationId: 'getStruttura',
      tags,
      summary: 'Che cosa la struttura dice di sé nelle lettere',
      response: { 200: EstablishmentAnswer, 304: Type.Null() }
    },
    handler: async (request, reply) => {
      const stored = await establishments.find(db)
      const logo = await findLogo(storage, db)
      const tag = tagOf(stored.versione, logo)
      reply.header('etag', tag)
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send(null)
      return { data: present(stored, logo) }
    }
  })

  app.route({
    method: 'PUT',
    url: URL,
    config: { access: 'admin', versioned: true },
    schema: {
      operationId: 'putStruttura',
      errorCodes: ['STRUTTURA_CAMBIATA'],
      tags,
      summary: 'Cambia i campi presenti di ciò che la struttura dice di sé',
      description: 'Null svuota un campo: le lettere non lo nominano. Con If-Match si cambia solo quella versione.',
      body: EstablishmentUpdate,
      response: { 200: EstablishmentSaved }
    },
    handler: async (request, reply) => {
      const { body, headers } = request
      return await db.transaction(async (tx) => {
        const expected = expectedTags(headers['if-match'])
        const stored = await establishments.update(tx, body, async (versione) =>
          expected?.has(tagOf(versione, await findLogo(storage, tx))) ?? true)
        const logo = await findLogo(storage, tx)
        const data = present(stored, logo)
        const campi = changedFields(body)
        if (campi.length > 0) {
          const details = { campi, versione: stored.versione }
          await audit.append(tx, { ...authorOf(request), action: 'struttura_cambiata', object: 'struttura', details })
        }
        reply.header('etag', tagOf(stored.versione, logo))
        return { data, status: 200 }
      })
    }
  })
}

/** The logo is a file that may go, or be replaced, as any other of the storage, and the version does not tell that. */
function tagOf (versione: number, logo: StoredObject | undefined): string {
  return logo ? `"${versione}-${logo.id.slice(0, 8)}"` : `"${versione}"`
}
