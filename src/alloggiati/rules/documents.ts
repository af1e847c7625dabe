/** How the number of a document type looks when the document was issued in Italy. */
interface Formato {
  tipo: string
  forme: readonly RegExp[]
  /** An invented number of that shape, for the message. */
  esempio: string
}

/**
 * Numbers of the commonest Italian documents, blanks taken out. Only ever the reason of a warning: older models exist,
 * and hosts choose the type by hand. Sources: PRADO register (passport, identity cards), CIE portal of the Ministry of
 * the Interior (CA00000AA; the first electronic cards had 7 digits and 2 letters), Motorizzazione (licence: U1 and 8
 * signs since 2013, province and 8 signs before).
 */
export const FORMATI_ITALIANI: readonly Formato[] = [
  { tipo: 'PASOR', forme: [/^[A-Z]{2}\d{7}$/, /^\d{6}[A-Z]$/], esempio: 'YA0000000' },
  { tipo: 'IDELE', forme: [/^C[A-Z]\d{5}[A-Z]{2}$/, /^\d{7}[A-Z]{2}$/], esempio: 'CA00000AA' },
  { tipo: 'IDENT', forme: [/^[A-Z]{2}\d{7}$/], esempio: 'AX0000000' },
  { tipo: 'PATEN', forme: [/^U1[A-Z0-9]{7}[A-Z]$/, /^[A-Z]{2}\d{7}[A-Z]$/], esempio: 'U1X00X000X' }
]

/** A passport number as machine-readable zones carry it: at most 9 signs (ICAO 9303-4). */
const PASSAPORTO = { forma: /^(?=.*\d)[A-Z0-9]{5,9}$/, descrizione: 'da 5 a 9 lettere e cifre' }
/** Any document: so short a number, or one without a digit, is more likely a slip. */
const QUALUNQUE = { forma: /^(?=.*\d).{5,}$/, descrizione: 'almeno 5 segni, tra cui una cifra' }

/** What `number` (folded) would be expected to look like, when it does not; undefined when nothing strikes. */
export function unusualNumber (tipo: string, number: string, issuedInItaly: boolean): string | undefined {
  const italian = issuedInItaly ? FORMATI_ITALIANI.find((formato) => formato.tipo === tipo) : undefined
  if (italian) return italian.forme.some((forma) => forma.test(number)) ? undefined : `come ${italian.esempio}`
  const { forma, descrizione } = tipo === 'PASOR' ? PASSAPORTO : QUALUNQUE
  return forma.test(number) ? undefined : descrizione
}
