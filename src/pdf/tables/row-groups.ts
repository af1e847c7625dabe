import { isRow, valueAt, type Value } from '../data.ts'

/** Candidate fields for grouping a report's rows, best first. Upper and lower case do not matter. */
const GROUP_FIELDS = [
  'listingtitle', 'listingid', 'alloggio', 'struttura', 'appartamento', 'listing', 'property', 'property name',
  'annuncio', 'unterkunft', 'anúncio', 'apartment', 'unit type'
]

/** Rows with the same group name, in their original order. */
export interface Group { name: string, rows: Value[] }

/** The first candidate field that every row has. */
export function groupFieldOf (rows: readonly Value[]): string | undefined {
  const [first] = rows
  const fields = isRow(first) ? Object.keys(first) : []
  return GROUP_FIELDS.map((name) => fields.find((field) => field.toLowerCase() === name))
    .find((field) => field !== undefined && rows.every((row) => groupName(row, field) !== ''))
}

/** Groups rows. Groups are in the order in which they first occur. */
export function groupBy (rows: readonly Value[], field: string): Group[] {
  return [...Map.groupBy(rows, (row) => groupName(row, field))].map(([name, rows]) => ({ name, rows }))
}

/** The group name of a row. `''` when the row has none. */
function groupName (row: Value, field: string): string {
  const value = isRow(row) ? valueAt(row, field) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
}
