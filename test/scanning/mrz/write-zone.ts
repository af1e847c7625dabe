import type { Day } from '#src/lib/time.ts'
import { checkDigit, FILLER } from '#src/scanning/mrz/digits.ts'
import { digitPlace, type FieldName, type Layout, type Place } from '#src/scanning/mrz/layouts.ts'
import type { Zone } from '#src/scanning/mrz/parse.ts'

/** The values to write. `birth` and `expiry` are '' when unknown. */
export interface ZoneValues extends Pick<
  Zone,
  'code' | 'issuer' | 'surname' | 'given' | 'number' | 'nationality' | 'sex' | 'optional' | 'further'
> {
  birth: Day | ''
  expiry: Day | ''
}

/** An invented French passport. */
export const PASSPORT: ZoneValues = {
  code: 'P',
  issuer: 'FRA',
  nationality: 'FRA',
  surname: 'PROVETTI',
  given: 'LUCA',
  number: 'V12345678',
  birth: '1980-02-29',
  sex: 'M',
  expiry: '2031-06-30',
  optional: '',
  further: ''
}

/**
 * Writes the lines of a zone with check digits. Long names are cut, as issuers do. Fields that the layout lacks are
 * ignored.
 * @throws RangeError when another field is longer than its place
 */
export function writeZone (layout: Layout, values: ZoneValues): string[] {
  const { fields } = layout
  const lines = Array.from({ length: layout.lines }, () => FILLER.repeat(layout.length))
  const at = ([line, from, to]: Place) => lines[line]!.slice(from, to)
  const put = ([line, from, to]: Place, text: string) => {
    if (text.length > to - from) throw new RangeError(`${text.length} characters do not fit into ${to - from}`)
    lines[line] = lines[line]!.slice(0, from) + text.padEnd(to - from, FILLER) + lines[line]!.slice(to)
  }
  const isLong = layout.longNumber === true && values.number.length > 9
  const texts = { ...textsOf(layout, values), ...(isLong ? splitNumber(values) : {}) }

  for (const [name, text] of Object.entries(texts)) {
    const place = fields[name as FieldName]
    if (place !== undefined) put(place, text)
  }
  for (const name of layout.checked) {
    const place = fields[name]!
    put(digitPlace(place), isLong && name === 'number' ? FILLER : checkDigit(at(place)))
  }
  if (layout.composite) put(layout.composite.at, checkDigit(layout.composite.over.map(at).join('')))
  return lines
}

function textsOf ({ fields }: Layout, { surname, given, birth, expiry, ...rest }: ZoneValues) {
  const width = ([, from, to]: Place) => to - from
  return {
    ...rest,
    ...(fields.names && { names: joinNames(surname, given, width(fields.names)) }),
    ...(fields.surname && { surname: joinNames(surname, '', width(fields.surname)) }),
    ...(fields.given && { given: joinNames(given, '', width(fields.given)) }),
    birth: sixDigits(birth),
    expiry: sixDigits(expiry)
  }
}

/** Splits a long number: its rest and its check digit are part of the optional data. */
function splitNumber ({ number, optional }: ZoneValues) {
  const rest = number.slice(9) + checkDigit(number)
  return { number: number.slice(0, 9), optional: optional === '' ? rest : rest + FILLER + optional }
}

/** Joins both names in one field, truncated. */
function joinNames (surname: string, given: string, length: number): string {
  return `${surname}${given === '' ? '' : `<<${given}`}`.replaceAll(' ', FILLER).slice(0, length)
}

function sixDigits (day: Day | ''): string {
  return day.slice(2).replaceAll('-', '')
}
