import { FILLER, withoutFillers } from './digits.ts'

export interface Names {
  surname: string
  given: string
  /** The field is full to its last character: what follows may be missing. */
  cut: boolean
}

/**
 * Surname and given names of a field that holds both. Two fillers part them; without these all is the surname. Further
 * double fillers, which real documents have, are blanks.
 */
export function splitNames (field: string): Names {
  const text = withoutFillers(field)
  const at = text.indexOf('<<')
  const [surname, given] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at)]
  return { surname: plainName(surname), given: plainName(given), cut: isFull(field) }
}

/** A name with blanks for the fillers. */
export function plainName (text: string): string {
  return text.replace(/<+/g, ' ').trim()
}

/** Whether a field is full to its last character. */
export function isFull (field: string): boolean {
  return !field.endsWith(FILLER)
}

/** The field that holds both names; what does not fit in is cut off. */
export function joinNames (surname: string, given: string, length: number): string {
  return `${surname}${given === '' ? '' : `<<${given}`}`.replaceAll(' ', FILLER).slice(0, length)
}
