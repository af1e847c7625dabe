import { searchKey } from './search-key.ts'

/** Words for a sex in Italian, English, German, French and Spanish, and the digits of the police's record. */
const WORDS: Readonly<Record<'M' | 'F', string>> = {
  M: 'M MASCHIO MASCHILE UOMO MALE MAN MAENNLICH MANNLICH MASCULIN HOMME MASCULINO HOMBRE 1',
  F: 'F FEMMINA FEMMINILE DONNA FEMALE WOMAN W WEIBLICH FEMININ FEMME FEMENINO MUJER 2'
}

/** An unspecified sex in a machine-readable zone. Elsewhere the document has `X` (ICAO Doc 9303, part 4). */
export const UNSPECIFIED_SEX = '<'

/** The sex that a text names. Undefined for any other text. */
export function sexOf (text: string): 'M' | 'F' | undefined {
  const word = searchKey(text)
  return (['M', 'F'] as const).find((sex) => WORDS[sex].split(' ').includes(word))
}
