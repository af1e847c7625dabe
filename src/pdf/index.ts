/* Exports of pdf for other areas. Their import does not load the PDF engine. */
export { default as pdf, warn, type Pdf } from './plugin.ts'
export type { GeneratedPdf, NewPdf, PdfFilters, PdfPage } from './records.ts'
export type { PdfJob, PdfSource, ReportRows } from './pdf-jobs.ts'
export { builtInTemplates, LETTER_TEMPLATE, REPORT_TEMPLATE, type BuiltIn } from './templates/built-in.ts'
export { ModelloNonValido } from './request-error.ts'
export { plainAmount, readWritten } from './tables/amounts.ts'
