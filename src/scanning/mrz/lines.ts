import type { FieldError } from '#schemas/common.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { layoutOf, LAYOUTS, type Layout } from './layouts.ts'

interface CheckedLines { layout: Layout, lines: readonly string[] }

/**
 * Normalizes and validates lines. Lower case becomes upper case, and surrounding blanks are removed.
 * @throws CampiNonValidi with one error for each line that has an invalid character or length
 */
export function checkLines (given: readonly string[]): CheckedLines {
  const lines = given.every(isPlain) ? given : given.map(plain)
  const layout = layoutOf(lines)
  if (layout !== undefined && (lines === given || lines.every(isPlain))) return { layout, lines }
  throw new CampiNonValidi(...lines.flatMap((line, at) => faultOf(line, at, lines)))
}

function isPlain (line: string): boolean {
  return /^[A-Z0-9<]*$/.test(line)
}

function plain (line: string): string {
  return line.trim().replace(/[a-z]/g, (letter) => letter.toUpperCase())
}

function faultOf (line: string, at: number, lines: readonly string[]): FieldError[] {
  const campo = `lines[${at}]`
  const strange = [...new Set(line.replace(/[A-Z0-9<]/g, ''))]
  if (strange.length > 0) {
    return [{ campo, messaggio: `può contenere solo A-Z, 0-9 e <, e contiene ${strange.map(named).join(' ')}` }]
  }
  const lengths = lengthsFor(lines)
  if (lengths.includes(line.length)) return []
  const wanted = lengths.length === 1 ? `, come ogni riga di ${FORMATS_OF[lengths[0]!]}` : ''
  const found = `ha ${countWithNoun(line.length, 'carattere', 'caratteri')}`
  return [{ campo, messaggio: `${found}: devono essere ${lengths.join(' o ')}${wanted}` }]
}

const FORMATS_OF = Object.fromEntries(LAYOUTS.map(({ length, format }) => [length, format]))

/** The allowed lengths: the only known length among the lines, else that of the first line, else all. */
function lengthsFor (lines: readonly string[]): number[] {
  const lengths = [...new Set(LAYOUTS.filter((layout) => layout.lines === lines.length).map(({ length }) => length))]
  const met = lengths.filter((length) => lines.some((line) => line.length === length))
  return met.length === 1 ? met : met.includes(lines[0]!.length) ? [lines[0]!.length] : lengths
}

function named (char: string): string {
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(char) ? `«${char}»` : `U+${char.codePointAt(0)!.toString(16).padStart(4, '0')}`
}
