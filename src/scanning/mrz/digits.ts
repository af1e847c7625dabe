/** What fills a field that has nothing more to say. */
export const FILLER = '<'
const FILLER_CODE = FILLER.charCodeAt(0)
/** The code of the digit 0: those of the others follow. */
const ZERO_CODE = '0'.charCodeAt(0)

const WEIGHTS = [7, 3, 1] as const

/** The value of a character in the sum: digits as they are, A is 10, Z is 35, the filler 0. */
export function valueOf (char: string): number {
  return char === FILLER ? 0 : Number.parseInt(char, 36)
}

/** Value times weight, by the weight's place and the code of the character: a sum is nothing but look-ups. */
const WEIGHTED = Uint8Array.from({ length: WEIGHTS.length * 128 }, (_, at) =>
  WEIGHTS[at >> 7]! * valueOf(String.fromCharCode(at & 127)))

/**
 * The sum that a check digit is the last figure of (ICAO Doc 9303 part 3, section 4.9), of part of a line.
 * @param before how many characters the sum has had before these: the weights go on from there
 */
export function weightedSum (line: string, from: number, to: number, before = 0): number {
  let sum = 0
  let weight = before % WEIGHTS.length
  for (let at = from; at < to; at++) {
    sum += WEIGHTED[weight << 7 | line.charCodeAt(at)]!
    weight = weight === 2 ? 0 : weight + 1
  }
  return sum
}

/** The check digit of a text of A-Z, 0-9 and `<`. */
export function checkDigit (text: string): string {
  return String(weightedSum(text, 0, text.length) % 10)
}

/** Whether a sum has this digit; a filler is none. */
export function isDigitOf (sum: number, digit: number): boolean {
  return digit - ZERO_CODE === sum % 10
}

/** Whether the digit right after a field is its own. A field that is all fillers may leave its digit out, too. */
export function digitHolds (line: string, from: number, to: number): boolean {
  if (isFiller(line, to)) return endOf(line, from, to) === from
  return isDigitOf(weightedSum(line, from, to), line.charCodeAt(to))
}

/** Whether a character of a line is a filler. */
export function isFiller (line: string, at: number): boolean {
  return line.charCodeAt(at) === FILLER_CODE
}

/** Where part of a line ends, without the fillers at its end. */
export function endOf (line: string, from: number, to: number): number {
  let end = to
  while (end > from && isFiller(line, end - 1)) end--
  return end
}

/** A text, or part of a line, without the fillers at its end. */
export function withoutFillers (line: string, from = 0, to = line.length): string {
  return line.slice(from, endOf(line, from, to))
}
