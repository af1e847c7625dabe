import { ShapedError } from '#src/lib/errors.ts'
import type { Problem } from './errors.ts'
import { usesBuiltIn, type PdfFault, type PdfJob } from './pdf-jobs.ts'

/** Errors that the data can cause with any template, even a built-in one. */
const OF_DATA: ReadonlySet<Problem> = new Set<Problem>(['DATI_NON_VALIDI', 'CSV_NON_VALIDO', 'LIMITE_SUPERATO'])

/** The invalid field of the request, and its Italian name. */
type Culprit = readonly [campo: string, words: string]

const TEMPLATE: Culprit = ['template', 'Modello non valido']

/** The template or its data are invalid. `riga` and `colonna` are the position in the template or the CSV file. */
export class ModelloNonValido extends ShapedError {
  constructor ({ code, message, riga, colonna }: PdfFault, [campo, words]: Culprit = TEMPLATE) {
    super(code, 400, `${words}: ${message}`, { dettagli: [{ campo, messaggio: message }], riga, colonna })
  }
}

/**
 * Converts a task's fault into an error. A fault of the request's template or data becomes a 400. Any other fault is
 * a defect of this program. Every fault of a letter is a defect, because its fields have been validated before.
 */
export function requestError (job: PdfJob, fault: PdfFault): Error {
  if (job.kind === 'letter' || (usesBuiltIn(job) && !OF_DATA.has(fault.code))) {
    return new Error(`a template of the product failed: ${fault.code}`)
  }
  return new ModelloNonValido(fault, culpritOf(job, fault))
}

function culpritOf (job: PdfJob, { code }: PdfFault): Culprit {
  if (code === 'CSV_NON_VALIDO') return ['file', 'File CSV non valido']
  const isOfData = code === 'DATI_NON_VALIDI' || (usesBuiltIn(job) && OF_DATA.has(code))
  if (!isOfData) return job.kind === 'report' ? ['templateId', 'Modello non valido'] : TEMPLATE
  if (job.kind !== 'report') return ['data', 'Dati non validi']
  const rows = 'csv' in job.request ? 'file' : 'body' in job.request ? 'rows' : 'data.rows'
  return [rows, 'Dati non validi']
}
