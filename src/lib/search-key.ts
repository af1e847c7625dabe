/* Folds texts for every search. In SQL, `testo_ricerca` in the migrations removes the same characters. */

/** Letters that Unicode does not decompose, with their usual spelling in a machine-readable zone. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'SS', æ: 'AE', œ: 'OE', ø: 'O', đ: 'D', ð: 'D', ł: 'L', ı: 'I', ħ: 'H', ŧ: 'T', þ: 'TH'
}
const APOSTROPHE = "['’‘‛`´ʹʼʻˈ′＇]"
const UNDECOMPOSED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu')
/** `D'`, `NELL'` and similar: an apostrophe between letters, unlike the accent at the end of `FORLI'`. */
const ELISION = new RegExp(`(?<=\\p{L})${APOSTROPHE}(?=\\p{L})`, 'gu')
const DROPPED = new RegExp(`${APOSTROPHE}|[\\u0300-\\u036F]`, 'gu')
const SEPARATORS = /[\s\-\u2010-\u2015−./,;:+()[\]«»“”„"*]+/gu

/** Texts that are folded already, like nearly all names in the tables. */
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

/** The folded text with `MULLER` for `MUELLER`, because a machine-readable zone spells umlauts with E. */
export function withoutUmlauts (key: string): string {
  return key.replace(/([AOU])E/g, '$1')
}
