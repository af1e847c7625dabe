import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { and, desc, eq } from 'drizzle-orm'
import { pdf_template_versions as t } from '#drizzle/tables/reports.ts'
import { TemplateAnswer, TemplateParams, TemplateVersionParams, TemplateVersions } from '#schemas/template.ts'
import type { Executor } from '#src/database/connect.ts'
import { VersioneNonTrovata } from '../errors.ts'
import { findTemplate, type StoredTemplate } from './repository.ts'

type ListedVersion = Pick<typeof t.$inferSelect, 'versione' | 'nome' | 'updated_at'>

/**
 * The versions of a template that are kept, the newest first; one of the product has none.
 * @throws ModelloNonTrovato
 */
async function listVersions (db: Executor, id: string): Promise<ListedVersion[]> {
  await findTemplate(db, id)
  return await db.select({ versione: t.versione, nome: t.nome, updated_at: t.updated_at }).from(t)
    .where(eq(t.id, id)).orderBy(desc(t.versione))
}

/**
 * A template as it was in one of its versions.
 * @throws ModelloNonTrovato, VersioneNonTrovata
 */
async function findVersion (db: Executor, id: string, versione: number): Promise<StoredTemplate> {
  const { predefinito } = await findTemplate(db, id)
  const [row] = await db.select().from(t).where(and(eq(t.id, id), eq(t.versione, versione)))
  if (!row) throw new VersioneNonTrovata()
  return { ...row, predefinito }
}

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
