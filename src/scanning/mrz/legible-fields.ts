import { LEGIBLE_FIELDS, type Leggibilita, type Legibility } from '#schemas/scanning.ts'
import type { CheckedField, FieldName, Layout, Place } from './layouts.ts'

type LegibleField = keyof Leggibilita

/** Response fields, each with the layout field that contains it. */
const SOURCES: readonly (readonly [LegibleField, FieldName])[] = [
  ['documentCode', 'code'],
  ['issuingCountry', 'issuer'],
  ['docNumber', 'number'],
  ['nationality', 'nationality'],
  ['birthDate', 'birth'],
  ['gender', 'sex'],
  ['expiryDate', 'expiry'],
  ['surname', 'surname'],
  ['name', 'given'],
  ['optionalData', 'optional']
]

/** The legibility of each field: the legibility of its worst character or check digit. */
export function legibleFields (
  layout: Layout, lines: readonly string[], characters: readonly Legibility[][]
): Leggibilita {
  const places = placesOf(layout, lines)
  return Object.fromEntries(LEGIBLE_FIELDS.map((name) => {
    const own = places.get(name)
    return [name, own === undefined ? null : worst(own, characters)]
  })) as Leggibilita
}

function placesOf (layout: Layout, lines: readonly string[]): Map<LegibleField, Place[]> {
  const { fields, composite, isChecked, longNumber } = layout
  const places = new Map<LegibleField, Place[]>()
  const put = (name: LegibleField, place: Place) => places.set(name, [...places.get(name) ?? [], place])
  for (const [name, field] of SOURCES) {
    const place = fields[field]
    if (place === undefined) continue
    const [line, from, to] = place
    put(name, isChecked[field as CheckedField] === true ? [line, from, to + 1] : place)
  }
  if (fields.further !== undefined) put('optionalData', fields.further)
  if (composite !== undefined) put('composite', composite.at)
  if (fields.names !== undefined) {
    const [line, from, to] = fields.names
    const end = lines[line]!.indexOf('<<', from)
    const middle = end === -1 || end >= to ? to : Math.min(to, end + 2)
    put('surname', [line, from, middle])
    put('name', middle === to ? fields.names : [line, middle, to])
  }
  // A long number continues in the optional data.
  const { number: [line, , digit], optional } = fields
  if (longNumber === true && lines[line]![digit] === '<') put('docNumber', optional)
  return places
}

const FROM_WORST = ['nulla', 'dubbia'] as const

function worst (places: readonly Place[], characters: readonly Legibility[][]): Legibility {
  const all = places.flatMap(([line, from, to]) => characters[line]!.slice(from, to))
  return FROM_WORST.find((each) => all.includes(each)) ?? 'buona'
}

/** The fields that are not clearly legible. */
export function illegible (legibility: Leggibilita | undefined): LegibleField[] {
  return LEGIBLE_FIELDS.filter((name) => legibility !== undefined && (legibility[name] ?? 'buona') !== 'buona')
}
