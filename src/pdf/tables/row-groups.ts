import { isRow, valueAt, type Value } from '../data.ts'

/** The fields by which the rows of a report belong together, the best first. */
const GROUP_FIELDS = ['listingTitle', 'listingId', 'alloggio', 'struttura', 'appartamento', 'listing', 'property']

/** Rows of the same listing, in their order. */
export interface Group { name: string, rows: Value[] }

/** The field by which rows are grouped: the first that every row has. */
export function groupFieldOf (rows: readonly Value[]): string | undefined {
  return GROUP_FIELDS.find((field) => rows.length > 0 && rows.every((row) => groupName(row, field) !== ''))
}

/** The groups in the order in which they first appear. */
export function groupBy (rows: readonly Value[], field: string): Group[] {
  return [...Map.groupBy(rows, (row) => groupName(row, field))].map(([name, rows]) => ({ name, rows }))
}

/** What stands in the field of a row, as text. */
export function groupName (row: Value, field: string): string {
  const value = isRow(row) ? valueAt(row, field) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
}
