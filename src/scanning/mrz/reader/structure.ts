import { withoutFillers } from '../digits.ts'
import { ISSUERS } from '../issuers.ts'
import type { Layout, Place } from '../layouts.ts'
import { hasKnownForm } from '../number-forms.ts'
import type { Cell } from './cells.ts'
import { ALPHABET, FILLER } from './network.ts'
import type { Readable } from './spots.ts'

/** Words with single or double fillers between them, and fillers only after them. */
const NAMES = /^[A-Z]+(?:<{1,2}[A-Z]+)*<*$/

/** A name ends with its first run of this many fillers, because words are one or two fillers apart. */
const ENDING = 3
/** Minimum margin of such a filler, and of another character after it, which shows that the name continues. */
const SEEN = { filler: 7, other: 20 }
/** A position after the end of a name: a filler, even if a finger, a spot or an edge covers it. */
export const ENDED: Cell = Float32Array.from(ALPHABET, (char) => char === '<' ? 0 : -100)

/**
 * The cells of a zone, with `ENDED` after the end of each name. Unchanged for a layout without `hasOneLength`, because
 * only the fillers show the length of its lines.
 */
export function withNamesEnded ({ layout }: Readable, cells: readonly Cell[][]): Cell[][] {
  const { fields } = layout
  const ended = cells.map((line) => [...line])
  if (!hasOneLength(layout)) return ended
  for (const place of [fields.names, fields.surname, fields.given]) {
    if (place === undefined) continue
    const [line, from, to] = place
    const own = ended[line]!
    const end = endOf(own.slice(from, to))
    if (end !== undefined) own.fill(ENDED, from + end, to)
  }
  return ended
}

/** The first position after the fillers that end a name. Undefined when the name has no such end. */
function endOf (cells: readonly Cell[]): number | undefined {
  const margins = cells.map(marginOfFiller)
  const end = margins.findIndex((_, at) => at > ENDING &&
    margins.slice(at - ENDING, at).every((margin) => margin >= SEEN.filler))
  return end === -1 || margins.slice(end).some((margin) => margin <= -SEEN.other) ? undefined : end
}

/** By how much a filler is likelier than the likeliest other character. Negative when it is less likely. */
function marginOfFiller (cell: Cell): number {
  return cell[FILLER]! - cell.reduce((most, log, char) => char === FILLER ? most : Math.max(most, log), -Infinity)
}

/**
 * False for a visa with lines of 36 characters, which may be the beginning of a visa with lines of 44. Other layouts of
 * 36 and 44 characters differ in the first letter, because only passports begin with P.
 */
export function hasOneLength ({ name }: Layout): boolean {
  return name !== 'MRV-B'
}

/**
 * Checks the structure of a zone. `solve` can find valid check digits for other text too. Part of a longer line may be
 * read as a shorter line, and a line shifted by one character has no issuer.
 */
export function looksLikeZone ({ fields: { issuer } }: Layout, lines: readonly string[]): boolean {
  return /^(?:[ACIPV][A-Z<]|C[12]USA)/.test(lines[0]!) && lines.join('').includes('<<') && isListed(issuer, lines)
}

/**
 * The positions of characters that violate the rules of their field. Correct check digits do not make them legible.
 * @param isEasy false for a zone that is hard to read. Then a document number is odd, too, if its issuer does not use
 * its form. The number of an Italian card is checked in every zone
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
