import type { MrzChecks } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { birthDate, expiryDate, type ZoneDate } from './dates.ts'
import { checkDigit, hasValidDigit, endOf, FILLER, isDigitOf, isFiller, weightedSum, withoutFillers } from './digits.ts'
import type { CheckedField, Composite, Fields, Layout, Place } from './layouts.ts'
import { type Names, plainName, splitNames } from './zone-names.ts'

interface DocumentNumber {
  number: string
  isCorrect: boolean
  /** The optional data, without the rest of a long number. */
  optional: string
}

/** Reads a number that fits into its field. Without a check digit the number is not correct. */
function shortNumber (lines: readonly string[], field: Place, optional: Place): DocumentNumber {
  const line = lines[field[0]]!
  return {
    number: withoutFillers(line, field[1], field[2]),
    isCorrect: !isFiller(line, field[2]) && hasValidDigit(line, field[1], field[2]),
    optional: withoutFillers(lines[optional[0]]!, optional[1], optional[2])
  }
}

/**
 * Reads a number that may exceed its field. A filler then replaces the check digit. The optional data begin with the
 * rest of the number and its check digit, up to the next filler. ICAO excludes the filler that replaces the digit from
 * the sum (Doc 9303 part 5, 4.2.4), but Portugal includes it. Both are accepted.
 */
function longNumber (lines: readonly string[], field: Place, optional: Place): DocumentNumber {
  const short = shortNumber(lines, field, optional)
  if (!isFiller(lines[field[0]]!, field[2]) || short.number.length < field[2] - field[1]) return short
  const [rest = ''] = short.optional.split(FILLER, 1)
  if (rest.length < 2 || short.number.includes(FILLER)) return short
  const [tail, last] = [rest.slice(0, -1), rest.slice(-1)]
  return {
    number: short.number + tail,
    isCorrect: last === checkDigit(short.number + tail) || last === checkDigit(short.number + FILLER + tail),
    optional: short.optional.slice(rest.length + 1)
  }
}

/** The parsed zone. Codes are as printed, without trailing fillers. `''` means that the zone has no value. */
export interface Zone extends Names {
  layout: Layout
  code: string
  issuer: string
  number: string
  nationality: string
  birth: ZoneDate
  sex: 'M' | 'F' | ''
  /** Undefined when the layout has no expiry date. */
  expiry: ZoneDate | undefined
  optional: string
  further: string
  checks: MrzChecks
  /** Whether all check digits are correct, and no date is impossible. Incomplete dates are allowed. */
  valid: boolean
}

/**
 * Parses the lines of a layout. Wrong check digits and impossible dates are false in `checks`. They throw no error.
 * @param lines number and length of the layout, characters A-Z, 0-9 and `<`
 * @param today decides the century of two-digit years
 */
export function parseZone (layout: Layout, lines: readonly string[], today: Day): Zone {
  const { fields, composite } = layout
  const readNumber = layout.longNumber ? longNumber : shortNumber
  const { number, isCorrect, optional } = readNumber(lines, fields.number, fields.optional)
  const birth = dateAt(birthDate, lines, fields.birth, today)
  const expiry = fields.expiry === undefined ? undefined : dateAt(expiryDate, lines, fields.expiry, today)
  const checks: MrzChecks = {
    docNumber: isCorrect,
    birthDate: birth.fault === 'impossible' ? false : check(layout, lines, 'birth'),
    expiryDate: expiry?.fault === 'impossible' ? false : check(layout, lines, 'expiry'),
    optionalData: check(layout, lines, 'optional'),
    composite: composite === undefined ? null : isCompositeCorrect(composite, lines)
  }
  const { surname, given, cut } = namesOf(fields, lines)
  return {
    layout,
    code: text(lines, fields.code),
    issuer: text(lines, fields.issuer),
    nationality: layout.nationality ?? text(lines, fields.nationality),
    surname,
    given,
    cut,
    number,
    optional,
    birth,
    sex: sexOf(lines[fields.sex[0]]![fields.sex[1]]!),
    expiry,
    further: text(lines, fields.further),
    checks,
    valid: noneFails(checks)
  }
}

function dateAt (read: typeof birthDate, lines: readonly string[], place: Place, today: Day): ZoneDate {
  return read(lines[place[0]]!, place[1], today)
}

/** The text of a field. `''` when the layout lacks the field. */
function text (lines: readonly string[], place: Place | undefined): string {
  return place === undefined ? '' : withoutFillers(lines[place[0]]!, place[1], place[2])
}

function check ({ fields, isChecked }: Layout, lines: readonly string[], name: CheckedField): boolean | null {
  if (!isChecked[name]) return null
  const place = fields[name]!
  return hasValidDigit(lines[place[0]]!, place[1], place[2])
}

/** Checks the composite digit. A filler instead of the digit is wrong. */
function isCompositeCorrect ({ at, over }: Composite, lines: readonly string[]): boolean {
  let sum = 0
  let before = 0
  for (const place of over) {
    sum += weightedSum(lines[place[0]]!, place[1], place[2], before)
    before += place[2] - place[1]
  }
  return isDigitOf(sum, lines[at[0]]!.charCodeAt(at[1]))
}

function namesOf ({ names, surname, given }: Fields, lines: readonly string[]): Names {
  if (names !== undefined) return splitNames(lines[names[0]]!, names[1], names[2])
  const [first, second] = [ownName(lines, surname!), ownName(lines, given!)]
  return { surname: first.name, given: second.name, cut: first.cut || second.cut }
}

/** Reads a name that has its own field. */
function ownName (lines: readonly string[], [at, from, to]: Place): { name: string, cut: boolean } {
  const line = lines[at]!
  const end = endOf(line, from, to)
  return { name: plainName(line, from, end), cut: end === to }
}

function sexOf (char: string): Zone['sex'] {
  return char === 'M' || char === 'F' ? char : ''
}

function noneFails ({ docNumber, birthDate, expiryDate, optionalData, composite }: MrzChecks): boolean {
  return docNumber !== false && birthDate !== false && expiryDate !== false &&
    optionalData !== false && composite !== false
}
