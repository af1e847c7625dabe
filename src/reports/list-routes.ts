import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import {
  PdfBytes, PdfBytesPart, PdfHistory, PdfHistoryItem, PdfHistoryQuery, PdfList, PdfListItem, PdfListQuery, PdfParams,
  PdfRemoved
} from '#schemas/pdf.ts'
import type { Config } from '#src/config/config.ts'
import { DEFAULT_LIMIT, encodeCursor, nextLink } from '#src/lib/paging.ts'
import type { GeneratedPdf, PdfFilters } from '#src/pdf/index.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { downloadUrl } from './answers.ts'
import { PdfDiLettera, PdfNonTrovato } from './errors.ts'
import { checkVisible, visibleTo } from './whose.ts'

/** Rows fetched at a time: what a full list holds in memory. */
const BATCH = 1000

interface Paging { limit?: number, cursor?: string, conteggio?: boolean }

/** Answers with a list of PDFs: whole, as a stream, or the page that the query asks for. */
async function answerList<T extends object> (
  { db, pdf }: Pick<FastifyInstance, 'db' | 'pdf'>,
  request: FastifyRequest<{ Querystring: Paging }>,
  reply: FastifyReply,
  { filters, path, present }: { filters: PdfFilters, path: string, present: (row: GeneratedPdf) => T }
): Promise<FastifyReply | { data: T[] }> {
  const { limit, cursor, conteggio = cursor === undefined } = request.query
  if (limit === undefined && cursor === undefined) {
    if (conteggio) reply.header('x-total-count', await pdf.count(db, filters))
    return reply.sendPieces(async function * list (takeTurn) {
      let separator = '{"data":['
      let position: string | undefined
      do {
        const after = position
        const { data, next } = await pdf.page(db, filters, BATCH, after)
        if (next) takeTurn()
        const json = data.map((row) => JSON.stringify(present(row))).join()
        if (json !== '') yield separator + json
        if (json !== '') separator = ','
        position = next && encodeCursor(next)
      } while (position !== undefined)
      yield separator === ',' ? ']}' : `${separator}]}`
    })
  }
  const { data, next } = await pdf.page(db, filters, limit ?? DEFAULT_LIMIT, cursor)
  if (conteggio) reply.header('x-total-count', await pdf.count(db, filters))
  if (next) reply.header('link', nextLink(path, request.query, next))
  return { data: data.map(present) }
}

const tags = ['PDF']

/** The PDFs that were made and are kept. */
export const listRoutes: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  const { audit, db, pdf, storage } = app
  for (const schema of [PdfListItem, PdfHistoryItem]) app.addSchema(schema)

  const inList = (row: GeneratedPdf): PdfListItem => ({
    id: row.id,
    nome: row.nome,
    created_at: row.created_at.toISOString(),
    download_url: downloadUrl(config.PUBLIC_URL, row)
  })
  const inHistory = (row: GeneratedPdf): PdfHistoryItem => ({
    id: row.id,
    tipo: row.tipo,
    utente: row.utente ?? '',
    template_id: row.template_id ?? '',
    created_at: row.created_at.toISOString(),
    stato: row.stato,
    download_url: downloadUrl(config.PUBLIC_URL, row)
  })

  app.route({
    method: 'GET',
    url: '/api/csv-pdf-list',
    config: { access: 'auth' },
    schema: {
      operationId: 'listPdf',
      tags,
      summary: 'I report e i documenti PDF di una persona, dal più recente',
      querystring: PdfListQuery,
      response: { 200: PdfList }
    },
    handler: async (request, reply) => {
      const { user_id: utente } = request.query
      await checkVisible(app, request, utente)
      const filters = { utente, tipi: ['report_finanziario', 'documento_pdf'] as const }
      return await answerList(app, request, reply, { filters, path: '/api/csv-pdf-list', present: inList })
    }
  })

  app.route({
    method: 'GET',
    url: '/api/history',
    config: { access: 'auth' },
    schema: {
      operationId: 'listStoriaPdf',
      tags,
      summary: 'Tutti i PDF che chi chiama può vedere, dal più recente',
      querystring: PdfHistoryQuery,
      response: { 200: PdfHistory }
    },
    handler: async (request, reply) => {
      const filters = { utente: await visibleTo(app, request) }
      return await answerList(app, request, reply, { filters, path: '/api/history', present: inHistory })
    }
  })

  app.route({
    method: 'GET',
    url: '/api/csv-pdf-download/:id',
    config: { access: 'auth' },
    schema: {
      operationId: 'downloadPdf',
      errorCodes: ['PDF_NON_TROVATO', ...DOWNLOAD_ERRORS],
      tags,
      summary: 'Un PDF che è stato conservato',
      params: PdfParams,
      response: { 200: PdfBytes, 206: PdfBytesPart, 304: Type.Null() }
    },
    handler: async (request, reply) => {
      const record = await pdf.find(db, request.params.id)
      if (!record) throw new PdfNonTrovato()
      await checkVisible(app, request, record.utente)
      const object = await storage.find(db, record.bucket, record.oggetto)
      if (!object) throw new PdfNonTrovato()
      return await reply.sendObject(object, { download: record.nome })
    }
  })

  app.route({
    method: 'DELETE',
    url: '/api/v1/pdf/:id',
    config: { access: 'auth' },
    schema: {
      operationId: 'deletePdf',
      errorCodes: ['PDF_NON_TROVATO', 'PDF_DI_LETTERA'],
      tags,
      summary: 'Elimina un report o un documento PDF che è stato conservato',
      params: PdfParams,
      response: { 200: PdfRemoved }
    },
    handler: async (request) => {
      const record = await pdf.find(db, request.params.id)
      if (!record) throw new PdfNonTrovato()
      await checkVisible(app, request, record.utente)
      if (record.tipo === 'lettera_benvenuto') throw new PdfDiLettera()
      await db.transaction(async (tx) => {
        await pdf.remove(tx, [record.id])
        await audit.append(tx, { ...authorOf(request), action: 'pdf_eliminato', object: `pdf:${record.id}` })
      })
      storage.removeDiscarded()
      return { message: 'PDF eliminato', status: 200 }
    }
  })
}
