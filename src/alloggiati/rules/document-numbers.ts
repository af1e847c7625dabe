/** The expected format of a document number, and its description in messages. */
interface NumberFormat { patterns: readonly RegExp[], description: string }

/**
 * Number formats of the commonest Italian documents by type, without blanks. A mismatch is only a warning, because
 * older models exist, and hosts choose the type by hand. Sources: PRADO register (passport, identity cards), CIE portal
 * of the Ministry of the Interior (CA00000AA, but the first electronic cards had 7 digits and 2 letters),
 * Motorizzazione (licence: U1 and 8 characters since 2013, province and 8 before).
 */
const ITALIAN_FORMATS: Readonly<Record<string, NumberFormat>> = {
  PASOR: { patterns: [/^[A-Z]{2}\d{7}$/, /^\d{6}[A-Z]$/], description: 'come YA0000000' },
  IDELE: { patterns: [/^C[A-Z]\d{5}[A-Z]{2}$/, /^\d{7}[A-Z]{2}$/], description: 'come CA00000AA' },
  IDENT: { patterns: [/^[A-Z]{2}\d{7}$/], description: 'come AX0000000' },
  PATEN: { patterns: [/^U1[A-Z0-9]{7}[A-Z]$/, /^[A-Z]{2}\d{7}[A-Z]$/], description: 'come U1X00X000X' }
}

/** A passport number in a machine-readable zone: at most 9 characters (ICAO 9303-4). */
const PASSPORT: NumberFormat = { patterns: [/^(?=.*\d)[A-Z0-9]{5,9}$/], description: 'da 5 a 9 lettere e cifre' }
/** Any document: a shorter number, or one without a digit, is probably a typing error. */
const ANY_DOCUMENT: NumberFormat = { patterns: [/^(?=.*\d).{5,}$/], description: 'almeno 5 caratteri, con una cifra' }

/** Describes the expected format if `number` (folded) does not match it. Otherwise undefined. */
export function unusualNumber (type: string, number: string, issuedInItaly: boolean): string | undefined {
  const italian = issuedInItaly ? ITALIAN_FORMATS[type] : undefined
  const { patterns, description } = italian ?? (type === 'PASOR' ? PASSPORT : ANY_DOCUMENT)
  return patterns.some((pattern) => pattern.test(number)) ? undefined : description
}

const SEQUENCES = ['01234567890123456789', '98765432109876543210', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'QWERTYUIOP']
/** Placeholders that people type for a missing number, without blanks and punctuation. */
const WORDS = new Set(
  ('NA ND NN NC NP NO NIL NULL NONE TBD TEST PROVA SENZA MANCA MANCANTE ASSENTE NESSUNO VUOTO IGNOTO SCONOSCIUTO ' +
  'NONDISPONIBILE NONPRESENTE DACOMPLETARE DAINSERIRE SENZADOCUMENTO UNKNOWN MISSING NOTAVAILABLE DOC DOCUMENTO ' +
  'NUMERO PASSAPORTO PASSPORT CARTA PATENTE').split(' ')
)

/** Whether a number (folded) is a placeholder: one character repeated, a sequence, or a word for a missing number. */
export function isPlaceholder (number: string): boolean {
  const characters = number.replace(/[-./]/g, '')
  const isSequence = characters.length > 3 && SEQUENCES.some((sequence) => sequence.includes(characters))
  return isSequence || WORDS.has(characters) || /^(.)\1*$/.test(characters)
}
