import { LAYOUT, LENGTH_FILE_UNICO, type Field, type FieldName, type Kind } from './layout.ts'

/** A field of the layout compiled to numbers. All kinds share one shape, which keeps every access to it fast. */
export interface Column<Type extends Kind['type'] = Kind['type']> {
  readonly name: FieldName
  readonly index: number
  readonly type: Type
  /** Where it stands on a line, counted from 0; `end` is the first place after it. */
  readonly from: number
  readonly end: number
  readonly required: boolean
  readonly exact: boolean
  /** Text: the bit of its alphabet, with that of the blank where a wholly blank field is right. */
  readonly bits: number
  /** Integer: its bounds. Sex: the codes of the characters for M and F. */
  readonly low: number
  readonly high: number
}

const BLANK = 32
const DASH = 45
const SLASH = 47
const ZERO = 48
const FOREIGN = 255

const BLANK_BIT = 1
const ALPHABETS = [...new Set(LAYOUT.flatMap(({ kind }) => kind.type === 'text' ? [kind.chars] : []))]
/** The alphabets of every character, a bit each: the AND over a text tells at once what the whole text is made of. */
const BITS = Uint8Array.from({ length: FOREIGN + 1 }, (_, code) =>
  ALPHABETS.reduce<number>(
    (bits, chars, index) => (chars.includes(String.fromCharCode(code)) ? bits | (2 << index) : bits),
    code === BLANK ? BLANK_BIT : 0
  )
)
const PADDING = Array.from({ length: LENGTH_FILE_UNICO }, (_, width) => ' '.repeat(width))

// Scratch for the line at hand: bytes are checked several times faster than with charCodeAt, and nothing here is
// asynchronous.
const codes = new Uint8Array(LENGTH_FILE_UNICO * 3)
const ends = new Uint8Array(LAYOUT.length)
const encoder = new TextEncoder()

/** The column of a field. */
export function compile (field: Field & { name: FieldName }, index: number): Column {
  const { name, start, length, required, kind } = field
  const place = { name, index, from: start - 1, end: start - 1 + length, required }
  switch (kind.type) {
    case 'text': {
      const bit = 2 << ALPHABETS.indexOf(kind.chars)
      return {
        ...place,
        type: 'text',
        exact: kind.exact,
        bits: kind.exact && !required ? bit | BLANK_BIT : bit,
        low: 0,
        high: 0
      }
    }
    case 'integer':
      return { ...place, type: 'integer', exact: true, bits: 0, low: kind.min, high: kind.max }
    case 'sex':
      return { ...place, type: 'sex', exact: true, bits: 0, low: kind.M.charCodeAt(0), high: kind.F.charCodeAt(0) }
    case 'day':
      return { ...place, type: 'day', exact: true, bits: 0, low: 0, high: 0 }
  }
}

/**
 * The value as wide as its column, or undefined when its type or length is wrong; what it is made of is for `holds` to
 * say.
 */
export function write (column: Column, value: unknown): string | undefined {
  switch (column.type) {
    case 'text':
      return typeof value === 'string' ? writeText(column, value) : undefined
    case 'day':
      return typeof value === 'string' ? writeDay(value) : undefined
    case 'integer':
      return typeof value === 'number' ? writeInteger(column, value) : undefined
    case 'sex':
      return value === 'M'
        ? String.fromCharCode(column.low)
        : value === 'F'
          ? String.fromCharCode(column.high)
          : undefined
  }
}

function writeText ({ from, end }: Column, value: string): string | undefined {
  if (value.length > end - from || value.charCodeAt(value.length - 1) === BLANK) return undefined
  return value + PADDING[end - from - value.length]
}

function writeDay (value: string): string | undefined {
  if (value.length !== 10 || value.charCodeAt(4) !== DASH || value.charCodeAt(7) !== DASH) return undefined
  return value.slice(8, 10) + '/' + value.slice(5, 7) + '/' + value.slice(0, 4)
}

function writeInteger ({ from, end, low, high }: Column, value: number): string | undefined {
  return Number.isInteger(value) && value >= low && value <= high ? String(value).padStart(end - from, '0') : undefined
}

/** Takes a line in; the functions below look at it. What is not ASCII becomes a byte that no column allows. */
export function load (line: string): void {
  if (encoder.encodeInto(line, codes).written === line.length) return
  for (let at = 0; at < line.length; at++) codes[at] = Math.min(line.charCodeAt(at), FOREIGN)
}

/** Whether the line has valid content in the column. */
export function holds (column: Column): boolean {
  switch (column.type) {
    case 'text': return column.exact ? exactHolds(column) : textHolds(column)
    case 'day': return dayHolds(column.from)
    case 'integer': return integerHolds(column)
    case 'sex': return codes[column.from] === column.low || codes[column.from] === column.high
  }
}

function exactHolds ({ from, end, index, bits }: Column): boolean {
  let common = bits
  for (let at = from; at < end; at++) common &= BITS[codes[at] ?? FOREIGN] ?? 0
  ends[index] = codes[from] === BLANK ? from : end
  return common !== 0
}

function textHolds (column: Column): boolean {
  const { from, index, required } = column
  const end = contentEnd(column)
  ends[index] = end
  if (end === from) return !required
  let common = codes[from] === BLANK ? 0 : column.bits
  for (let at = from; at < end; at++) common &= BITS[codes[at] ?? FOREIGN] ?? 0
  return common !== 0
}

function dayHolds (from: number): boolean {
  if (codes[from + 2] !== SLASH || codes[from + 5] !== SLASH) return false
  return exists(twoDigits(from + 6), twoDigits(from + 8), twoDigits(from + 3), twoDigits(from))
}

function integerHolds (column: Column): boolean {
  const value = integer(column)
  return value >= column.low && value <= column.high
}

/** The text of a column that holds. */
export function text ({ from, index }: Column<'text'>, line: string): string {
  return line.slice(from, ends[index])
}

/** The day of a column that holds. */
export function day ({ from }: Column<'day'>): string {
  return String.fromCharCode(code(from + 6), code(from + 7), code(from + 8), code(from + 9), DASH,
    code(from + 3), code(from + 4), DASH, code(from), code(from + 1))
}

/** The sex of a column that holds. */
export function sex ({ from, low }: Column<'sex'>): 'M' | 'F' {
  return codes[from] === low ? 'M' : 'F'
}

/**
 * The number of a column, -1 for none. The padding is stated nowhere and all three occur: zeros or blanks before,
 * blanks after.
 */
export function integer (column: Column): number {
  let first = column.from
  while (first < column.end && codes[first] === BLANK) first++
  const end = first === column.from ? contentEnd(column) : column.end
  let value = first < end ? 0 : -1
  for (let at = first; at < end; at++) {
    const digit = code(at) - ZERO
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value
}

function contentEnd ({ from, end }: Column): number {
  let last = end
  while (last > from && codes[last - 1] === BLANK) last--
  return last
}

function code (at: number): number {
  return codes[at] ?? FOREIGN
}

/** The two digits at `at` as a number, -1 when they are not digits. */
function twoDigits (at: number): number {
  const tens = code(at) - ZERO
  const units = code(at + 1) - ZERO
  return tens >= 0 && tens <= 9 && units >= 0 && units <= 9 ? tens * 10 + units : -1
}

/**
 * The calendar of `isDay` in src/lib/time.ts (there is no year 0000) on numbers: a `Date` would cost more than the
 * whole line.
 */
function exists (century: number, year: number, month: number, day: number): boolean {
  if (century < 0 || year < 0 || century + year === 0 || day < 1 || month < 1 || month > 12) return false
  if (month !== 2) return day <= (month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31)
  const leap = year === 0 ? century % 4 === 0 : year % 4 === 0
  return day <= (leap ? 29 : 28)
}
