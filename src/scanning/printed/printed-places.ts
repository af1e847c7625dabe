import type { Day } from '#src/lib/time.ts'
import type { BirthPlace, GuestCodes } from '../guest/guest-codes-plugin.ts'
import { DATE, dayOf, linesOf, toLetters } from './noisy-text.ts'

/** A place with its province or state: `BOLZANO/BOZEN (BZ)`, `TIRANA (ALB)`, `LIMA (PERÙ)`, `PERÙ (EE)`. */
export const PLACE = '([\\p{L}][\\p{L}\\p{M}\'’‘ʼ`´./\\p{Pd} ]{1,60}?) ?[({\\[] ?([\\p{L}\'’ ]{2,40}?) ?[)}\\]]'

const PLACE_AND_DATE = new RegExp(`^[^\\p{L}\\d]*${PLACE} ?,? ?${DATE}`, 'u')

/** Italian documents print this sign for all other states. */
const ABROAD = 'EE'

/** The birth place that a text names: a comune with its province, or the state of a place abroad. */
export function birthPlaceOf (name: string, sign: string, born: Day, codes: GuestCodes): BirthPlace | undefined {
  if (sign === ABROAD) return codes.birthState(name)
  return sign.length === 2 ? codes.birthPlace(name, sign, born) : codes.birthState(sign)
}

/**
 * Finds the birth place in the text of an Italian card: a line with place, province or state, and the birth date.
 * Undefined unless all such lines name one place of the tables.
 */
export function birthPlaceIn (text: string, born: Day, codes: GuestCodes): BirthPlace | undefined {
  const found = linesOf(text).flatMap((line) => {
    const [, name, sign, ...date] = PLACE_AND_DATE.exec(line) ?? []
    const [day, month, year] = date
    if (name === undefined || dayOf(day, month, year, born) !== born) return []
    return [birthPlaceOf(name, sign!, born, codes)]
  })
  const [first] = found
  return found.every((each) => each !== undefined && each.label === first?.label) ? first : undefined
}

/** The words after the label on an electronic card, in the languages of the regions. */
const LABEL = /^(?:\W*COM[UO]NE D[I1L|]\b|\W*COM[UO]NE\b(?=\W*\/))(?:\W*(?:MUNICIPALITY|GEMEINDE|COMMUNE)\b)*\W*(.*)$/u

/** The comune that issued an Italian card, after `COMUNE DI` or on the line below. Undefined unless it is in force. */
export function issuingComune (text: string, day: Day, codes: GuestCodes): string | undefined {
  const lines = linesOf(text)
  for (const [at, line] of lines.entries()) {
    const match = LABEL.exec(line)
    if (match === null) continue
    const [code] = [match[1]!, lines[at + 1] ?? ''].flatMap((words) => codes.comune(comuneIn(words), day) ?? [])
    if (code !== undefined) return code
  }
  return undefined
}

/** The words without the province or the number of the card, which can follow. */
function comuneIn (words: string): string {
  return toLetters(words.replace(/ ?\(.*| \S*\d\S*$/u, ''))
}
