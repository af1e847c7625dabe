/* What other areas may use of PDFs. None of it loads the engine. */
export { default as pdf } from './plugin.ts'
export { ModelloNonValido, type Pdf } from './make.ts'
export type { GeneratedPdf, NewPdf, PdfFilters, PdfPage } from './records.ts'
export type { PdfJob, PdfSource, ReportRows } from './task.ts'
export type { Establishment, LetterRequest, LetterWishes } from './templates/letter.ts'
export type { ReportRequest } from './templates/report.ts'
export { builtInTemplates, type BuiltIn } from './templates/built-in.ts'
export { LETTER_TEMPLATE, REPORT_TEMPLATE } from './templates/names.ts'
