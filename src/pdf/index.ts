/* What other areas may use of the PDF engine. None of it loads the engine. */
export { makePdf, ModelloNonValido, type Pdf } from './make.ts'
export type { PdfJob, PdfSource } from './task.ts'
export type { Establishment, LetterRequest, LetterWishes } from './templates/letter.ts'
export type { ReportRequest } from './templates/report.ts'

/** The built-in template of the financial report, as the contract names it. */
export const REPORT_TEMPLATE = 'd2577b23c4d40496'
