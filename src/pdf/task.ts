import { TemplateError } from './errors.ts'
import { usesBuiltIn, type PdfFault, type PdfJob, type ReportRows } from './pdf-jobs.ts'
import { renderHtml, renderPdf, type Rendered, type RenderedHtml, type RenderOptions } from './render.ts'
import type { Warning } from './layout/build.ts'
import { readCsvRows } from './tables/csv-rows.ts'
import { LETTER_TEMPLATE, readBuiltIn, REPORT_TEMPLATE } from './templates/built-in.ts'
import { letterData } from './templates/letter-data.ts'
import { reportData, type ReportRequest } from './templates/report-data.ts'

/** The result of a task. A TemplateError is returned as a fault, because an error loses its class between threads. */
type OrFault<T> = { fault: PdfFault } | { fault: null } & T

/** The worker task that makes a PDF. */
export default function makePdf (job: PdfJob): Promise<OrFault<Rendered>> {
  return orFault(job, renderPdf)
}

/** Makes the document as HTML, for an external engine. */
export function makeHtml (job: PdfJob): Promise<OrFault<RenderedHtml>> {
  return orFault(job, renderHtml)
}

async function orFault<T extends { warnings: Warning[] }> (
  job: PdfJob, render: (source: string, data: unknown, options: RenderOptions) => T | Promise<T>
): Promise<OrFault<T>> {
  try {
    const { source, data, language, warnings = [] } = await inputOf(job)
    const rendered = await render(source, data, { date: new Date(job.date), language, assets: job.assets })
    return { fault: null, ...rendered, warnings: [...warnings, ...rendered.warnings] }
  } catch (err) {
    if (!(err instanceof TemplateError)) throw err
    const { code, message, place, words } = err
    // Omit the position in a built-in template, because the caller does not have its text.
    const showsPlace = !usesBuiltIn(job) || code === 'CSV_NON_VALIDO'
    const { riga = null, colonna = null } = (showsPlace ? place : undefined) ?? {}
    return { fault: { code, message: showsPlace ? message : words, riga, colonna } }
  }
}

interface Input { source: string, data: unknown, language?: string | undefined, warnings?: Warning[] }

async function inputOf (job: PdfJob): Promise<Input> {
  switch (job.kind) {
    case 'template':
      return { source: job.source, language: job.language, data: 'body' in job ? fieldOf(job.body, 'data') : job.data }
    case 'letter': {
      const request = { ...job.request, hasLogo: Object.hasOwn(job.assets ?? {}, 'logo') }
      return { source: await readBuiltIn(LETTER_TEMPLATE), ...letterData(request) }
    }
    case 'report': {
      const table = tableOf(job.request)
      const source = job.source ?? await readBuiltIn(REPORT_TEMPLATE)
      const { data, warnings } = reportData({ ...job.request, ...table })
      return { source, data: { rows: table.rows, ...data }, language: 'it', warnings }
    }
  }
}

function tableOf (request: ReportRows): Pick<ReportRequest, 'rows' | 'lines'> {
  if ('rows' in request) return request
  if ('csv' in request) return readCsvRows(request.csv)
  return { rows: fieldOf(request.body, 'rows') as ReportRequest['rows'] }
}

/** Parses a field of the body, which the main thread has already validated. */
function fieldOf (body: string, name: 'data' | 'rows'): unknown {
  return (JSON.parse(body) as Record<string, unknown>)[name] ?? (name === 'data' ? {} : [])
}
