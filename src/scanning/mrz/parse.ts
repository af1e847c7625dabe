import type { MrzChecks } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { birthDate, expiryDate, type ZoneDate } from './dates.ts'
import { digitHolds, withoutFillers } from './digits.ts'
import { digitPlace, type CheckedField, type FieldName, type Layout, type Place } from './layouts.ts'
import { isFull, plainName, splitNames, type Names } from './names.ts'
import { longNumber, shortNumber } from './number.ts'

/** What a zone says. Codes are as they are printed, without fillers; '' is what it does not say. */
export interface Zone extends Names {
  layout: Layout
  code: string
  issuer: string
  number: string
  nationality: string
  birth: ZoneDate
  sex: 'M' | 'F' | ''
  /** undefined where the layout has no expiry. */
  expiry: ZoneDate | undefined
  optional: string
  further: string
  checks: MrzChecks
  /** All check digits add up, and no date is one that no calendar has. */
  valid: boolean
}

/**
 * Reads a zone of a layout. Whatever its characters say, there is an answer: what does not add up is said in `checks`.
 * @param lines as many and as long as the layout wants, of A-Z, 0-9 and `<`
 * @param today decides the century of two-digit years
 */
export function parseZone (layout: Layout, lines: readonly string[], today: Day): Zone {
  const { fields, composite } = layout
  const at = ([line, from, to]: Place) => lines[line]!.slice(from, to)
  const text = (name: FieldName) => fields[name] === undefined ? '' : at(fields[name])
  const digit = (name: CheckedField) => at(digitPlace(fields[name]!))
  const check = (name: CheckedField) => layout.checked.includes(name) ? digitHolds(text(name), digit(name)) : null

  const readNumber = layout.longNumber ? longNumber : shortNumber
  const { holds, ...number } = readNumber(text('number'), digit('number'), text('optional'))
  const birth = birthDate(text('birth'), today)
  const expiry = fields.expiry === undefined ? undefined : expiryDate(text('expiry'), today)
  const checks: MrzChecks = {
    docNumber: holds,
    birthDate: birth.fault === 'impossible' ? false : check('birth'),
    expiryDate: expiry?.fault === 'impossible' ? false : check('expiry'),
    optionalData: check('optional'),
    composite: composite === undefined ? null : compositeHolds(composite.over.map(at).join(''), at(composite.at))
  }
  return {
    layout,
    code: withoutFillers(text('code')),
    issuer: withoutFillers(text('issuer')),
    nationality: layout.nationality ?? withoutFillers(text('nationality')),
    ...namesOf(text),
    ...number,
    birth,
    sex: sexOf(text('sex')),
    expiry,
    further: withoutFillers(text('further')),
    checks,
    valid: Object.values(checks).every((holds) => holds !== false)
  }
}

/** The digit over all is never left out. */
function compositeHolds (text: string, digit: string): boolean {
  return digit !== '<' && digitHolds(text, digit)
}

function namesOf (text: (name: FieldName) => string): Names {
  if (text('names') !== '') return splitNames(text('names'))
  const [surname, given] = [text('surname'), text('given')]
  return { surname: plainName(surname), given: plainName(given), cut: isFull(surname) || isFull(given) }
}

function sexOf (char: string): Zone['sex'] {
  return char === 'M' || char === 'F' ? char : ''
}
