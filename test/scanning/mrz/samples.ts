import fc from 'fast-check'
import { LAYOUTS, type Layout, type Place } from '#src/scanning/mrz/layouts.ts'
import type { ZoneValues } from './write-zone.ts'
import { addDays } from '#src/lib/time.ts'

/* Fictitious holders and documents of every layout. */

export const TODAY = '2026-01-01'

export const CHARACTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<']
const LETTERS = CHARACTERS.slice(0, 26)
const ALPHANUMERIC = CHARACTERS.slice(0, 36)

const text = (units: string[], maxLength: number, minLength = 0) =>
  fc.string({ unit: fc.constantFrom(...units), minLength, maxLength })
const name = (maxLength: number) =>
  fc.array(text(LETTERS, 8, 1), { maxLength: 3 }).map((words) => words.join(' ').slice(0, maxLength).trim())
const width = (place?: Place) => place === undefined ? 0 : place[2] - place[1]

/** Values that fit a layout. Missing fields are as `parseZone` returns them. */
function values ({ name: layoutName, fields, longNumber, nationality }: Layout): fc.Arbitrary<ZoneValues> {
  const [surname, given] = fields.names
    ? [16, width(fields.names) - 18]
    : [width(fields.surname), width(fields.given)]
  const optional = width(fields.optional)
  return fc.record({
    code: fc.constantFrom(...codes(layoutName)),
    issuer: fields.surname ? fc.constant('FRA') : fc.constantFrom('D', 'ITA', 'UTO', 'RKS', 'UNO'),
    nationality: nationality ? fc.constant(nationality) : fc.constantFrom('D', 'ITA', 'UTO', 'XXA', 'GBD'),
    surname: name(surname),
    given: name(given),
    // A long number leaves space for its check digit and a filler.
    number: text(ALPHANUMERIC, longNumber ? 9 + optional - 2 : width(fields.number)),
    birth: day(addDays(TODAY, -36_524), TODAY),
    sex: fc.constantFrom('M' as const, 'F' as const, '' as const),
    expiry: fields.expiry ? day('1977-01-01', '2076-12-31') : fc.constant(''),
    further: text(ALPHANUMERIC, width(fields.further)),
    optional: text(ALPHANUMERIC, optional)
  }).map(({ optional: rest, ...each }) => {
    const taken = longNumber && each.number.length > 9 ? each.number.length - 9 + 2 : 0
    return { ...each, optional: rest.slice(0, Math.max(0, optional - taken)) }
  })
}

function codes (name: Layout['name']): string[] {
  if (name === 'FRA') return ['ID']
  return name.startsWith('MRV') ? ['V', 'VC'] : ['P', 'PD', 'I', 'ID', 'C', 'AC']
}

function day (first: string, last: string) {
  const span = (Date.parse(last) - Date.parse(first)) / 86_400_000
  return fc.integer({ min: 0, max: span }).map((days) => addDays(first, days))
}

/** A document of any layout, with its values. */
export const document = fc.constantFrom(...LAYOUTS).chain((layout) =>
  values(layout).map((holder) => ({ layout, holder })))
