import { cleanText } from './data.ts'
import { TemplateError, type Problem } from './errors.ts'
import type { PdfFault } from './pdf-jobs.ts'
import { variablesOf } from './language/liquid.ts'
import type { Warning } from './layout/build.ts'
import { renderPdf } from './render.ts'

/** A template, and data on which it is tried out. */
export interface CheckJob { source: string, example: Record<string, unknown> | null }

export interface CheckResult { fault: PdfFault | null, variables: string[], warnings: Warning[] }

/** What may be right with data that nobody has given: an address, a colour, a currency that stands in them. */
const BY_VALUE = new Set<Problem>([
  'VALORE_NON_VALIDO', 'STILE_NON_AMMESSO', 'COLLEGAMENTO_NON_AMMESSO', 'DATI_NON_VALIDI', 'ATTRIBUTO_MANCANTE'
])

/** Tries a template out. Without an example it is tried on no data, and only what is wrong on any data is a fault. */
export default async function checkTemplate ({ source, example }: CheckJob): Promise<CheckResult> {
  let variables: string[] = []
  try {
    variables = variablesOf(cleanText(source))
    const { warnings } = await renderPdf(source, example ?? {}, { date: new Date(0) })
    const told = example === null ? warnings.filter(({ codice }) => codice !== 'VARIABILE_MANCANTE') : warnings
    return { fault: null, variables, warnings: told }
  } catch (err) {
    if (!(err instanceof TemplateError)) throw err
    const { code, message, place } = err
    if (example === null && BY_VALUE.has(code)) return { fault: null, variables, warnings: [] }
    const fault = { code, message, riga: place?.riga ?? null, colonna: place?.colonna ?? null }
    return { fault, variables, warnings: [] }
  }
}
