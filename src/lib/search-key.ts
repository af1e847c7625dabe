/* Folds the texts of every search. `piega` in the migrations drops exactly the same signs in SQL, and the blanks. */

/** Letters that Unicode does not decompose, by their usual spelling in a machine-readable zone. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'SS', æ: 'AE', œ: 'OE', ø: 'O', đ: 'D', ð: 'D', ł: 'L', ı: 'I', ħ: 'H', ŧ: 'T', þ: 'TH'
}
const APOSTROPHE = "['’‘‛`´ʹʼʻˈ′＇]"
const UNDECOMPOSED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu')
/** `D'`, `NELL'` and the like: an apostrophe between letters, unlike the final accent of `FORLI'`. */
const ELISION = new RegExp(`(?<=\\p{L})${APOSTROPHE}(?=\\p{L})`, 'gu')
const DROPPED = new RegExp(`${APOSTROPHE}|[\\u0300-\\u036F]`, 'gu')
const SEPARATORS = /[\s\-\u2010-\u2015−./,;:+()[\]«»“”„"*]+/gu

/** Nearly all names of the tables are folded already. */
const FOLDED = /^[A-Z0-9]+(?: [A-Z0-9]+)*$/

/** Folds a text to upper-case words: no accents, apostrophes, hyphens, dots, slashes or brackets. */
export function searchKey (text: string): string {
  if (FOLDED.test(text)) return text
  return text.toLowerCase().replace(UNDECOMPOSED, (letter) => LETTERS[letter] ?? letter).normalize('NFD')
    .replace(ELISION, ' ').replace(DROPPED, '').replace(SEPARATORS, ' ').trim().toUpperCase()
}

/** A `searchKey` without blanks: `D'Aosta`, `d aosta` and `DAOSTA` are equal. */
export function compactKey (text: string): string {
  return searchKey(text).replaceAll(' ', '')
}

/** The folded text with `Müller` for `Mueller`, as a machine-readable zone spells umlauts. */
export function withoutUmlauts (key: string): string {
  return key.replace(/([AOU])E/g, '$1')
}
