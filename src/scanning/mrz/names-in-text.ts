import type { Avviso } from '#schemas/scanning.ts'
import type { Zone } from './parse.ts'

/** Shorter words often differ by one letter only, so they are not compared. */
const MIN_WORD_LENGTH = 4
/** Letters that zones do not spell with their base letter, or that have none (ICAO Doc 9303 part 3, section 6). */
const SPELLINGS: Readonly<Record<string, string>> = {
  Ä: 'AE', Ö: 'OE', Ü: 'UE', ß: 'SS', Æ: 'AE', Œ: 'OE', Ø: 'OE', Å: 'AA', Ñ: 'N', Þ: 'TH', Ð: 'D', Ł: 'L', Đ: 'D'
}

/**
 * Compares the names of a zone, which have no check digit of their own, with the printed text. When the text lacks a
 * word of a name, but has a word that differs by one letter, a notice says that one of the two may be misread.
 */
export function nameNoticesFrom (text: string, { surname, given }: Pick<Zone, 'surname' | 'given'>): Avviso[] {
  const printed = wordsOf(text)
  const doubt = (campo: string, label: string, name: string): Avviso[] =>
    name.split(' ').filter((word) => word.length >= MIN_WORD_LENGTH && !printed.has(word)).flatMap((word) => {
      const like = [...printed].find((other) => other.length >= MIN_WORD_LENGTH && differsByOne(word, other))
      const messaggio = `${label} è ${word} nella zona e ${like} nel testo stampato: confrontarlo con il documento`
      return like === undefined ? [] : [{ campo, messaggio }]
    })
  return [...doubt('surname', 'Il cognome', surname), ...doubt('name', 'Il nome', given)]
}

/** The words of the text, spelled as in a zone, and also with plain letters for umlauts. Omits the zone's lines. */
function wordsOf (text: string): Set<string> {
  const upper = text.split('\n').filter((line) => !line.includes('<')).join('\n').toUpperCase()
  const spelled = upper.replace(/./gu, (char) => SPELLINGS[char] ?? char)
  return new Set([spelled, upper].flatMap((each) =>
    each.normalize('NFD').replace(/[\p{M}'’]/gu, '').match(/[A-Z]+/g) ?? []))
}

/** True when one letter is replaced, missing or added. */
function differsByOne (a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return Math.max(a.length, b.length) - start - end === 1
}
