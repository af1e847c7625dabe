import type { Day } from '#src/lib/time.ts'
import { compile, day, holds, integer, load, sex, text, write, type Column } from './content.ts'
import { LAYOUT, LENGTH, LENGTH_FILE_UNICO, type FieldName, type LayoutField } from './layout.ts'

/**
 * A guest's record, field by field as on the line. `''` is a blank field; only an apartment manager's record has
 * `id_appartamento`.
 */
export interface RecordSchedina {
  tipo_alloggiato: string
  data_arrivo: Day
  /** Nights, 1 to 30. */
  permanenza: number
  cognome: string
  nome: string
  sesso: 'M' | 'F'
  data_nascita: Day
  comune_nascita: string
  provincia: string
  stato_nascita: string
  cittadinanza: string
  tipo_doc: string
  num_doc: string
  luogo_rilascio: string
  id_appartamento?: number
}

/** A fault of one field; `riga` is the line as a whole. */
export interface ErroreCampo { campo: FieldName | 'riga', messaggio: string }

export type Decoded = { record: RecordSchedina } | { errori: ErroreCampo[] }

/**
 * A value that the record cannot carry: `campo` says where, `message` (Italian) why. It never quotes the value, which
 * is personal.
 */
export class CodecError extends Error {
  readonly campo: ErroreCampo['campo']

  constructor (campo: ErroreCampo['campo'], message: string) {
    super(message)
    this.name = 'CodecError'
    this.campo = campo
  }
}

type Columns = { [Of in LayoutField as Of['name']]: Column<Of['kind']['type']> }

const COLUMNS = LAYOUT.map(compile)
const SHORT_COLUMNS = COLUMNS.filter(({ end }) => end <= LENGTH)
const at = Object.fromEntries(COLUMNS.map((column) => [column.name, column])) as Columns

/**
 * The line of a record: 168 characters, 174 with `id_appartamento`, without line end.
 * Throws CodecError for a field that cannot be written as it is: nothing is cut, folded or guessed.
 */
export function encode (record: RecordSchedina): string {
  if (typeof record !== 'object' || record === null) throw new CodecError('riga', 'La schedina non è un oggetto')
  const columns = isFileUnico(record) ? COLUMNS : SHORT_COLUMNS
  let line = ''
  for (const column of columns) {
    const value: unknown = record[column.name]
    const written = write(column, value)
    if (written === undefined) throw new CodecError(column.name, explain(column, value))
    line += written
  }
  load(line)
  for (const column of columns) {
    if (!holds(column)) throw new CodecError(column.name, explain(column, record[column.name]))
  }
  return line
}

/** Own only: an `id_appartamento` that some prototype carries must not make the line longer. */
function isFileUnico (record: RecordSchedina): boolean {
  return Object.hasOwn(record, 'id_appartamento') && record.id_appartamento !== undefined
}

/**
 * The record on a line of 168 or 174 characters, or every fault in it. Never throws. Judges each field alone: what the
 * guest's type or birth state asks for is the business of the rules. Numbers may be padded as `05`, ` 5` or `5 `.
 */
export function decode (line: string): Decoded {
  if (typeof line !== 'string' || (line.length !== LENGTH && line.length !== LENGTH_FILE_UNICO)) {
    return {
      errori: [
        { campo: 'riga', messaggio: `La riga deve avere ${LENGTH} caratteri (${LENGTH_FILE_UNICO} nel File Unico)` }
      ]
    }
  }
  const columns = line.length === LENGTH ? SHORT_COLUMNS : COLUMNS
  load(line)
  return columns.every(holds) ? { record: read(line) } : { errori: faults(line, columns) }
}

// A literal, not a loop over the names: V8 builds it ten times as fast, and the compiler misses no field.
function read (line: string): RecordSchedina {
  const record: RecordSchedina = {
    tipo_alloggiato: text(at.tipo_alloggiato, line),
    data_arrivo: day(at.data_arrivo),
    permanenza: integer(at.permanenza),
    cognome: text(at.cognome, line),
    nome: text(at.nome, line),
    sesso: sex(at.sesso),
    data_nascita: day(at.data_nascita),
    comune_nascita: text(at.comune_nascita, line),
    provincia: text(at.provincia, line),
    stato_nascita: text(at.stato_nascita, line),
    cittadinanza: text(at.cittadinanza, line),
    tipo_doc: text(at.tipo_doc, line),
    num_doc: text(at.num_doc, line),
    luogo_rilascio: text(at.luogo_rilascio, line)
  }
  if (line.length === LENGTH_FILE_UNICO) record.id_appartamento = integer(at.id_appartamento)
  return record
}

function faults (line: string, columns: readonly Column[]): ErroreCampo[] {
  return columns.filter((column) => !holds(column)).map((column) => ({
    campo: column.name,
    messaggio: explain(column, line.slice(column.from, column.end).trimEnd())
  }))
}

/** Why `value` does not belong in the column. */
function explain ({ type, index, from, end, required }: Column, value: unknown): string {
  if (required && (value === undefined || value === null || value === '')) return 'Il campo è obbligatorio'
  const width = end - from
  if (type === 'text' && typeof value === 'string' && value.length > width) {
    return `Il campo è troppo lungo: ${value.length} caratteri, al massimo ${width}`
  }
  return `Il campo ${LAYOUT[index]?.kind.rule}`
}
