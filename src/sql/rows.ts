import type { SqlField } from '#schemas/sql.ts'

/** A column as the driver describes it. */
export interface Column { name: string, type: number }

/* Object ids of types. They never change (`pg_type.dat` of PostgreSQL). */
const BOOL = 16
/** Integers of two or four bytes, and floats. In JSON they are numbers, except NaN and infinities. */
const NUMBERS = new Set([21, 23, 700, 701])
const JSONS = new Set([114, 3802])

/**
 * Converts PostgreSQL's text of a value to JSON without loss. Only numbers that fit into a double become numbers.
 * `json` keeps its digits. Every other type is text.
 */
function toJson (type: number, text: string): string {
  if (type === BOOL) return text === 't' ? 'true' : 'false'
  return JSONS.has(type) || (NUMBERS.has(type) && /^-?\d/.test(text)) ? text : JSON.stringify(text)
}

/** Makes column names unique: a later column of the same name becomes `name_2`, `name_3` … */
export function distinctNames (names: readonly string[]): string[] {
  const given = new Set<string>()
  return names.map((name) => {
    let distinct = name
    for (let n = 2; given.has(distinct) || (distinct !== name && names.includes(distinct)); n++) {
      distinct = `${name}_${n}`
    }
    given.add(distinct)
    return distinct
  })
}

/** Collects rows as JSON text, and counts its bytes. */
export class RowWriter {
  readonly #rows: string[] = []
  #keys: { key: string, type: number }[] | undefined
  bytes = 0

  get count (): number {
    return this.#rows.length
  }

  add (row: readonly (Buffer | null)[], columns: readonly Column[]): void {
    this.#keys ??= distinctNames(columns.map(({ name }) => name))
      .map((name, i) => ({ key: `${JSON.stringify(name)}:`, type: columns[i]!.type }))
    const text = `{${this.#keys.map(({ key, type }, i) => {
      const value = row[i]
      return key + (value == null ? 'null' : toJson(type, value.toString()))
    }).join()}}`
    this.#rows.push(text)
    this.bytes += Buffer.byteLength(text) + 1
  }

  /** The whole response as text. It does not use the serializer, because that would convert numbers to doubles. */
  response (rowCount: number, fields: readonly SqlField[]): string {
    return `{"data":[${this.#rows.join()}],"rowCount":${rowCount},"fields":${JSON.stringify(fields)},"status":200}`
  }
}
