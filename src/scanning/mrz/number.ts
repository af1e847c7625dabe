import { checkDigit, digitHolds, FILLER, withoutFillers } from './digits.ts'

export interface DocumentNumber {
  number: string
  holds: boolean
  /** What is left of the optional data. */
  optional: string
}

/** A number that fits its field. */
export function shortNumber (field: string, digit: string, optional: string): DocumentNumber {
  const holds = digit !== FILLER && digitHolds(field, digit)
  return { number: withoutFillers(field), holds, optional: withoutFillers(optional) }
}

/**
 * A number that may be longer than its field: then a filler stands for the digit, and the optional data begin with the
 * rest of the number and its digit, up to the next filler. ICAO leaves that first filler out of the sum (Doc 9303 part
 * 5, 4.2.4); Portugal takes it in. Both are right here.
 */
export function longNumber (field: string, digit: string, optional: string): DocumentNumber {
  const [rest = ''] = optional.split(FILLER, 1)
  if (digit !== FILLER || rest.length < 2 || field.includes(FILLER)) return shortNumber(field, digit, optional)
  const [tail, last] = [rest.slice(0, -1), rest.slice(-1)]
  return {
    number: field + tail,
    holds: last === checkDigit(field + tail) || last === checkDigit(field + FILLER + tail),
    optional: withoutFillers(optional.slice(rest.length + 1))
  }
}
