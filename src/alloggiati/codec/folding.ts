/** What a text became: `refused` is the characters without an equivalent, each once ('' for none). */
export interface Folded {
  /** The folded text. Refused characters stand in it as they were, so that it cannot be sent by mistake. */
  text: string
  /** Whether more changed than letter case and surrounding blanks. */
  changed: boolean
  refused: string
}

// ICAO Doc 9303 part 3, section 6 A: what passports print in the machine readable zone for letters that do not
// decompose.
const LETTERS: Readonly<Record<string, string>> = {
  Æ: 'AE', Œ: 'OE', Ø: 'OE', Đ: 'D', Ð: 'D', Ħ: 'H', Ł: 'L', Ŋ: 'N', ĸ: 'K', Ŧ: 'T', Þ: 'TH', Ĳ: 'IJ', ẞ: 'SS', Ŀ: 'L'
}
const APOSTROPHES = /^['`´ʹʻʼʽʾʿˈ‘’‛′＇]$/u
const BLANK = /^[\s\p{Pd}−]$/u
const DROPPED = /^[.·\p{M}\p{Cf}]$/u
const MARKS = /\p{M}/gu
const PLAIN = /^[A-Z]+$/

/**
 * A name in the letters the police service takes (A-Z, blank, apostrophe): marks dropped, special letters spelled out,
 * dashes to blanks, dots dropped, blanks collapsed. Digits and other scripts are refused: the host copies the name
 * from the machine readable zone instead. Nothing is cut: the length is to be checked on the result.
 */
export function foldName (text: string): Folded {
  return fold(text, foldCharacter)
}

/**
 * A document number as the police service takes it: A-Z, digits and - . / without blanks. Nothing is cut: the length is
 * to be checked on the result.
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
  // Upper case first: ß becomes SS by itself, ı becomes I, and one table entry serves both cases.
  const base = char.toUpperCase().normalize('NFD').replace(MARKS, '')
  return LETTERS[base] ?? (PLAIN.test(base) ? base : undefined)
}

/**
 * Reduces a name to the letters that all its spellings share, in the order of the alphabet, without marks,
 * apostrophes and blanks. So neither the order of the names or of their words counts, nor where one ends and the next
 * begins: LI WEI is WEI LI, DE LUCA ANNA-MARIA is DELUCA MARIA ANNA. Ä and AE, Ö, Ø and OE, Ü and UE are one letter
 * each, wherever a word may end between the two: an E does not count at all. Å and AA, Đ and DJ are one letter each
 * inside a word.
 */
export function nameKey (cognome: string, nome: string): string {
  const words = foldName(`${cognome} ${nome}`.replace(/['’]/g, '')).text.split(/[^A-Z]+/)
  const letters = words.map((word) => word.replaceAll('E', '').replace(/A+/g, 'A').replace(/DJ/g, 'D'))
  return [...letters.join('')].sort().join('')
}
