/** The result of folding. `refused` lists each character without an equivalent once ('' if none). */
export interface Folded {
  /** The folded text. Refused characters stay in it, so that it cannot be sent by mistake. */
  text: string
  /** Whether more than case and surrounding blanks changed. */
  changed: boolean
  refused: string
}

// Spellings of letters that do not decompose, as in the machine-readable zone (ICAO Doc 9303 part 3, section 6 A).
const LETTERS: Readonly<Record<string, string>> = {
  Æ: 'AE', Œ: 'OE', Ø: 'OE', Đ: 'D', Ð: 'D', Ħ: 'H', Ł: 'L', Ŋ: 'N', ĸ: 'K', Ŧ: 'T', Þ: 'TH', Ĳ: 'IJ', ẞ: 'SS', Ŀ: 'L'
}
const APOSTROPHES = /^['`´ʹʻʼʽʾʿˈ‘’‛′＇]$/u
const BLANK = /^[\s\p{Pd}−]$/u
const DROPPED = /^[.·\p{M}\p{Cf}]$/u
const MARKS = /\p{M}/gu
const PLAIN = /^[A-Z]+$/

/**
 * Folds a name to the characters that the police service accepts: A-Z, blank, apostrophe. Drops diacritics and dots,
 * spells out special letters, turns dashes into blanks, and collapses blanks. Digits and other scripts are refused: the
 * host copies the name from the machine-readable zone. The result is not truncated.
 */
export function foldName (text: string): Folded {
  return fold(text, foldCharacter)
}

/**
 * Folds a document number to the characters that the police service accepts: A-Z, digits and - . / without blanks. The
 * result is not truncated.
 */
export function foldDocument (text: string): Folded {
  return fold(text, (char) => {
    if (/^[a-z]$/.test(char)) return char.toUpperCase()
    if (/^[\s\p{Cf}]$/u.test(char)) return ''
    return /^[A-Z0-9./-]$/.test(char) ? char : undefined
  })
}

function fold (text: string, replace: (char: string) => string | undefined): Folded {
  let result = ''
  const refused = new Set<string>()
  for (const char of text) {
    const replacement = replace(char)
    if (replacement === undefined) refused.add(char)
    result += replacement ?? char
  }
  const folded = result.replace(/ +/g, ' ').trim()
  const plain = text.trim().replace(/[a-z]+/g, (letters) => letters.toUpperCase())
  return { text: folded, changed: folded !== plain, refused: [...refused].join('') }
}

function foldCharacter (char: string): string | undefined {
  if (BLANK.test(char)) return ' '
  if (APOSTROPHES.test(char)) return '\''
  if (DROPPED.test(char)) return ''
  // Convert to upper case first: ß becomes SS, ı becomes I, and one table entry covers both cases.
  const base = char.toUpperCase().normalize('NFD').replace(MARKS, '')
  return LETTERS[base] ?? (PLAIN.test(base) ? base : undefined)
}

/**
 * Reduces a name to letters in alphabetical order, without diacritics, apostrophes, blanks and E. The order and
 * division of names do not matter: LI WEI equals WEI LI, DE LUCA ANNA-MARIA equals DELUCA MARIA ANNA. Ä and AE, Ö, Ø
 * and OE, Ü and UE are equal, even across words, because E is ignored. Å and AA, Đ and DJ are equal inside a word.
 */
export function nameKey (cognome: string, nome: string): string {
  const words = foldName(`${cognome} ${nome}`.replace(/['’]/g, '')).text.split(/[^A-Z]+/)
  const letters = words.map((word) => word.replaceAll('E', '').replace(/A+/g, 'A').replace(/DJ/g, 'D'))
  return [...letters.join('')].sort().join('')
}
