import { isRow, valueAt, type Data, type Value } from '../data.ts'
import { TemplateError, type Place } from '../errors.ts'
import type { Language } from '../language/formats.ts'
import type { Face, FontUse } from '../text/fonts.ts'

/** An image in one of the two formats that the renderer supports. */
export interface Asset { data: Uint8Array, format: 'png' | 'jpg' }

/** A problem that did not prevent the PDF, for the template's author. */
export interface Warning { codice: WarningCode, messaggio: string }
export type WarningCode =
  'VARIABILE_MANCANTE' | 'IMMAGINE_MANCANTE' | 'CARATTERE_SEMPLIFICATO' | 'CARATTERE_MANCANTE' | 'TESTO_TRONCATO' |
  'COLONNA_NON_SOMMATA' | 'RIGA_DI_TOTALE'

/** The state that all builders of one document share. */
export interface Build {
  data: Data
  language: Language
  accent: string
  headingFace: Face
  fontSize: number
  /** Content width of the current page, in points. */
  bodyWidth: number
  /** Whether long tables also flow over pages, because an external engine does the pagination. */
  flows: boolean
  fonts: FontUse
  assets: ReadonlyMap<string, Asset>
  breakWord: (word: string) => string[]
  warn (codice: WarningCode, messaggio: string): void
  /** @throws TemplateError when the document exceeds the limit */
  count (what: 'charts' | 'codes' | 'images'): void
}

/**
 * The list at a path of the data. A missing list is treated as empty, with a warning.
 * @param objects whether every item must be an object
 * @throws TemplateError when the value is not such a list
 */
export function listAt (build: Build, path: string, place: Place, objects = false): Value[] {
  const list = valueAt(build.data, path)
  if (Array.isArray(list) && (!objects || list.every(isRow))) return list
  if (list !== undefined && list !== null) {
    const wanted = objects ? 'una lista di oggetti' : 'una lista'
    throw new TemplateError('DATI_NON_VALIDI', `«${path}» non è ${wanted}`, place)
  }
  build.warn('VARIABILE_MANCANTE', `i dati non hanno «${path}»`)
  return []
}
