import type { Field, IntegerKind, TextKind } from './layout.ts'

/** The pattern of a field: the source of a regular expression that matches exactly `length` characters. */
export function patternOf ({ kind, length, required }: Field): string {
  switch (kind.type) {
    case 'text': return textPattern(kind, length, required)
    case 'integer': return integerPattern(kind, length)
    case 'day': return DAY
    case 'sex': return `[${kind.M}${kind.F}]`
  }
}

/*
 * Repeated characters are written out, because V8 runs `[A][A][A]` several times as fast as `[A]{3}`. A run of blanks
 * is the first alternative, because V8 compares four of its characters at a time.
 */

const blanks = (width: number) => ' '.repeat(width)

/** The pattern tests every 12 columns whether only blanks follow. This keeps both alternatives and runs short. */
const STEP = 12

function textPattern ({ chars, exact }: TextKind, width: number, required: boolean): string {
  const char = oneOf(chars)
  if (exact) return required ? char.repeat(width) : `(?:${char.repeat(width)}|${blanks(width)})`
  // Text with blanks may continue after a blank. Other text ends at its first blank.
  const step = chars.includes(' ') ? STEP : 1
  const text = oneOf(chars.replace(' ', '')) + leftAligned(char, width - 1, step)
  return required ? text : `(?:${blanks(width)}|${text})`
}

/** `width` columns of text. After every `step` columns, only blanks may follow. */
function leftAligned (char: string, width: number, step: number): string {
  if (width <= step) return `(?:${blanks(width)}|${char.repeat(width)})`
  return `(?:${blanks(width)}|${char.repeat(step)}${leftAligned(char, width - step, step)})`
}

function oneOf (chars: string): string {
  return `[${chars.replace(/[-\]\\^]/g, '\\$&')}]`
}

/** The manual does not define the padding. Zeros before the number, and blanks before or after it, all occur. */
function integerPattern ({ min, max }: IntegerKind, width: number): string {
  const padded = (number: string, digits: number) => [blanks(width - digits) + number, number + blanks(width - digits)]
  const isAny = min === 0 && max === 10 ** width - 1
  const forms = isAny
    ? numbers(1, width).flatMap((digits) => padded('\\d'.repeat(digits), digits))
    : numbers(min, max).map(String).flatMap((value) => [value.padStart(width, '0'), ...padded(value, value.length)])
  return `(?:${[...new Set(forms)].join('|')})`
}

function numbers (first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

const LEAP_YEAR = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'

/** The same calendar as `isDay` in src/lib/time.ts, as `dd/mm/yyyy`. There is no year 0000. */
const DAY = '(?:' + [
  '(?:0[1-9]|1\\d|2[0-8])/(?:0[1-9]|1[0-2])',
  '(?:29|30)/(?:0[13-9]|1[0-2])',
  '31/(?:0[13578]|1[02])',
  `29/02(?=/${LEAP_YEAR})`
].join('|') + ')/(?!0000)\\d{4}'
