import { TemplateError, type Place } from './errors.ts'

/**
 * Limits of one PDF and their Italian names, because a small template could cause a large amount of work. Worker
 * threads have further limits on time and memory.
 */
const LIMITS = {
  source: [64_000, 'caratteri del modello'],
  /** Table rows are not counted. */
  expanded: [400_000, 'caratteri del modello con i suoi valori'],
  dataCharacters: [8_000_000, 'caratteri dei dati'],
  dataDepth: [12, 'livelli dei dati'],
  dataValues: [400_000, 'valori nei dati'],
  elements: [6_000, 'elementi'],
  depth: [30, 'livelli di elementi'],
  pages: [500, 'pagine'],
  word: [1_000, 'caratteri di una parola'],
  text: [50_000, 'caratteri di un testo'],
  /** Each such character may change the font. The time for a paragraph grows with the square of its font changes. */
  foreign: [20_000, 'emoji e caratteri di altre scritture'],
  rows: [20_000, 'righe di una tabella'],
  columns: [40, 'colonne di una tabella'],
  chartPoints: [200, 'valori di un grafico'],
  charts: [20, 'grafici'],
  codes: [50, 'codici QR'],
  codeBytes: [1_000, 'byte di un codice QR'],
  images: [50, 'immagini'],
  bytes: [32 * 1024 * 1024, 'byte del PDF']
} as const satisfies Record<string, [max: number, words: string]>

export const [SOURCE_MAX] = LIMITS.source
export const [ROWS_MAX] = LIMITS.rows

/** @throws TemplateError when `count` exceeds the limit */
export function checkLimit (limit: keyof typeof LIMITS, count: number, place?: Place): void {
  const [max, words] = LIMITS[limit]
  if (count > max) throw new TemplateError('LIMITE_SUPERATO', `troppo grande: al massimo ${max} ${words}`, place)
}
