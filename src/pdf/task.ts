import { TemplateError } from './errors.ts'
import { isOfProduct, type PdfFault, type PdfJob, type ReportRows } from './pdf-jobs.ts'
import type { Warning } from './layout/build.ts'
import { renderHtml, renderPdf, type RenderedHtml } from './render.ts'
import { readCsv } from './tables/csv-file.ts'
import { LETTER_TEMPLATE, readBuiltIn, REPORT_TEMPLATE } from './templates/built-in.ts'
import { letterData } from './templates/letter-data.ts'
import { reportData, type ReportRequest } from './templates/report-data.ts'

export type PdfResult =
  | { fault: PdfFault }
  | { fault: null, bytes: Uint8Array, pages: number, warnings: Warning[] }

/** Runs in a thread of `app.workers`: a fault is a part of the result, since an error would lose its class. */
export default async function makePdf (job: PdfJob): Promise<PdfResult> {
  return await orFault(job, async () => {
    const { source, data, language } = await inputOf(job)
    return await renderPdf(source, data, { date: new Date(job.date), language, assets: job.assets })
  })
}

/** The page for another engine, or a fault. */
export type HtmlResult = { fault: PdfFault } | { fault: null } & RenderedHtml

/** The same document as HTML, for another engine; runs in a thread, too. */
export async function makeHtml (job: PdfJob): Promise<HtmlResult> {
  return await orFault(job, async () => {
    const { source, data, language } = await inputOf(job)
    return renderHtml(source, data, { date: new Date(job.date), language, assets: job.assets })
  })
}

async function orFault<T extends object> (
  job: PdfJob, make: () => Promise<T>
): Promise<{ fault: PdfFault } | { fault: null } & T> {
  try {
    return { fault: null, ...await make() }
  } catch (err) {
    if (!(err instanceof TemplateError)) throw err
    const { code, message, place, words } = err
    // A line of a template that nobody has written says nothing to the caller.
    const says = !isOfProduct(job) || code === 'CSV_NON_VALIDO'
    const { riga = null, colonna = null } = (says ? place : undefined) ?? {}
    return { fault: { code, message: says ? message : words, riga, colonna } }
  }
}

interface Input { source: string, data: unknown, language?: string | undefined }

async function inputOf (job: PdfJob): Promise<Input> {
  switch (job.kind) {
    case 'template':
      return { source: job.source, language: job.language, data: 'body' in job ? fieldOf(job.body, 'data') : job.data }
    case 'letter': {
      const request = { ...job.request, hasLogo: Object.hasOwn(job.assets ?? {}, 'logo') }
      return { source: await readBuiltIn(LETTER_TEMPLATE), ...letterData(request) }
    }
    case 'report': {
      const rows = rowsOf(job.request)
      const source = job.source ?? await readBuiltIn(REPORT_TEMPLATE)
      return { source, data: { rows, ...reportData({ ...job.request, rows }) }, language: 'it' }
    }
  }
}

function rowsOf (request: ReportRows): ReportRequest['rows'] {
  if ('rows' in request) return request.rows
  if ('csv' in request) return readCsv(request.csv)
  return fieldOf(request.body, 'rows') as ReportRequest['rows']
}

/** The body was parsed and held against its schema before. */
function fieldOf (body: string, name: 'data' | 'rows'): unknown {
  return (JSON.parse(body) as Record<string, unknown>)[name] ?? (name === 'data' ? {} : [])
}
