import { CsvFault, readCsv, type CsvTable } from '#src/lib/read-csv.ts'
import { TemplateError } from '../errors.ts'
import { checkLimit, ROWS_MAX } from '../pdf-limits.ts'

/**
 * Parses the CSV file of a report.
 * @throws TemplateError for an invalid file, with line and column, or past a limit
 */
export function readCsvRows (bytes: Uint8Array): Pick<CsvTable, 'rows' | 'lines'> {
  try {
    const { rows, lines } = readCsv(bytes, { rowsMax: ROWS_MAX, check: checkLimit })
    return { rows, lines }
  } catch (err) {
    throw err instanceof CsvFault ? new TemplateError('CSV_NON_VALIDO', err.message, err.place) : err
  }
}
