import type { Styles } from '@react-pdf/renderer'
import { TemplateError, type Place } from '../errors.ts'
import { color, length, lengthOrShare, number, oneOf, type Reader } from './values.ts'

/** A React-PDF style. */
export type Style = Styles[string]

type Property = (value: string) => Style | undefined

const SIDES = ['Top', 'Right', 'Bottom', 'Left'] as const
const BORDER_STYLES = ['solid', 'dashed', 'dotted'] as const

/** A CSS property that maps to one React-PDF property. */
const property = <K extends keyof Style>(name: K, reader: Reader<Style[K]>): Property => (value) => {
  const read = reader(value)
  return read === undefined ? undefined : { [name]: read } as Style
}

/** One to four lengths in CSS order: top, right, bottom, left. */
const sides = (name: 'margin' | 'padding'): Property => (value) => {
  const lengths = value.split(/\s+/).map(length)
  if (lengths.length > 4 || lengths.includes(undefined)) return undefined
  const [top, right = top, bottom = top, left = right] = lengths
  return Object.fromEntries(SIDES.map((side, at) => [`${name}${side}`, [top, right, bottom, left][at]])) as Style
}

/** `1pt solid #ccc`, for all sides or for one side. */
const border = (on: readonly string[]): Property => (value) => {
  const words = value.split(/\s+/)
  const [width, style, hue] = [length(words[0] ?? ''), oneOf(BORDER_STYLES)(words[1] ?? ''), color(words[2] ?? '')]
  if (words.length !== 3 || width === undefined || !style || !hue) return undefined
  return Object.fromEntries(on.flatMap((side) =>
    [[`border${side}Width`, width], [`border${side}Style`, style], [`border${side}Color`, hue]])) as Style
}

/** An alignment: `start`, `end`, or one of the given words. */
const alignment = <const W extends string>(words: readonly W[]): Reader<W | 'flex-start' | 'flex-end'> => (value) =>
  value === 'start' ? 'flex-start' : value === 'end' ? 'flex-end' : oneOf(words)(value)

const WEIGHTS: Record<string, 400 | 600 | 700> = {
  normal: 400, 400: 400, 500: 600, 600: 600, bold: 700, 700: 700, 800: 700, 900: 700
}

/** A property that is common in HTML pages. It is accepted without effect, so that their styles can be copied. */
const ignored: Property = () => ({})

const align = oneOf(['left', 'right', 'center', 'justify'])

/**
 * The allowed properties and their React-PDF values. `position` is missing, so that elements cannot overlap. URLs are
 * not possible. `height` means a minimum height, because otherwise the renderer would drop text that does not fit.
 */
const PROPERTIES: Record<string, Property> = {
  color: property('color', color),
  'background-color': property('backgroundColor', color),
  background: property('backgroundColor', color),
  'font-family': ignored,
  'border-collapse': ignored,
  'vertical-align': ignored,
  'font-size': property('fontSize', (value) => {
    const size = length(value)
    return size !== undefined && size >= 4 && size <= 96 ? size : undefined
  }),
  'font-weight': property('fontWeight', (value) => Object.hasOwn(WEIGHTS, value) ? WEIGHTS[value] : undefined),
  'font-style': property('fontStyle', oneOf(['normal', 'italic'])),
  'text-align': property('textAlign', align),
  'line-height': property('lineHeight', number(0.8, 4)),
  'letter-spacing': property('letterSpacing', (value) => {
    const space = length(value)
    return space !== undefined && space <= 20 ? space : undefined
  }),
  'text-transform': property('textTransform', oneOf(['none', 'uppercase', 'lowercase', 'capitalize'])),
  'text-decoration': property('textDecoration', oneOf(['none', 'underline', 'line-through'])),
  margin: sides('margin'),
  padding: sides('padding'),
  ...Object.fromEntries(SIDES.flatMap((side) => [
    [`margin-${side.toLowerCase()}`, property(`margin${side}`, length)],
    [`padding-${side.toLowerCase()}`, property(`padding${side}`, length)],
    [`border-${side.toLowerCase()}`, border([side])]
  ])),
  border: border(SIDES),
  'border-radius': property('borderRadius', length),
  width: property('width', lengthOrShare),
  'max-width': property('maxWidth', lengthOrShare),
  height: property('minHeight', length),
  'min-height': property('minHeight', length),
  flex: property('flexGrow', number(0, 20)),
  'justify-content': property('justifyContent', alignment(['center', 'space-between', 'space-around'])),
  'align-items': property('alignItems', alignment(['center', 'stretch', 'baseline'])),
  gap: property('gap', length)
}

/**
 * Parses a `style` attribute into a React-PDF style.
 * @param accent the colour that replaces the word `accent`
 * @throws TemplateError for a property or value that is not allowed
 */
export function readStyle (text: string, accent: string, place: Place): Style {
  const style: Style = {}
  for (const declaration of text.split(';')) {
    if (declaration.trim() === '') continue
    const [, name = '', value = ''] = /^([^:]*):([^]*)$/.exec(declaration) ?? []
    const key = name.trim().toLowerCase()
    if (!Object.hasOwn(PROPERTIES, key)) {
      throw new TemplateError('STILE_NON_AMMESSO', `stile «${declaration.trim().slice(0, 60)}» non ammesso`, place)
    }
    const read = PROPERTIES[key]!(value.trim().replace(/\baccent\b/g, accent))
    if (!read) throw new TemplateError('STILE_NON_AMMESSO', `valore non ammesso per lo stile «${key}»`, place)
    Object.assign(style, read)
  }
  return style
}
