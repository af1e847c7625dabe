/** What fills a field that has nothing more to say. */
export const FILLER = '<'

const WEIGHTS = [7, 3, 1] as const

/** The value of a character in the sum: digits as they are, A is 10, Z is 35, the filler 0. */
export function valueOf (char: string): number {
  return char === FILLER ? 0 : Number.parseInt(char, 36)
}

/** The check digit of a text of A-Z, 0-9 and `<` (ICAO Doc 9303 part 3, section 4.9). */
export function checkDigit (text: string): string {
  let sum = 0
  for (let at = 0; at < text.length; at++) sum += VALUES[text.charCodeAt(at)]! * WEIGHTS[at % WEIGHTS.length]!
  return String(sum % 10)
}

/** By the code of a character. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => valueOf(String.fromCharCode(code)))

/** A text without the fillers at its end. */
export function withoutFillers (text: string): string {
  return text.replace(/<+$/, '')
}

/** Whether `digit` is the check digit of `text`. A field that is all fillers may leave its digit out, too. */
export function digitHolds (text: string, digit: string): boolean {
  return digit === checkDigit(text) || (digit === FILLER && withoutFillers(text) === '')
}
