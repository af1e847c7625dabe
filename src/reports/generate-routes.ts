import multipart from '@fastify/multipart'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Ref, type FieldError } from '#schemas/common.ts'
import { PdfBytesOrMade, PdfMade } from '#schemas/pdf.ts'
import { CSV_BYTES_MAX, PdfRequest, REPORT_BODY_MAX, ReportForm, ReportRequest } from '#schemas/report.ts'
import { TemplateFault } from '#schemas/template.ts'
import { PDF_ERRORS, TEMPLATE_ERRORS } from '#schemas/errors/groups.ts'
import type { Config } from '#src/config/config.ts'
import { prefers } from '#src/lib/accept-headers.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import { fileForm } from '#src/http/file-form.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { CampiNonValidi, CorpoNonUtf8 } from '#src/lib/errors.ts'
import { isUtf8OrWestern, utf16Of } from '#src/lib/utf8.ts'
import type { Clock } from '#src/lib/time.ts'
import { REPORT_TEMPLATE, warn, type GeneratedPdf, type PdfJob, type ReportRows } from '#src/pdf/index.ts'
import { ChiaveEseguita } from '#src/http/idempotency/plugin.ts'
import { storePdf, pdfResponse, makeFor, sendPdf, type App } from './stored-pdfs.ts'
import { findTemplate } from './templates/repository.ts'
import { ownerOf } from './pdf-owner.ts'

const route = routesUnder('PDF')

/** Maximum commas and colons in a body with rows: 20,000 rows of 20 columns. */
const MARKS_MAX = 1_000_000

export interface GenerateOptions { config: Config, clock: Clock }

const pdfRoute = {
  bodyLimit: REPORT_BODY_MAX,
  ...route(
    {
      access: 'auth',
      idempotent: true,
      heavy: true,
      holdsBody: true,
      marksMax: MARKS_MAX,
      findValidationErrors: ({ body }: RequestFields) => templateErrors(body)
    },
    'generatePdf', 'Crea un PDF da un modello salvato, o scritto nella richiesta, e lo conserva', {
      errorCodes: ['MODELLO_NON_TROVATO', ...TEMPLATE_ERRORS, ...PDF_ERRORS],
      description:
        'Gli avvisi (valori mancanti, caratteri sostituiti) stanno nell’intestazione X-PDF-Warnings, in JSON. ' +
        'Con il modello predefinito del report, data.rows sono le sue righe.',
      body: PdfRequest,
      response: { 200: Ref(PdfMade), 400: Ref(TemplateFault) }
    }
  )
}

const reportRoute = {
  bodyLimit: REPORT_BODY_MAX,
  ...route(
    { access: 'auth', idempotent: true, heavy: true, holdsBody: true, marksMax: MARKS_MAX },
    'generateReport', 'Crea il report finanziario di righe di qualsiasi forma', {
      errorCodes: ['MODELLO_NON_TROVATO', ...PDF_ERRORS],
      description:
        'Al massimo 20000 righe. Gli importi sono testi («1234.50», «1.234,50 €»), sommati al centesimo per ogni ' +
        'valuta. Il PDF si ' +
        'conserva per user_id o per la persona che chiama; con Accept: application/json in ogni caso.',
      body: ReportRequest,
      response: { 200: PdfBytesOrMade, 400: Ref(TemplateFault) }
    }
  )
}

/** Routes that make PDFs from templates, and financial reports from rows. */
export const generateRoutes: FastifyPluginAsyncTypebox<GenerateOptions> = async (app, { config, clock }) => {
  app.post('/api/generate-pdf', pdfRoute, onGeneratePdf)

  app.post('/api/generate-template', reportRoute, (request, reply) => {
    const { templateId, user_id, titolo, valuta } = request.body
    const wishes: ReportWishes = { templateId, user_id, titolo, valuta, rows: { body: request.bodyText } }
    return respondWithReport(app, { config, clock }, request, reply, wishes)
  })

  async function onGeneratePdf (request: FastifyRequest<{ Body: PdfRequest }>, reply: FastifyReply) {
    // A repeated request is answered from the record, unless the PDF was deleted since.
    request.isUndecided = true
    if (request.startedWork !== null) return pdfResponse(config.PUBLIC_URL, await findPdf(app, request, reply))
    const { body } = request
    const utente = await ownerOf(app, request, body.user_id)
    const pdf = await makeFor(app, reply, await jobOf(request))
    const template_id = body.template_id ?? null
    const nome = nameOf(body.nome, `documento-${clock.today()}`)
    const record = await storePdf(app, request, pdf, { tipo: 'documento_pdf', utente, template_id, nome })
    warn(reply, pdf)
    return pdfResponse(config.PUBLIC_URL, record)
  }

  async function jobOf ({ body, bodyText }: FastifyRequest<{ Body: PdfRequest }>): Promise<PdfJob> {
    const date = Date.parse(`${clock.today()}T00:00:00Z`)
    if (body.template_id === REPORT_TEMPLATE) {
      const { rows, titolo, struttura }: Record<string, unknown> = body.data ?? {}
      if (!Array.isArray(rows)) throw new CampiNonValidi({ campo: 'data.rows', messaggio: 'deve essere una lista' })
      const text = (value: unknown) => typeof value === 'string' ? value : undefined
      const request = { rows, titolo: text(titolo), struttura: text(struttura), data: clock.today() }
      return { kind: 'report', request, date }
    }
    const source = body.template ?? (await findTemplate(app.db, body.template_id!)).template
    // Empty data in the body are treated as missing.
    const data = body.data === undefined ? { data: {} } : { body: bodyText }
    return { kind: 'template', source, ...data, language: body.lingua, date }
  }
}

const form = fileForm(CSV_BYTES_MAX)

const csvRoute = {
  bodyLimit: form.bodyLimit,
  preParsing: form.check,
  preValidation: form.read,
  ...route(
    { access: 'auth', idempotent: true, heavy: true, holdsBody: true },
    'generateReportFromCsv', 'Crea il report finanziario di un file CSV', {
      errorCodes: ['CSV_NON_VALIDO', 'CONTENUTO_TROPPO_GRANDE', 'MODELLO_NON_TROVATO', ...PDF_ERRORS],
      description:
        'La prima riga dà i nomi delle colonne; il separatore (virgola, punto e virgola, tabulazione, barra) si ' +
        'riconosce da quella, o da «sep=;» in una riga prima. UTF-8, UTF-16 o Windows-1252. Dai valori di una ' +
        'colonna si ricava come vi sono scritti i numeri. Se non bastano, come 1.234 da solo, serve «decimali». ' +
        'Una colonna che non si può sommare sta negli avvisi, in X-PDF-Warnings. Per il resto come ' +
        '/api/generate-template.',
      consumes: ['multipart/form-data'],
      body: ReportForm,
      response: { 200: PdfBytesOrMade, 400: Ref(TemplateFault) }
    }
  )
}

/** Route that makes reports from CSV files. Its scope is separate, because only it accepts a form as body. */
export const csvRoutes: FastifyPluginAsyncTypebox<GenerateOptions> = async (app, { config, clock }) => {
  app.removeAllContentTypeParsers()
  await app.register(multipart, { limits: form.limits })

  app.post('/api/v1/report/csv', csvRoute, (request, reply) => {
    const { file, decimali, valuta, templateId, user_id, titolo } = request.body
    if (utf16Of(file) === undefined && !isUtf8OrWestern(file)) throw new CorpoNonUtf8('file')
    return respondWithReport(app, { config, clock }, request, reply, {
      rows: { csv: file }, decimali, valuta, templateId, user_id, titolo
    })
  })
}

/** A template must be given either by id or in the request, not both. */
function templateErrors ({ template_id, template }: Readonly<Record<string, unknown>>): FieldError[] {
  if ((template_id === undefined) !== (template === undefined)) return []
  return [{ campo: 'template_id', messaggio: 'va dato questo oppure template, non entrambi' }]
}

function nameOf (wanted: string | undefined, usual: string): string {
  const name = wanted?.trim() || usual
  return /\.pdf$/i.test(name) ? name : `${name}.pdf`
}

interface ReportWishes extends Pick<ReportForm, 'decimali' | 'valuta'> {
  rows: ReportRows
  templateId: string | undefined
  user_id: string | undefined
  titolo: string | undefined
}

/**
 * Creates a financial report and responds with the PDF, or with its URL when the client prefers JSON. The PDF is stored
 * if a person owns it, or if the client prefers JSON.
 */
async function respondWithReport (
  app: App, { config, clock }: GenerateOptions, request: FastifyRequest, reply: FastifyReply, wishes: ReportWishes
): Promise<unknown> {
  const wantsJson = prefers(request.headers.accept, 'application/json', 'application/pdf')
  if (request.startedWork !== null) return await respondToRepeatedReport(app, config, request, reply, wantsJson)
  const { templateId = REPORT_TEMPLATE, user_id, titolo } = wishes
  const utente = await ownerOf(app, request, user_id)
  const pdf = await makeFor(app, reply, await reportJob(app, clock, wishes))
  const nome = `${(titolo ?? 'report').trim() || 'report'}-${clock.today()}.pdf`
  warn(reply, pdf)
  // A repeated request is answered from the record, in the format that it accepts.
  request.isUndecided = true
  if (utente === null && !wantsJson) return sendPdf(reply, pdf.bytes, nome)
  const description = { tipo: 'report_finanziario' as const, utente, template_id: templateId, nome }
  const record = await storePdf(app, request, pdf, description)
  return wantsJson ? pdfResponse(config.PUBLIC_URL, record) : sendPdf(reply, pdf.bytes, nome)
}

async function reportJob (
  { db }: App, clock: Clock, { rows, templateId = REPORT_TEMPLATE, titolo, decimali, valuta }: ReportWishes
): Promise<PdfJob> {
  const source = templateId === REPORT_TEMPLATE ? undefined : (await findTemplate(db, templateId)).template
  const data = clock.today()
  const request = { ...rows, titolo, data, decimali, valuta }
  return { kind: 'report', request, source, date: Date.parse(`${data}T00:00:00Z`) }
}

async function respondToRepeatedReport (
  app: App, config: Config, request: FastifyRequest, reply: FastifyReply, wantsJson: boolean
): Promise<unknown> {
  request.isUndecided = true
  const record = await findPdf(app, request, reply)
  const object = await app.files.find(app.db, record.bucket, record.oggetto)
  if (!object) throw new ChiaveEseguita()
  if (wantsJson) return pdfResponse(config.PUBLIC_URL, record)
  const pieces = await (await app.files.read(object)).toArray() as Buffer[]
  return sendPdf(reply, Buffer.concat(pieces), record.nome)
}

/** The record of an earlier request with the same key. @throws ChiaveEseguita when it was deleted */
async function findPdf ({ db, pdf }: App, { startedWork }: FastifyRequest, reply: FastifyReply): Promise<GeneratedPdf> {
  const record = await pdf.find(db, startedWork![0]!)
  if (!record) throw new ChiaveEseguita()
  reply.header('idempotency-replayed', 'true')
  return record
}
