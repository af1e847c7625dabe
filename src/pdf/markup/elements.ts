import { FORMATS, LANGUAGES } from '../language/formats.ts'
import { assetName, color, length, lengthOrShare, link, number, oneOf, path, text, type Reader } from './values.ts'

type Readers = Record<string, Reader<unknown>>

/** The rule of one element: its attributes, its allowed content, and whether it accepts `style`. */
export interface Rule<A extends Readers = Readers> {
  attributes: A
  required?: readonly string[]
  /** The allowed child elements. */
  allows: readonly string[]
  /** Whether text is allowed as a child. */
  text?: true
  styled?: true
}
const rule = <A extends Readers>(rule: Rule<A>): Rule<A> => rule

const BLOCKS = [
  'h1', 'h2', 'h3', 'p', 'div', 'row', 'badge', 'hr', 'image', 'qr', 'table', 'ul', 'ol', 'bar-chart', 'line-chart',
  'page-number'
] as const
const INLINE = ['b', 'i', 'span', 'a', 'br'] as const
const SHEET = {
  size: oneOf(['A3', 'A4', 'A5', 'LETTER']),
  orientation: oneOf(['portrait', 'landscape']),
  margin: length
}
const VALUE_FORMAT = { format: oneOf(FORMATS), currency: (value: string) => /^[A-Z]{3}$/.test(value) ? value : undefined }
const CHART = {
  data: path,
  label: path,
  value: path,
  height: length,
  color,
  ...VALUE_FORMAT
}

const ALIGN = oneOf(['left', 'center', 'right'])
/** A cell of a table that is written as in HTML. */
const CELL: Rule<{ colspan: Reader<number>, align: typeof ALIGN, width: typeof lengthOrShare }> = {
  attributes: { colspan: number(1, 40), align: ALIGN, width: lengthOrShare },
  allows: [...BLOCKS, ...INLINE],
  text: true,
  styled: true
}

/** The whole language. Elements, attributes and positions that this table does not list are refused. */
export const ELEMENTS = {
  document: rule({
    attributes: {
      title: text,
      author: text,
      subject: text,
      language: oneOf(LANGUAGES),
      font: oneOf(['sans', 'serif']),
      'heading-font': oneOf(['sans', 'serif']),
      'font-size': number(6, 24),
      accent: color,
      ...SHEET
    },
    allows: ['page']
  }),
  page: rule({ attributes: SHEET, allows: ['header', 'footer', ...BLOCKS, ...INLINE], text: true, styled: true }),
  /** The content is repeated in the top margin of every sheet, like that of `footer` in the bottom margin. */
  header: rule({ attributes: { height: length }, allows: [...BLOCKS, ...INLINE], text: true, styled: true }),
  footer: rule({ attributes: { height: length }, allows: [...BLOCKS, ...INLINE], text: true, styled: true }),
  h1: rule({ attributes: {}, allows: INLINE, text: true, styled: true }),
  h2: rule({ attributes: {}, allows: INLINE, text: true, styled: true }),
  h3: rule({ attributes: {}, allows: INLINE, text: true, styled: true }),
  p: rule({ attributes: { lines: oneOf(['join', 'keep']) }, allows: INLINE, text: true, styled: true }),
  div: rule({ attributes: { keep: oneOf(['together']) }, allows: [...BLOCKS, ...INLINE], text: true, styled: true }),
  row: rule({ attributes: {}, allows: [...BLOCKS, ...INLINE], text: true, styled: true }),
  badge: rule({ attributes: {}, allows: INLINE, text: true, styled: true }),
  hr: rule({ attributes: { color, width: length }, allows: [], styled: true }),
  b: rule({ attributes: {}, allows: INLINE, text: true }),
  i: rule({ attributes: {}, allows: INLINE, text: true }),
  span: rule({ attributes: {}, allows: INLINE, text: true, styled: true }),
  a: rule({ attributes: { href: link }, required: ['href'], allows: ['b', 'i', 'span', 'br'], text: true }),
  br: rule({ attributes: {}, allows: [] }),
  /** An image passed with the data, by name. URLs are not supported. */
  image: rule({
    attributes: { asset: assetName, width: lengthOrShare, height: length },
    required: ['asset'],
    allows: [],
    styled: true
  }),
  /** Encodes a text, or the settings of a Wi-Fi network. */
  qr: rule({
    attributes: {
      value: text,
      'wifi-name': text,
      'wifi-password': text,
      'wifi-security': oneOf(['WPA', 'WEP', 'nopass']),
      size: length
    },
    allows: [],
    styled: true
  }),
  /**
   * Rows are read from the data, not through Liquid. Columns are the `col`s, a list in the data, or all fields. Rows
   * with equal `group` fields are placed together, followed by a subtotal. Without `data` the rows are `tr`s.
   */
  table: rule({
    attributes: { data: path, columns: path, group: text, 'font-size': number(5, 16), empty: text },
    allows: ['col', 'tr'],
    styled: true
  }),
  tr: rule({ attributes: {}, allows: ['td', 'th'], styled: true }),
  td: rule(CELL),
  th: rule(CELL),
  ul: rule({ attributes: {}, allows: ['li'], styled: true }),
  ol: rule({ attributes: {}, allows: ['li'], styled: true }),
  li: rule({ attributes: {}, allows: [...BLOCKS, ...INLINE], text: true, styled: true }),
  col: rule({
    attributes: {
      field: path,
      title: text,
      align: ALIGN,
      width: number(1, 100),
      total: oneOf(['sum', 'count']),
      ...VALUE_FORMAT
    },
    required: ['field'],
    allows: []
  }),
  'bar-chart': rule({ attributes: CHART, required: ['data', 'label', 'value'], allows: [], styled: true }),
  'line-chart': rule({ attributes: CHART, required: ['data', 'label', 'value'], allows: [], styled: true }),
  /** In `format`, `{n}` is the page number, and `{t}` the number of pages. */
  'page-number': rule({ attributes: { format: text }, allows: [], styled: true })
} satisfies Record<string, Rule>

export type ElementName = keyof typeof ELEMENTS
type Attributes<N extends ElementName> = typeof ELEMENTS[N]['attributes']
export type Values<N extends ElementName> = {
  [A in keyof Attributes<N>]?: Attributes<N>[A] extends Reader<infer T> ? T : never
}
