import type { Problem } from './errors.ts'
import type { Asset } from './layout/build.ts'
import type { CsvFile } from './tables/csv-file.ts'
import type { LetterRequest } from './templates/letter-data.ts'
import type { ReportRequest } from './templates/report-data.ts'

/**
 * The data of a template: as they are, or as the field `data` of a body in JSON, which only the thread reads. A long
 * text is handed over at once, where a thousand objects are not.
 */
export type TemplateData = { data: Record<string, unknown> } | { body: string }

/** The rows of a report: as they are, as the field `rows` of a body in JSON, or as a CSV file. */
export type ReportRows = { rows: ReportRequest['rows'] } | { body: string } | { csv: CsvFile }

/** What is to be made: from a template that somebody wrote, or one of the product's own. */
export type PdfSource =
  | { kind: 'template', source: string, language?: string | undefined } & TemplateData
  | { kind: 'letter', request: LetterRequest }
  /** With `source`, by a template that somebody wrote for reports. */
  | { kind: 'report', request: Omit<ReportRequest, 'rows'> & ReportRows, source?: string | undefined }

export type PdfJob = PdfSource & {
  /** Milliseconds since 1970: when the PDF says that it was made. */
  date: number
  assets?: Record<string, Asset> | undefined
}

/** A fault of the template or of the data; `riga` and `colonna` are in the template, or in the CSV file. */
export interface PdfFault { code: Problem, message: string, riga: number | null, colonna: number | null }

/** Whether the template is one of the product's own. */
export function isOfProduct (job: PdfSource): boolean {
  return job.kind === 'letter' || (job.kind === 'report' && job.source === undefined)
}
