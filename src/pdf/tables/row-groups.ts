import { isRow, valueAt, type Value } from '../data.ts'

/** Candidate fields for grouping a report's rows, best first. */
const GROUP_FIELDS = ['listingTitle', 'listingId', 'alloggio', 'struttura', 'appartamento', 'listing', 'property']

/** Rows with the same group name, in their order. */
export interface Group { name: string, rows: Value[] }

/** The first candidate field that every row has. */
export function groupFieldOf (rows: readonly Value[]): string | undefined {
  return GROUP_FIELDS.find((field) => rows.length > 0 && rows.every((row) => groupName(row, field) !== ''))
}

/** Groups rows, in order of first appearance. */
export function groupBy (rows: readonly Value[], field: string): Group[] {
  return [...Map.groupBy(rows, (row) => groupName(row, field))].map(([name, rows]) => ({ name, rows }))
}

/** The group name of a row, '' when it has none. */
function groupName (row: Value, field: string): string {
  const value = isRow(row) ? valueAt(row, field) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
}
