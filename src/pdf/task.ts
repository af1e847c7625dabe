import { readFile } from 'node:fs/promises'
import { TemplateError, type Problem } from './errors.ts'
import type { Asset, Warning } from './layout/context.ts'
import { renderPdf } from './render.ts'
import { letterData, type LetterRequest } from './templates/letter.ts'
import { reportData, type ReportRequest } from './templates/report.ts'

/** What is to be made: from a template that somebody wrote, or one of the product's own. */
export type PdfSource =
  | { kind: 'template', source: string, data: Record<string, unknown>, language?: string | undefined }
  | { kind: 'letter', request: LetterRequest }
  | { kind: 'report', request: ReportRequest }

export type PdfJob = PdfSource & {
  /** Milliseconds since 1970: when the PDF says that it was made. */
  date: number
  assets?: Record<string, Asset> | undefined
}

/** A fault of the template or of the data; `riga` and `colonna` are in the template. */
export interface PdfFault { code: Problem, message: string, riga: number | null, colonna: number | null }
export type PdfResult =
  | { fault: PdfFault }
  | { fault: null, bytes: Uint8Array, pages: number, warnings: Warning[] }

/** Runs in a thread of `app.workers`: a fault is a part of the result, since an error would lose its class. */
export default async function makePdf (job: PdfJob): Promise<PdfResult> {
  try {
    const { source, data, language } = await inputOf(job)
    const made = await renderPdf(source, data, { date: new Date(job.date), language, assets: job.assets })
    return { fault: null, ...made }
  } catch (err) {
    if (!(err instanceof TemplateError)) throw err
    const { code, message, place } = err
    return { fault: { code, message, riga: place?.riga ?? null, colonna: place?.colonna ?? null } }
  }
}

async function inputOf (job: PdfJob): Promise<{ source: string, data: unknown, language?: string | undefined }> {
  switch (job.kind) {
    case 'template':
      return job
    case 'letter': {
      const request = { ...job.request, hasLogo: Object.hasOwn(job.assets ?? {}, 'logo') }
      return { source: await ownTemplate('welcome-letter'), ...letterData(request) }
    }
    case 'report':
      return { source: await ownTemplate('report'), data: reportData(job.request), language: 'it' }
  }
}

function ownTemplate (name: 'welcome-letter' | 'report'): Promise<string> {
  return readFile(new URL(`templates/${name}.liquid`, import.meta.url), 'utf8')
}
