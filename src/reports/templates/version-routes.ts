import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  TemplateAnswer, TemplateParams, TemplateVersionParams, TemplateVersions
} from '#schemas/template.ts'
import { findVersion, listVersions } from './versions.ts'

const tags = ['PDF']
const URL = '/api/v1/templates/:id/versioni'

/** What saved templates were before: who wants a version again saves its text. */
export const versionRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { db } = app

  app.route({
    method: 'GET',
    url: URL,
    config: { access: 'auth' },
    schema: {
      operationId: 'listVersioniModello',
      errorCodes: ['MODELLO_NON_TROVATO'],
      tags,
      summary: 'Le versioni di un modello dei PDF, dall’ultima: se ne conservano 50',
      params: TemplateParams,
      response: { 200: TemplateVersions }
    },
    handler: async (request) => ({
      data: (await listVersions(db, request.params.id)).map(({ updated_at, ...version }) => ({
        ...version, updated_at: updated_at.toISOString()
      }))
    })
  })

  app.route({
    method: 'GET',
    url: `${URL}/:versione`,
    config: { access: 'auth' },
    schema: {
      operationId: 'getVersioneModello',
      errorCodes: ['MODELLO_NON_TROVATO', 'VERSIONE_NON_TROVATA'],
      tags,
      summary: 'Un modello dei PDF come era in una sua versione',
      params: TemplateVersionParams,
      response: { 200: TemplateAnswer }
    },
    handler: async (request) => {
      const { id, versione } = request.params
      const { updated_at, variabili, ...rest } = await findVersion(db, id, versione)
      return { data: { ...rest, variabili: variabili ?? [], updated_at: updated_at?.toISOString() ?? null } }
    }
  })
}
