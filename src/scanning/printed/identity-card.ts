import { addDays, type Day } from '#src/lib/time.ts'
import type { GuestCodes } from '../guest/guest-codes-plugin.ts'
import { DATE, dayOf, DIGIT, lettersOf, linesOf, nameOf, toDigits, toLetters } from './noisy-text.ts'
import { birthPlaceIn, birthPlaceOf, issuingComune, PLACE } from './printed-places.ts'
import type { PrintedDocument } from './printed-document.ts'

/* Italian identity cards without their MRZ: the paper card, which has none, and the front of the electronic card. */

/** A label in the languages of the card, and the words after it. */
const SURNAME = /^\W*COGNOME\b(?:\W*(?:SURNAME|NACHNAME|NOM)\b)?(.*)$/u
const GIVEN = /^\W*NOME\b(?:\W*(?:NAME|VORNAME|PR[EÉ]NOM)\b)?(.*)$/u
const BORN = new RegExp(`NAT[OA] ?I[IL1]\\W*${DATE}`, 'u')
const BORN_IN = new RegExp(`^[^\\p{L}\\d]*(?:NAT[OA] )?A ${PLACE}`, 'u')
const BIRTH = new RegExp(`^[^\\p{L}\\d]*${PLACE} ?,? ?${DATE}`, 'u')
const EXPIRY = new RegExp(`(?:SCADENZA|SCADE IL|VALIDA? FINO AL|EXPIRY)\\D{0,20}?${DATE}`, 'u')
const PAPER_NUMBER = new RegExp(`(?:^|[^A-Z0-9])([A-Z]{2}) ?[.-]?(${DIGIT}{7})(?![A-Z0-9])`, 'u')
const ELECTRONIC_NUMBER = new RegExp(`(?:^|[^A-Z0-9])(C[A-Z])(${DIGIT}{5})([A-Z]{2})(?![A-Z0-9])`, 'u')
const SEX = /^\W*([MF])\W+\d{3}\b/
/** An upper bound for the validity, in days. */
const VALID = 11 * 366

/** Reads the text of an Italian identity card. Undefined for any other text. */
export function readCard (text: string, today: Day, codes: GuestCodes): PrintedDocument | undefined {
  const letters = lettersOf(text)
  if (!/CARTAD(?:I)?IDENTITA?/.test(letters) || !/REPUBBLICAITALIANA|COMUNEDI/.test(letters)) return undefined
  const lines = linesOf(text)
  const isElectronic = !/NAT[OA]I[IL]/.test(letters)
  const born = dayIn(lines, isElectronic ? BIRTH : BORN, today)
  const isItalian = isElectronic
    ? lines.some((line) => SEX.test(line) && /\bITA\b/.test(line))
    : lines.some((line) => /CITTADINANZA\W+ITALIANA\b/.test(toLetters(line)))
  const place = (day: Day) => isElectronic ? birthPlaceIn(text, day, codes) : bornIn(lines, day, codes)
  return {
    kind: isElectronic ? 'electronic-card' : 'card',
    cognome: labelled(lines, SURNAME),
    nome: labelled(lines, GIVEN),
    sesso: isElectronic ? lines.flatMap((line) => SEX.exec(line)?.[1] ?? []).at(0) as 'M' | 'F' | undefined : undefined,
    data_nascita: born,
    birthPlace: born === undefined ? undefined : place(born),
    cittadinanza: isItalian ? codes.citizenship('ITA') : undefined,
    numero_documento: numberIn(lines, isElectronic),
    luogo_rilascio: issuingComune(text, today, codes),
    expiry: dayIn(lines, EXPIRY, addDays(today, VALID))
  }
}

/** The words after a label, or on the line below it. */
function labelled (lines: readonly string[], label: RegExp): string | undefined {
  const at = lines.findIndex((line) => label.test(toLetters(line)))
  if (at === -1) return undefined
  const [, value] = label.exec(toLetters(lines[at]!))!
  return nameOf(value) ?? nameOf(lines[at + 1])
}

function dayIn (lines: readonly string[], pattern: RegExp, last: Day): Day | undefined {
  for (const line of lines) {
    const [day, month, year] = pattern.exec(line)?.slice(-3) ?? []
    const found = year === undefined ? undefined : dayOf(day, month, year, last)
    if (found !== undefined) return found
  }
  return undefined
}

function bornIn (lines: readonly string[], born: Day, codes: GuestCodes) {
  for (const line of lines) {
    const [, name, sign] = BORN_IN.exec(line) ?? []
    const place = name === undefined ? undefined : birthPlaceOf(name, sign!.trim(), born, codes)
    if (place !== undefined) return place
  }
  return undefined
}

function numberIn (lines: readonly string[], isElectronic: boolean): string | undefined {
  for (const line of lines) {
    const [, series, digits, end = ''] = (isElectronic ? ELECTRONIC_NUMBER : PAPER_NUMBER).exec(line) ?? []
    if (digits !== undefined) return series + toDigits(digits) + end
  }
  return undefined
}
