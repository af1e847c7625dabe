import { isRow, valueAt, type Data, type Value } from '../data.ts'
import { TemplateError, type Place } from '../errors.ts'
import type { Language } from '../language/formats.ts'
import type { Face, FontUse } from '../text/fonts.ts'

/** A picture, as a file of one of the two kinds that the renderer draws. */
export interface Asset { data: Uint8Array, format: 'png' | 'jpg' }

/** What the author should know of a PDF that was made all the same. */
export interface Warning { codice: WarningCode, messaggio: string }
export type WarningCode =
  'VARIABILE_MANCANTE' | 'IMMAGINE_MANCANTE' | 'CARATTERE_SEMPLIFICATO' | 'CARATTERE_MANCANTE' | 'TESTO_TRONCATO'

/** What all builders of one document share. */
export interface Build {
  data: Data
  language: Language
  accent: string
  headingFace: Face
  fontSize: number
  /** Points between the margins of the page that is being built. */
  bodyWidth: number
  /** All tables run with their pages, however long they are: another engine lays the pages out. */
  flows: boolean
  fonts: FontUse
  assets: ReadonlyMap<string, Asset>
  breakWord: (word: string) => string[]
  warn (codice: WarningCode, messaggio: string): void
  /** @throws TemplateError when there are too many of them in the document */
  count (what: 'charts' | 'codes' | 'images'): void
}

/**
 * The list at a path of the data; an empty one, with a warning, where they have nothing there.
 * @param objects it holds nothing else
 * @throws TemplateError for anything else
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
