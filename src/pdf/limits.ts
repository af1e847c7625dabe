import { TemplateError, type Place } from './errors.ts'

/**
 * What one PDF may take, so that a small template cannot ask for a large amount of work. The thread has its own limits
 * of time and memory besides.
 */
export const LIMITS = {
  /** Characters of a template. */
  source: 64_000,
  /** Characters of a template once its values are in it; rows of tables are not. */
  expanded: 400_000,
  /** Characters of all the texts in the data, and levels of its lists and objects. */
  dataCharacters: 8_000_000,
  dataDepth: 12,
  /** Values in the data. */
  dataValues: 400_000,
  elements: 6_000,
  depth: 30,
  pages: 500,
  /** Characters without a blank between them. */
  word: 1_000,
  /** Characters of one text. */
  text: 50_000,
  /** Points: nothing is longer than a large sheet. */
  length: 2_000,
  rows: 20_000,
  columns: 40,
  chartPoints: 200,
  charts: 20,
  codes: 50,
  codeBytes: 1_000,
  images: 50,
  /** Pixels of a picture: a small file can hold a picture that takes all memory. */
  pixels: 4_000_000,
  /** Bytes of the PDF. */
  bytes: 32 * 1024 * 1024
} as const

/** Words for people, where a limit is one that they can meet. */
const NAMES: Record<keyof typeof LIMITS, string> = {
  source: 'caratteri del modello',
  expanded: 'caratteri del modello con i suoi valori',
  dataCharacters: 'caratteri dei dati',
  dataDepth: 'livelli dei dati',
  dataValues: 'valori nei dati',
  elements: 'elementi',
  depth: 'livelli di elementi',
  pages: 'pagine',
  word: 'caratteri di una parola',
  text: 'caratteri di un testo',
  length: 'punti',
  rows: 'righe di una tabella',
  columns: 'colonne di una tabella',
  chartPoints: 'valori di un grafico',
  charts: 'grafici',
  codes: 'codici QR',
  codeBytes: 'byte di un codice QR',
  images: 'immagini',
  pixels: 'pixel di un’immagine',
  bytes: 'byte del PDF'
}

/** @throws TemplateError when `count` is more than the limit of that name */
export function checkLimit (limit: keyof typeof LIMITS, count: number, place?: Place): void {
  if (count <= LIMITS[limit]) return
  throw new TemplateError('LIMITE_SUPERATO', `troppo grande: al massimo ${LIMITS[limit]} ${NAMES[limit]}`, place)
}
