/** The character that fills the unused end of a field, and replaces blanks and punctuation. */
export const FILLER = '<'
const FILLER_CODE = FILLER.charCodeAt(0)
/** Character code of the digit 0. The codes of the other digits follow. */
const ZERO_CODE = '0'.charCodeAt(0)

const WEIGHTS = [7, 3, 1] as const

/** The value of a character in the sum: 0 to 9 as they are, A is 10, Z is 35, the filler is 0. */
export function valueOf (char: string): number {
  return char === FILLER ? 0 : Number.parseInt(char, 36)
}

/** Precomputed value times weight, indexed by weight position and character code. */
const WEIGHTED = Uint8Array.from({ length: WEIGHTS.length * 128 }, (_, at) =>
  WEIGHTS[at >> 7]! * valueOf(String.fromCharCode(at & 127)))

/**
 * The weighted sum of part of a line (ICAO Doc 9303 part 3, section 4.9). Its last decimal is the check digit.
 * @param before number of characters already summed. The weights continue from there
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

/** True when the character with this code is the check digit of the sum. False for a filler. */
export function isDigitOf (sum: number, code: number): boolean {
  return code - ZERO_CODE === sum % 10
}

/** True when the check digit after a field is correct. An empty field may have a filler instead. */
export function hasValidDigit (line: string, from: number, to: number): boolean {
  if (isFiller(line, to)) return endOf(line, from, to) === from
  return isDigitOf(weightedSum(line, from, to), line.charCodeAt(to))
}

export function isFiller (line: string, at: number): boolean {
  return line.charCodeAt(at) === FILLER_CODE
}

/** The end of a part of a line, without its trailing fillers. */
export function endOf (line: string, from: number, to: number): number {
  let end = to
  while (end > from && isFiller(line, end - 1)) end--
  return end
}

/** A text, or part of a line, without trailing fillers. */
export function withoutFillers (line: string, from = 0, to = line.length): string {
  return line.slice(from, endOf(line, from, to))
}
