import { addDays, type Day } from '#src/lib/time.ts'
import type { GuestCodes } from '../guest/guest-codes-plugin.ts'
import { DATE, dayOf, DIGIT, lettersOf, linesOf, nameOf, toDigits } from './noisy-text.ts'
import { birthPlaceOf, PLACE } from './printed-places.ts'
import type { PrintedDocument } from './printed-document.ts'

/* The Italian driving licence: fields with the numbers of Directive 2006/126/EC, annex I. */

const TITLE = /PATENTEDIGUIDA|REPUBBLICAITALIANA/
/** A field number, and punctuation or a blank after it. */
const field = (number: string, value: string) => new RegExp(`^[^\\p{L}\\d]*${number}(?: ?[.,:;)] ?| )${value}`, 'u')

const SURNAME = field('[1IL|]', '(.+)$')
const GIVEN = field('[2Z]', '(.+)$')
const BIRTH = field('[3]', `${DATE} ?,? ?(?:${PLACE})?`)
const EXPIRY = new RegExp(`4 ?[B8][.,:;)]? ?${DATE}`, 'u')
const AUTHORITY = /\bM[IC1]?C?(?:TC)?[ -]([A-Z]{2})\b/
const NUMBER = field('[5S]', '([A-Z0-9]{10})(?![A-Z0-9])')
/** Forms of the licence number: national, and of provincial offices until 2005. */
const NUMBERS = [/^U[1IL]([A-Z0-9]{7}[A-Z])$/, new RegExp(`^([A-Z]{2})(${DIGIT}{7})([A-Z])$`)] as const
const TAX_CODE = /\b[A-Z]{6}(\d{2})([ABCDEHLMPRST])(\d{2})[A-Z]\d{3}[A-Z]\b/
const MONTHS = 'ABCDEHLMPRST'
/** A tax code adds this to the day of a woman's birth. */
const WOMAN = 40
/** The age of the youngest holder, who may drive a moped, in days. */
const YOUNGEST = 14 * 365
/** An upper bound for the validity, in days. */
const VALID = 15 * 366

/** Reads the text of an Italian licence. Undefined for any other text. */
export function readLicence (text: string, today: Day, codes: GuestCodes): PrintedDocument | undefined {
  const letters = lettersOf(text)
  if (!letters.includes('PATENTEDIGUIDA')) return undefined
  const all = linesOf(text)
  // The country sign `I` precedes the title, and looks like the number 1.
  const lines = all.slice(all.findLastIndex((line) => TITLE.test(lettersOf(line))) + 1)
  const number = first(lines, NUMBER, ([value]) => numberOf(value!))
  if (number === undefined && !/REPUBBLICAITALIANA|MITUCO/.test(letters)) return undefined
  const birth = lines.map((line) => BIRTH.exec(line)).find((match) => match !== null)
  const born = birth === undefined ? undefined : dayOf(birth[1], birth[2], birth[3], addDays(today, -YOUNGEST))
  const [, , , , place, sign] = birth ?? []
  const office = first(lines, AUTHORITY, ([each]) => each)
  return {
    kind: 'driving-licence',
    cognome: first(lines, SURNAME, ([value]) => nameOf(value)),
    nome: first(lines, GIVEN, ([value]) => nameOf(value)),
    sesso: born === undefined ? undefined : sexOf(text, born),
    data_nascita: born,
    birthPlace: born !== undefined && place !== undefined && sign !== undefined
      ? birthPlaceOf(place, sign, born, codes)
      : undefined,
    numero_documento: number,
    luogo_rilascio: office === undefined ? undefined : codes.comune(office, today),
    expiry: first(lines, EXPIRY, ([day, month, year]) => dayOf(day, month, year, addDays(today, VALID)))
  }
}

/** The first value that `value` returns for the groups of a matching line. */
function first (
  lines: readonly string[], pattern: RegExp, value: (groups: (string | undefined)[]) => string | undefined
): string | undefined {
  for (const line of lines) {
    const match = pattern.exec(line)
    const found = match === null ? undefined : value(match.slice(1))
    if (found !== undefined) return found
  }
  return undefined
}

function numberOf (text: string): string | undefined {
  const [, national] = NUMBERS[0].exec(text) ?? []
  if (national !== undefined) return `U1${national}`
  const [, province, digits, check] = NUMBERS[1].exec(text) ?? []
  return digits === undefined ? undefined : `${province}${toDigits(digits)}${check}`
}

/** The sex in the tax code (field 4d). Undefined unless the tax code has the same birth date. */
function sexOf (text: string, born: Day): 'M' | 'F' | undefined {
  const [, year, month = '', day] = TAX_CODE.exec(text.toUpperCase()) ?? []
  const isWoman = Number(day) > WOMAN
  const written = [year, MONTHS.indexOf(month) + 1, isWoman ? Number(day) - WOMAN : Number(day)]
    .map((part) => String(part).padStart(2, '0')).join('-')
  return born.slice(2) === written ? (isWoman ? 'F' : 'M') : undefined
}
