import type { Place } from './layouts.ts'
import { checkDigit, digitHolds, FILLER, isFiller, withoutFillers } from './digits.ts'

export interface DocumentNumber {
  number: string
  holds: boolean
  /** What is left of the optional data. */
  optional: string
}

/** A number that fits its field: its digit is never left out. */
export function shortNumber (lines: readonly string[], field: Place, optional: Place): DocumentNumber {
  const line = lines[field[0]]!
  return {
    number: withoutFillers(line, field[1], field[2]),
    holds: !isFiller(line, field[2]) && digitHolds(line, field[1], field[2]),
    optional: withoutFillers(lines[optional[0]]!, optional[1], optional[2])
  }
}

/**
 * A number that may be longer than its field: then a filler stands for the digit, and the optional data begin with the
 * rest of the number and its digit, up to the next filler. ICAO leaves that first filler out of the sum (Doc 9303 part
 * 5, 4.2.4); Portugal takes it in. Both are right here.
 */
export function longNumber (lines: readonly string[], field: Place, optional: Place): DocumentNumber {
  const short = shortNumber(lines, field, optional)
  if (!isFiller(lines[field[0]]!, field[2]) || short.number.length < field[2] - field[1]) return short
  const [rest = ''] = short.optional.split(FILLER, 1)
  if (rest.length < 2 || short.number.includes(FILLER)) return short
  const [tail, last] = [rest.slice(0, -1), rest.slice(-1)]
  return {
    number: short.number + tail,
    holds: last === checkDigit(short.number + tail) || last === checkDigit(short.number + FILLER + tail),
    optional: short.optional.slice(rest.length + 1)
  }
}
