import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref } from '#schemas/common.ts'
import { PdfBytesOrMade } from '#schemas/pdf.ts'
import { CSV_BYTES_MAX, ReportForm } from '#schemas/report.ts'
import { TemplateFault } from '#schemas/template.ts'
import { PDF_ERRORS } from '#schemas/errors/groups.ts'
import { fileForm } from '#src/http/file-form.ts'
import type { GenerateOptions } from './generate-routes.ts'
import { answerReport } from './report.ts'

/** Reports from CSV files, in a scope of their own: here alone a body is a form. */
export const csvRoutes: FastifyPluginAsyncTypebox<GenerateOptions> = async (app, { config, clock }) => {
  const form = fileForm(CSV_BYTES_MAX)
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits: form.limits })

  app.route({
    method: 'POST',
    url: '/api/v1/report/csv',
    bodyLimit: form.bodyLimit,
    config: { access: 'auth', idempotent: true, heavy: true, holdsBody: true },
    schema: {
      operationId: 'generateReportFromCsv',
      errorCodes: ['CSV_NON_VALIDO', 'CONTENUTO_TROPPO_GRANDE', 'MODELLO_NON_TROVATO', ...PDF_ERRORS],
      tags: ['PDF'],
      summary: 'Crea il report finanziario di un file CSV',
      description:
        'La prima riga dà i nomi delle colonne; il separatore (virgola, punto e virgola, tabulazione, barra) si ' +
        'riconosce da quella, o da «sep=;» in una riga prima. UTF-8 o Windows-1252. Numeri come 1.234,50 o 1.234 ' +
        'vogliono «decimali». Per il resto come /api/generate-template.',
      consumes: ['multipart/form-data'],
      body: ReportForm,
      response: { 200: PdfBytesOrMade, 400: Ref(TemplateFault) }
    },
    preParsing: form.check,
    preValidation: form.read,
    handler: (request, reply) => {
      const { file, decimali, templateId, user_id, titolo } = request.body
      return answerReport(app, { config, clock }, request, reply, {
        rows: { csv: { bytes: file, decimali } }, templateId, user_id, titolo
      })
    }
  })
}
