import { withoutFillers } from '../digits.ts'
import { ISSUERS } from '../issuers.ts'
import type { Layout, Place } from '../layouts.ts'
import { hasKnownForm } from '../number-forms.ts'
import { ALPHABET } from './network.ts'
import type { Readable } from './spots.ts'

/** Words with single or double fillers between them, and fillers only after them. */
const NAMES = /^[A-Z]+(?:<{1,2}[A-Z]+)*<*$/

/**
 * Signs of a zone other than check digits, which `solve` enforces: part of a longer line reads well as a shorter one,
 * and a line that is shifted by a character has no issuer.
 */
export function looksLikeZone ({ fields: { issuer } }: Layout, lines: readonly string[]): boolean {
  return /^(?:[ACIPV][A-Z<]|C[12]USA)/.test(lines[0]!) && lines.join('').includes('<<') && isListed(issuer, lines)
}

/**
 * The positions of characters that break the rules of their field. No check digit makes them right.
 * @param isEasy false for a zone that is hard to read: its number also needs a form that its issuer uses
 */
export function oddPlaces ({ layout, spots }: Readable, lines: readonly string[], isEasy: boolean): Place[] {
  const { fields } = layout
  const places: Place[] = spots.flat()
    .filter(({ line, at, costs }) => costs[ALPHABET.indexOf(lines[line]![at]!)]! < 0)
    .filter(({ line, at }) => !isCardOfResident(line, at, lines))
    .map(({ line, at }) => [line, at, at + 1])
  for (const place of [fields.names, fields.surname]) {
    if (place !== undefined && !NAMES.test(textAt(place, lines))) places.push(place)
  }
  if (fields.nationality !== undefined && !isListed(fields.nationality, lines)) places.push(fields.nationality)
  const [code, issuer, number] = [fields.code, fields.issuer, fields.number].map((place) =>
    withoutFillers(textAt(place, lines))) as [string, string, string]
  if (hasKnownForm(code, issuer, number) === false && (!isEasy || (issuer === 'ITA' && code === 'C'))) {
    places.push(fields.number)
  }
  return places
}

/** The United States print C1 or C2 on cards of permanent residents. */
function isCardOfResident (line: number, at: number, lines: readonly string[]): boolean {
  return line === 0 && at === 1 && /^C[12]USA/.test(lines[0]!)
}

function isListed (place: Place, lines: readonly string[]): boolean {
  return ISSUERS.has(withoutFillers(textAt(place, lines)))
}

function textAt ([line, from, to]: Place, lines: readonly string[]): string {
  return lines[line]!.slice(from, to)
}
