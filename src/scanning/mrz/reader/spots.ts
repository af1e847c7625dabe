import { digitPlace, LAYOUTS, type CheckedField, type FieldName, type Layout, type Place } from '../layouts.ts'
import { ALPHABET } from './network.ts'

/** A character position of a zone, and the characters allowed there. */
export interface Spot {
  line: number
  at: number
  /** Log likelihood penalty of each alphabet character: 0 when the layout allows it here. */
  costs: Float32Array
}

/** A step along the characters that check digits cover. */
export interface Step {
  spot: Spot
  /** Weight in the field's sum; `begins` marks the first character. */
  fieldWeight?: number
  begins?: boolean
  /** Weight in the composite sum. */
  wholeWeight?: number
  /** Set when this is a field's or the composite check digit. */
  digit?: CheckedField | 'whole'
}

const WEIGHTS = [7, 3, 1] as const
/** Log likelihood penalties. Misreadings are rarer than documents that break their layout. */
const UNUSUAL = -6
/** Digits in names: few documents have them. */
const VERY_UNUSUAL = -12

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
const NAMES: readonly FieldName[] = ['names', 'surname', 'given']

/** All character positions of a layout. */
function spotsOf (layout: Layout): Spot[][] {
  const spots = Array.from({ length: layout.lines }, (_, line) =>
    Array.from({ length: layout.length }, (_, at): Spot => ({ line, at, costs: costs(ALPHABET, UNUSUAL) })))
  const put = ([line, from, to]: Place, allowed: string, cost = UNUSUAL) => {
    for (const spot of spots[line]!.slice(from, to)) spot.costs = costs(allowed, cost)
  }
  for (const [name, place] of Object.entries(layout.fields) as [FieldName, Place | undefined][]) {
    if (place !== undefined) put(place, ALLOWED[name] ?? ALPHABET, NAMES.includes(name) ? VERY_UNUSUAL : UNUSUAL)
  }
  for (const name of layout.checked) {
    // A long number has a filler instead of the digit.
    put(digitPlace(layout.fields[name]!), name === 'number' && !layout.longNumber ? DIGITS : `${DIGITS}<`)
  }
  if (layout.composite) put(layout.composite.at, DIGITS)
  const beginnings = BEGINNINGS[layout.name] ?? ['ACI']
  for (const [at, allowed] of beginnings.entries()) put([0, at, at + 1], allowed)
  return spots
}

/** Allowed first characters. */
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
 * The characters covered by check digits, in composite order, or line by line without a composite. Each field is
 * followed by its digit.
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
