import type { MrzFormat, MrzLayout } from '#schemas/scanning.ts'

/** A range in a line. All numbers start at 0: line, first character, and the character after the last. */
export type Place = readonly [line: number, from: number, to: number]

/** The fields of a zone. `names` contains surname and given names, `further` a second optional field. */
const FIELD_NAMES = [
  'code', 'issuer', 'names', 'surname', 'given', 'number', 'nationality', 'birth', 'sex', 'expiry', 'optional',
  'further'
] as const
export type FieldName = (typeof FIELD_NAMES)[number]

/** Fields that may have their own check digit. */
export type CheckedField = 'number' | 'birth' | 'expiry' | 'optional'

/** Fields that every layout has. */
type CommonField = 'code' | 'issuer' | 'number' | 'birth' | 'sex' | 'optional'
export type Fields = Readonly<Record<CommonField, Place> & Partial<Record<FieldName, Place>>>

/** The composite check digit. It covers these ranges, concatenated in order. */
export interface Composite { readonly at: Place, readonly over: readonly Place[] }

interface LayoutRow {
  readonly name: MrzLayout
  readonly format: MrzFormat
  readonly lines: number
  readonly length: number
  /** The first characters of the first line of this layout. */
  readonly begins: string
  readonly fields: Fields
  /** Fields with a check digit directly after them. */
  readonly checked: readonly CheckedField[]
  readonly composite?: Composite
  /** Whether a document number of more than 9 characters continues in the optional data. */
  readonly longNumber?: true
  /** The nationality of every holder, for a layout that does not print it. */
  readonly nationality?: string
}

export interface Layout extends LayoutRow {
  readonly isChecked: Readonly<Record<CheckedField, boolean>>
}

/** The second line of two-line documents, up to the optional data. */
const SECOND_LINE = {
  number: [1, 0, 9],
  nationality: [1, 10, 13],
  birth: [1, 13, 19],
  sex: [1, 20, 21],
  expiry: [1, 21, 27]
} as const
const CODE_AND_ISSUER = { code: [0, 0, 2], issuer: [0, 2, 5] } as const

/**
 * ICAO Doc 9303, eighth edition: parts 5 (TD1), 6 (TD2), 4 (TD3) and 7 (visas). The French identity card until 2021 has
 * its own layout, in the size of TD2. The first matching layout is used.
 */
const TABLE: readonly LayoutRow[] = [
  {
    name: 'TD1',
    format: 'TD1',
    lines: 3,
    length: 30,
    begins: '',
    fields: {
      ...CODE_AND_ISSUER,
      number: [0, 5, 14],
      optional: [0, 15, 30],
      birth: [1, 0, 6],
      sex: [1, 7, 8],
      expiry: [1, 8, 14],
      nationality: [1, 15, 18],
      further: [1, 18, 29],
      names: [2, 0, 30]
    },
    checked: ['number', 'birth', 'expiry'],
    composite: { at: [1, 29, 30], over: [[0, 5, 30], [1, 0, 7], [1, 8, 15], [1, 18, 29]] },
    longNumber: true
  },
  {
    name: 'FRA',
    format: 'TD2',
    lines: 2,
    length: 36,
    begins: 'IDFRA',
    fields: {
      ...CODE_AND_ISSUER,
      surname: [0, 5, 30],
      // The issuing office.
      optional: [0, 30, 36],
      number: [1, 0, 12],
      given: [1, 13, 27],
      birth: [1, 27, 33],
      sex: [1, 34, 35]
    },
    checked: ['number', 'birth'],
    composite: { at: [1, 35, 36], over: [[0, 0, 36], [1, 0, 35]] },
    nationality: 'FRA'
  },
  {
    name: 'MRV-B',
    format: 'TD2',
    lines: 2,
    length: 36,
    begins: 'V',
    fields: { ...CODE_AND_ISSUER, names: [0, 5, 36], ...SECOND_LINE, optional: [1, 28, 36] },
    checked: ['number', 'birth', 'expiry']
  },
  {
    name: 'TD2',
    format: 'TD2',
    lines: 2,
    length: 36,
    begins: '',
    fields: { ...CODE_AND_ISSUER, names: [0, 5, 36], ...SECOND_LINE, optional: [1, 28, 35] },
    checked: ['number', 'birth', 'expiry'],
    composite: { at: [1, 35, 36], over: [[1, 0, 10], [1, 13, 20], [1, 21, 35]] },
    longNumber: true
  },
  {
    name: 'MRV-A',
    format: 'TD3',
    lines: 2,
    length: 44,
    begins: 'V',
    fields: { ...CODE_AND_ISSUER, names: [0, 5, 44], ...SECOND_LINE, optional: [1, 28, 44] },
    checked: ['number', 'birth', 'expiry']
  },
  {
    name: 'TD3',
    format: 'TD3',
    lines: 2,
    length: 44,
    begins: '',
    fields: { ...CODE_AND_ISSUER, names: [0, 5, 44], ...SECOND_LINE, optional: [1, 28, 42] },
    checked: ['number', 'birth', 'expiry', 'optional'],
    composite: { at: [1, 43, 44], over: [[1, 0, 10], [1, 13, 20], [1, 21, 43]] }
  }
]

/**
 * All rows with the same properties in the same order. V8 reads objects of the same shape faster, which saves a tenth
 * of the parsing time.
 */
export const LAYOUTS: readonly Layout[] = TABLE.map((row) => ({
  composite: undefined,
  longNumber: undefined,
  nationality: undefined,
  ...row,
  fields: Object.fromEntries(FIELD_NAMES.map((name) => [name, row.fields[name]])) as Fields,
  isChecked: {
    number: row.checked.includes('number'),
    birth: row.checked.includes('birth'),
    expiry: row.checked.includes('expiry'),
    optional: row.checked.includes('optional')
  }
}))

/** The layout that matches the number, length and first characters of the lines. Undefined without a match. */
export function layoutOf (lines: readonly string[]): Layout | undefined {
  return LAYOUTS.find((layout) =>
    layout.lines === lines.length &&
    layout.length === lines[0]!.length &&
    lines[0]!.startsWith(layout.begins) &&
    lines.every((line) => line.length === layout.length))
}

/** The position of a field's check digit. */
export function digitPlace ([line, , to]: Place): Place {
  return [line, to, to + 1]
}
