import { cleanText } from './data.ts'
import { TemplateError, type Problem } from './errors.ts'
import type { PdfFault } from './pdf-jobs.ts'
import { variablesOf } from './language/liquid.ts'
import type { Warning } from './layout/build.ts'
import { renderPdf } from './render.ts'

/** A template to check, and optional example data. */
export interface CheckJob { source: string, example: Record<string, unknown> | null }

export interface CheckResult { fault: PdfFault | null, variables: string[], warnings: Warning[] }

/** Errors that depend on values, for example a colour or URL in the data. */
const BY_VALUE = new Set<Problem>([
  'VALORE_NON_VALIDO', 'STILE_NON_AMMESSO', 'COLLEGAMENTO_NON_AMMESSO', 'DATI_NON_VALIDI', 'ATTRIBUTO_MANCANTE'
])

/**
 * Renders the template, and returns the first error. Without an example the data are empty. Then errors that depend on
 * values and warnings about missing variables are ignored.
 */
export default async function checkTemplate ({ source, example }: CheckJob): Promise<CheckResult> {
  let variables: string[] = []
  try {
    variables = variablesOf(cleanText(source))
    const { warnings } = await renderPdf(source, example ?? {}, { date: new Date(0) })
    const report = example === null ? warnings.filter(({ codice }) => codice !== 'VARIABILE_MANCANTE') : warnings
    return { fault: null, variables, warnings: report }
  } catch (err) {
    if (!(err instanceof TemplateError)) throw err
    const { code, message, place } = err
    if (example === null && BY_VALUE.has(code)) return { fault: null, variables, warnings: [] }
    const fault = { code, message, riga: place?.riga ?? null, colonna: place?.colonna ?? null }
    return { fault, variables, warnings: [] }
  }
}
