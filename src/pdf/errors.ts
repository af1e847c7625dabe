/** A place in a template, or in a CSV file, both from 1. */
export interface Place { riga: number, colonna: number }

/** Why a template, or what goes into it, gives no PDF. */
export const PROBLEMS = [
  'SINTASSI_NON_VALIDA',
  'ISTRUZIONE_SCONOSCIUTA',
  'XML_NON_BEN_FORMATO',
  'ELEMENTO_SCONOSCIUTO',
  'ELEMENTO_FUORI_POSTO',
  'ATTRIBUTO_SCONOSCIUTO',
  'ATTRIBUTO_MANCANTE',
  'VALORE_NON_VALIDO',
  'STILE_NON_AMMESSO',
  'COLLEGAMENTO_NON_AMMESSO',
  'DATI_NON_VALIDI',
  'CSV_NON_VALIDO',
  'LIMITE_SUPERATO'
] as const
export type Problem = typeof PROBLEMS[number]

/** What is wrong with a template, in words for its author. The message names the place, where there is one. */
export class TemplateError extends Error {
  readonly code: Problem
  readonly place: Place | undefined
  /** The message without the place. */
  readonly words: string
  constructor (code: Problem, message: string, place?: Place) {
    super(place === undefined ? message : `riga ${place.riga}, colonna ${place.colonna}: ${message}`)
    this.code = code
    this.place = place
    this.words = message
  }
}
