import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { DOWNLOAD_ERRORS } from '#schemas/errors/groups.ts'
import {
  PdfBytes, PdfBytesPart, PdfHistory, PdfHistoryItem, PdfHistoryQuery, PdfList, PdfListItem, PdfListQuery, PdfParams,
  PdfRemoved
} from '#schemas/pdf.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import type { Config } from '#src/config/config.ts'
import { sendList } from '#src/http/list-responses.ts'
import type { GeneratedPdf, PdfFilters } from '#src/pdf/index.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { downloadUrl } from './stored-pdfs.ts'
import { PdfDiLettera, PdfNonTrovato } from './errors.ts'
import { checkVisible, visibleTo } from './pdf-owner.ts'

const route = routesUnder('PDF')

const listRoute = route({ access: 'auth' }, 'listPdf', 'I report e i documenti PDF di una persona, dal più recente', {
  querystring: PdfListQuery, response: { 200: PdfList }
})

const historyRoute = route(
  { access: 'auth' }, 'listStoriaPdf', 'Tutti i PDF che chi chiama può vedere, dal più recente', {
    querystring: PdfHistoryQuery, response: { 200: PdfHistory }
  }
)

const downloadRoute = route({ access: 'auth' }, 'downloadPdf', 'Un PDF che è stato conservato', {
  errorCodes: ['PDF_NON_TROVATO', ...DOWNLOAD_ERRORS],
  params: PdfParams,
  response: { 200: PdfBytes, 206: PdfBytesPart, 304: Type.Null() }
})

const deleteRoute = route(
  { access: 'auth' }, 'deletePdf', 'Elimina un report o un documento PDF che è stato conservato', {
    errorCodes: ['PDF_NON_TROVATO', 'PDF_DI_LETTERA'], params: PdfParams, response: { 200: PdfRemoved }
  }
)

/** Routes of the stored PDFs. */
export const listRoutes: FastifyPluginAsyncTypebox<{ config: Config }> = async (app, { config }) => {
  const { audit, db, pdf, files } = app
  for (const schema of [PdfListItem, PdfHistoryItem]) app.addSchema(schema)

  const listed = (filters: PdfFilters) => ({
    page: (limit: number, cursor: string | undefined) => pdf.page(db, filters, limit, cursor),
    count: () => pdf.count(db, filters)
  })
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

  app.get('/api/csv-pdf-list', listRoute, async (request, reply) => {
    const { user_id: utente } = request.query
    await checkVisible(app, request, utente)
    const filters = { utente, tipi: ['report_finanziario', 'documento_pdf'] as const }
    return await sendList(request, reply, { path: '/api/csv-pdf-list', ...listed(filters), present: inList })
  })

  app.get('/api/history', historyRoute, async (request, reply) => {
    const filters = { utente: await visibleTo(app, request) }
    return await sendList(request, reply, { path: '/api/history', ...listed(filters), present: inHistory })
  })

  app.get('/api/csv-pdf-download/:id', downloadRoute, async (request, reply) => {
    const record = await pdf.find(db, request.params.id)
    if (!record) throw new PdfNonTrovato()
    await checkVisible(app, request, record.utente)
    const object = await files.find(db, record.bucket, record.oggetto)
    if (!object) throw new PdfNonTrovato()
    return await reply.sendObject(object, { download: record.nome })
  })

  app.delete('/api/v1/pdf/:id', deleteRoute, async (request) => {
    const record = await pdf.find(db, request.params.id)
    if (!record) throw new PdfNonTrovato()
    await checkVisible(app, request, record.utente)
    if (record.tipo === 'lettera_benvenuto') throw new PdfDiLettera()
    await db.transaction(async (tx) => {
      await pdf.remove(tx, [record.id])
      await audit.append(tx, { ...authorOf(request), action: 'pdf_eliminato', object: `pdf:${record.id}` })
    })
    files.removeDiscarded()
    return { message: 'PDF eliminato', status: 200 }
  })
}
