import { ShapedError } from '#src/lib/errors.ts'
import type { Problem } from './errors.ts'
import { isOfProduct, type PdfFault, type PdfJob } from './pdf-jobs.ts'

/** What the data alone may be at fault for, whoever wrote the template. */
const OF_DATA: ReadonlySet<Problem> = new Set<Problem>(['DATI_NON_VALIDI', 'CSV_NON_VALIDO', 'LIMITE_SUPERATO'])

/** The field of a request that is at fault, and what it is called. */
type Culprit = readonly [campo: string, words: string]

const TEMPLATE: Culprit = ['template', 'Modello non valido']

/** The template is at fault, or its data: `riga` and `colonna` say where in the template, or in the CSV file. */
export class ModelloNonValido extends ShapedError {
  constructor ({ code, message, riga, colonna }: PdfFault, [campo, words]: Culprit = TEMPLATE) {
    super(code, 400, `${words}: ${message}`, { dettagli: [{ campo, messaggio: message }], riga, colonna })
  }
}

/**
 * Why there is no PDF: the caller is told what is wrong with what came with the request. A template of the product that
 * fails is our own fault, and so is a letter, whose fields are bounded so that the template takes them.
 */
export function refusalOf (job: PdfJob, fault: PdfFault): Error {
  if (job.kind === 'letter' || (isOfProduct(job) && !OF_DATA.has(fault.code))) {
    return new Error(`a template of the product failed: ${fault.code}`)
  }
  return new ModelloNonValido(fault, culpritOf(job, fault))
}

function culpritOf (job: PdfJob, { code }: PdfFault): Culprit {
  if (code === 'CSV_NON_VALIDO') return ['file', 'File CSV non valido']
  const isOfData = code === 'DATI_NON_VALIDI' || (isOfProduct(job) && OF_DATA.has(code))
  if (!isOfData) return job.kind === 'report' ? ['templateId', 'Modello non valido'] : TEMPLATE
  if (job.kind !== 'report') return ['data', 'Dati non validi']
  const rows = 'csv' in job.request ? 'file' : 'body' in job.request ? 'rows' : 'data.rows'
  return [rows, 'Dati non validi']
}
