import type { Problem } from './errors.ts'
import type { Asset } from './layout/build.ts'
import type { LetterRequest } from './templates/letter-data.ts'
import type { ReportRequest } from './templates/report-data.ts'

/**
 * The data of a template: an object, or a JSON body with a `data` field, which the worker parses. One long string is
 * transferred to a thread faster than a thousand objects.
 */
type TemplateData = { data: Record<string, unknown> } | { body: string }

/** The rows of a report: objects, a JSON body with a `rows` field, or a CSV file. */
export type ReportRows = { rows: ReportRequest['rows'] } | { body: string } | { csv: Uint8Array }

/** The source of a PDF: a user's template, or a built-in one. */
export type PdfSource =
  | { kind: 'template', source: string, language?: string | undefined } & TemplateData
  | { kind: 'letter', request: LetterRequest }
  /** With `source`, a user's report template replaces the built-in one. */
  | { kind: 'report', request: Omit<ReportRequest, 'rows' | 'lines'> & ReportRows, source?: string | undefined }

export type PdfJob = PdfSource & {
  /** The creation date in the PDF, in milliseconds since 1970. */
  date: number
  assets?: Record<string, Asset> | undefined
}

/** An error in the template or the data. `riga` and `colonna` are the position in the template or the CSV file. */
export interface PdfFault { code: Problem, message: string, riga: number | null, colonna: number | null }

/** True when the job uses a built-in template. */
export function usesBuiltIn (job: PdfSource): boolean {
  return job.kind === 'letter' || (job.kind === 'report' && job.source === undefined)
}
