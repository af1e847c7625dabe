import { digitPlace, LAYOUTS, type CheckedField, type FieldName, type Layout, type Place } from '../layouts.ts'
import { ALPHABET } from './network.ts'

/** A character position of a machine-readable zone, and the characters allowed there. */
export interface Spot {
  line: number
  at: number
  /** Log likelihood penalty of each alphabet character. 0 when the layout allows the character here. */
  costs: Float32Array
}

/** A step in the sequence of characters that check digits cover. */
export interface Step {
  spot: Spot
  /** The weight in the field's sum. `begins` marks the first character. */
  fieldWeight?: number
  begins?: boolean
  /** The weight in the composite sum. */
  wholeWeight?: number
  /** Set for a field's check digit, or the composite one. */
  digit?: CheckedField | 'whole'
}

const WEIGHTS = [7, 3, 1] as const
/** Log likelihood penalty of a character that the layout does not allow. Some documents violate their layout. */
const UNUSUAL = -6
/** The penalty for digits in names. Very few documents have them. */
const VERY_UNUSUAL = -12
/** The penalty for letters in dates and check digits. No document has them. */
export const IMPOSSIBLE = -60

/** True for a position of a name. */
export function isOfName ({ costs }: Spot): boolean {
  return costs[ALPHABET.indexOf('0')] === VERY_UNUSUAL
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ<'
const DIGITS = '0123456789'

const ALLOWED: Readonly<Partial<Record<FieldName, string>>> = {
  code: LETTERS,
  issuer: LETTERS,
  names: LETTERS,
  surname: LETTERS,
  given: LETTERS,
  nationality: LETTERS,
  birth: `${DIGITS}<`,
  expiry: `${DIGITS}<`,
  sex: 'MF<'
}
const COSTS: Readonly<Partial<Record<FieldName, number>>> = {
  names: VERY_UNUSUAL,
  surname: VERY_UNUSUAL,
  given: VERY_UNUSUAL,
  birth: IMPOSSIBLE,
  expiry: IMPOSSIBLE
}

/** All character positions of a layout. */
function spotsOf (layout: Layout): Spot[][] {
  const spots = Array.from({ length: layout.lines }, (_, line) =>
    Array.from({ length: layout.length }, (_, at): Spot => ({ line, at, costs: costs(ALPHABET, UNUSUAL) })))
  const put = ([line, from, to]: Place, allowed: string, cost = UNUSUAL) => {
    for (const spot of spots[line]!.slice(from, to)) spot.costs = costs(allowed, cost)
  }
  for (const [name, place] of Object.entries(layout.fields) as [FieldName, Place | undefined][]) {
    if (place !== undefined) put(place, ALLOWED[name] ?? ALPHABET, COSTS[name] ?? UNUSUAL)
  }
  for (const name of layout.checked) {
    // A filler may replace the check digit of an empty field or of a long number.
    put(digitPlace(layout.fields[name]!), name === 'number' && !layout.longNumber ? DIGITS : `${DIGITS}<`, IMPOSSIBLE)
  }
  if (layout.composite) put(layout.composite.at, DIGITS, IMPOSSIBLE)
  const beginnings = BEGINNINGS[layout.name] ?? ['ACI']
  for (const [at, allowed] of beginnings.entries()) put([0, at, at + 1], allowed)
  return spots
}

/** The characters allowed at each of a layout's first positions. By default the first one is A, C or I (TD1, TD2). */
const BEGINNINGS: Readonly<Partial<Record<Layout['name'], readonly string[]>>> = {
  'MRV-A': ['V'],
  'MRV-B': ['V'],
  TD3: ['P'],
  FRA: [...'IDFRA']
}

function costs (allowed: string, cost: number): Float32Array {
  return Float32Array.from(ALPHABET, (char) => allowed.includes(char) ? 0 : cost)
}

/**
 * The characters that check digits cover, in the order of the composite, else field by field. The check digit of a
 * field follows the field.
 */
function stepsOf (layout: Layout, spots: Spot[][]): Step[] {
  const { composite, checked, fields } = layout
  const covered = composite?.over ?? checked.map((name): Place => {
    const [line, from, to] = fields[name]!
    return [line, from, to + 1]
  })
  const steps = covered.flatMap(([line, from, to]) => spots[line]!.slice(from, to)).map((spot, nth): Step => {
    const step: Step = composite ? { spot, wholeWeight: WEIGHTS[nth % 3]! } : { spot }
    for (const name of checked) {
      const [line, from, to] = fields[name]!
      if (spot.line !== line || spot.at < from || spot.at > to) continue
      return spot.at === to
        ? { ...step, digit: name }
        : { ...step, fieldWeight: WEIGHTS[(spot.at - from) % 3]!, begins: spot.at === from }
    }
    return step
  })
  if (!composite) return steps
  const [line, at] = composite.at
  return [...steps, { spot: spots[line]![at]!, digit: 'whole' }]
}

/** All layouts with their positions, computed once. */
export const READABLE = LAYOUTS.map((layout) => {
  const spots = spotsOf(layout)
  return { layout, spots, steps: stepsOf(layout, spots) }
})
export type Readable = (typeof READABLE)[number]
