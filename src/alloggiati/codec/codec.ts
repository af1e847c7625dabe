import {
  LAYOUT, LAYOUT_FILE_UNICO, LENGTH, LENGTH_FILE_UNICO,
  type Field, type FieldName, type IntegerKind, type LayoutField, type RecordSchedina,
  type SexKind
} from './layout.ts'
import { italianDay } from '#src/lib/time.ts'
import { patternOf } from './pattern.ts'

export type { RecordSchedina } from './layout.ts'

/** An error in one field, in Italian. `line` means the whole line. Values are personal data, so messages omit them. */
export interface FieldFault { field: FieldName | 'line', message: string }

type Decoded = { record: RecordSchedina } | { faults: FieldFault[] }

export class CodecError extends Error {
  readonly field: FieldFault['field']

  constructor ({ field, message }: FieldFault) {
    super(message)
    this.name = 'CodecError'
    this.field = field
  }
}

/**
 * Encodes a record as a line of 168 characters, 174 with `id_appartamento`, without a line end.
 * @throws CodecError for a record that is not an object, and for a value that does not fit its field: no value is
 * truncated
 */
export function encode (record: RecordSchedina): string {
  if (typeof record !== 'object' || record === null) {
    throw new CodecError({ field: 'line', message: 'La schedina non è un oggetto' })
  }
  const { columns, pattern } = isFileUnico(record) ? FILE_UNICO : ORDINARY
  let line = ''
  for (const column of columns) {
    const value: unknown = record[column.name]
    line += write(column, value) ?? refuse(column, value)
  }
  if (!pattern.test(line)) {
    /* c8 ignore next -- the loop always throws: a line that does not match has a column that does not match */
    for (const column of columns) if (!isContent(column, line)) refuse(column, record[column.name])
  }
  return line
}

/**
 * Decodes a line of 168 or 174 characters, or returns all its errors. Never throws. Each field is checked alone. The
 * rules check combinations of fields, such as guest type and birth state. Numbers may be padded as `05`, ` 5` or `5 `.
 */
export function decode (line: string): Decoded {
  if (typeof line !== 'string' || (line.length !== LENGTH && line.length !== LENGTH_FILE_UNICO)) {
    const message = `La riga deve avere ${LENGTH} caratteri (${LENGTH_FILE_UNICO} nel File Unico)`
    return { faults: [{ field: 'line', message }] }
  }
  const { columns, pattern } = line.length === LENGTH ? ORDINARY : FILE_UNICO
  if (pattern.test(line)) return { record: read(line) }
  const wrong = columns.filter((column) => !isContent(column, line))
  return { faults: wrong.map((column) => faultOf(column, cut(column, line).trimEnd())) }
}

/** A field with its position on a line, 0-based (`end` is exclusive), and its pattern. */
type Column = LayoutField & { from: number, end: number, pattern: RegExp }

const ORDINARY = formOf(LAYOUT)
const FILE_UNICO = formOf(LAYOUT_FILE_UNICO)
const at = Object.fromEntries(FILE_UNICO.columns.map((column) => [column.name, column])) as
  { [Of in LayoutField as Of['name']]: Column & Of }

/** The columns of a line format, and one pattern for the whole line. One pattern is much faster than one per column. */
function formOf (fields: readonly LayoutField[]) {
  const columns = fields.map((field): Column => (
    { ...field, from: field.start - 1, end: field.start - 1 + field.length, pattern: matching([field]) }))
  return { columns, pattern: matching(fields) }
}

function matching (fields: readonly Field[]): RegExp {
  return new RegExp(`^${fields.map(patternOf).join('')}$`)
}

/** Checks own properties only: an inherited `id_appartamento` must not make the line longer. */
function isFileUnico (record: RecordSchedina): boolean {
  return Object.hasOwn(record, 'id_appartamento') && record.id_appartamento !== undefined
}

/** The value padded to its column, or undefined if type or length is wrong. The pattern checks the characters. */
function write ({ kind, length }: Column, value: unknown): string | undefined {
  switch (kind.type) {
    case 'text':
      if (typeof value !== 'string' || value.length > length || value.endsWith(' ')) return undefined
      return value + BLANKS[length - value.length]
    case 'day':
      return typeof value === 'string' && DAY.test(value) ? italianDay(value) : undefined
    case 'integer':
      return isInteger(kind, value) ? String(value).padStart(length, '0') : undefined
    case 'sex':
      return value === 'M' || value === 'F' ? kind[value] : undefined
  }
}

const BLANK = 32
const DASH = 45
const ZERO = 48
const BLANKS = Array.from({ length: LENGTH }, (_, width) => ' '.repeat(width))
const DAY = /^.{4}-..-..$/

function isInteger ({ min, max }: IntegerKind, value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
}

// This is not a loop, because V8 builds a literal ten times as fast, and the compiler checks that no field is missing.
function read (line: string): RecordSchedina {
  const record: RecordSchedina = {
    tipo_alloggiato: code(at.tipo_alloggiato, line),
    data_arrivo: day(at.data_arrivo, line),
    permanenza: integer(at.permanenza, line),
    cognome: text(at.cognome, line),
    nome: text(at.nome, line),
    sesso: sex(at.sesso, line),
    data_nascita: day(at.data_nascita, line),
    comune_nascita: code(at.comune_nascita, line),
    provincia: code(at.provincia, line),
    stato_nascita: code(at.stato_nascita, line),
    cittadinanza: code(at.cittadinanza, line),
    tipo_doc: code(at.tipo_doc, line),
    num_doc: text(at.num_doc, line),
    luogo_rilascio: code(at.luogo_rilascio, line)
  }
  if (line.length === LENGTH_FILE_UNICO) record.id_appartamento = integer(at.id_appartamento, line)
  return record
}

/** Reads a text that fills its column or is blank. */
function code ({ from, end }: Column, line: string): string {
  return line.charCodeAt(from) === BLANK ? '' : line.slice(from, end)
}

function text (column: Column, line: string): string {
  return cut(column, line).trimEnd()
}

function day ({ from }: Column, line: string): string {
  const digit = (index: number) => line.charCodeAt(from + index)
  return String.fromCharCode(digit(6), digit(7), digit(8), digit(9), DASH, digit(3), digit(4), DASH, digit(0), digit(1))
}

/** Reads a number from a line that matches the pattern: blanks, digits, blanks. */
function integer ({ from, end }: Column, line: string): number {
  let value = 0
  for (let at = from; at < end; at++) {
    if (line.charCodeAt(at) !== BLANK) value = value * 10 + line.charCodeAt(at) - ZERO
  }
  return value
}

function sex ({ from, kind }: Column & { kind: SexKind }, line: string): 'M' | 'F' {
  return line.charAt(from) === kind.M ? 'M' : 'F'
}

function cut ({ from, end }: Column, line: string): string {
  return line.slice(from, end)
}

function isContent (column: Column, line: string): boolean {
  return column.pattern.test(cut(column, line))
}

function refuse (column: Column, value: unknown): never {
  throw new CodecError(faultOf(column, value))
}

function faultOf ({ name, kind, length, required }: Column, value: unknown): FieldFault {
  const fault = (reason: string) => ({ field: name, message: `Il campo ${reason}` })
  if (required && (value === undefined || value === null || value === '')) return fault('è obbligatorio')
  return kind.type === 'text' && typeof value === 'string' && value.length > length
    ? fault(`è troppo lungo: ${value.length} caratteri, al massimo ${length}`)
    : fault(kind.rule)
}
