import { isDay, type Day } from '#src/lib/time.ts'

/* Text of a document as OCR returns it: with dot leaders, stray marks, and confused letters and digits. */

const TO_LETTERS: Readonly<Record<string, string>> = { 0: 'O', 1: 'I', '|': 'I', 5: 'S', 8: 'B' }
const TO_DIGITS: Readonly<Record<string, string>> = {
  O: '0', Q: '0', D: '0', I: '1', L: '1', '|': '1', Z: '2', S: '5', B: '8'
}
/** A digit, or a letter that OCR reads instead of a digit. */
export const DIGIT = '[\\dOQDIL|ZSB]'
/** Day, month, and a year of two or four digits. */
export const DATE = `(${DIGIT}{2}) ?[./,-]? ?(${DIGIT}{2}) ?[./,-]? ?(${DIGIT}{4}|${DIGIT}{2})(?![\\p{L}\\d])`

/** Longer than any line of a document. This limits the work of the patterns. */
const LINE_MAX = 200

/** The lines in upper case, with single blanks. */
export function linesOf (text: string): string[] {
  return text.toUpperCase().split('\n').map((line) => line.replace(/\s+/g, ' ').trim().slice(0, LINE_MAX))
    .filter((line) => line !== '')
}

export function toLetters (text: string): string {
  return text.replace(/[01|58]/g, (character) => TO_LETTERS[character]!)
}

export function toDigits (text: string): string {
  return text.replace(/[OQDIL|ZSB]/g, (character) => TO_DIGITS[character]!)
}

/** The letters alone, so that a title is found with any blanks and punctuation inside. */
export function lettersOf (text: string): string {
  return toLetters(text.toUpperCase()).normalize('NFD').replace(/[^A-Z]/g, '')
}

/** A name without the characters around it. Undefined for a text with other characters inside. */
export function nameOf (text: string | undefined): string | undefined {
  const name = toLetters(text ?? '').replace(/^[^\p{L}]+|[^\p{L}'’]+$/gu, '')
  return /^\p{L}[\p{L}'’ -]*[\p{L}'’]$/u.test(name) && name.length <= 60 ? name : undefined
}

/**
 * The day of `DATE`'s three groups. With a year of two digits, it is the latest possible day up to `last`. Undefined if
 * the calendar has no such day, or it is after `last`.
 */
export function dayOf (day = '', month = '', year = '', last: Day): Day | undefined {
  const [dd, mm, yy] = [toDigits(day), toDigits(month), toDigits(year)]
  const years = yy.length === 4 ? [yy] : ['20', '19'].map((century) => century + yy)
  return years.map((each) => `${each}-${mm}-${dd}`).find((each) => isDay(each) && each <= last)
}
