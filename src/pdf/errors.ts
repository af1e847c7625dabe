/** A position in a template or CSV file. Both numbers count from 1. */
export interface Place { riga: number, colonna: number }

/** The error codes of templates and their data. */
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

/** An error in a template, for its author. The message includes the position, if it is known. */
export class TemplateError extends Error {
  readonly code: Problem
  readonly place: Place | undefined
  /** The message without the position. */
  readonly words: string
  constructor (code: Problem, message: string, place?: Place) {
    super(place === undefined ? message : `riga ${place.riga}, colonna ${place.colonna}: ${message}`)
    this.code = code
    this.place = place
    this.words = message
  }
}
