import { inRome, italianDay, type Day } from './time.ts'

/** The words before a day, with their elided forms. */
const BEFORE_VOWEL = { il: 'l’', Il: 'L’', del: 'dell’', al: 'all’', dal: 'dall’' } as const

/**
 * A day or an instant in Italian with its article, which is elided before 8 (`otto`) and 11 (`undici`): `del
 * 22/11/2026`, `dell’11/11/2026`, `dall’08/12/2026, 14:00`.
 */
export function dayWithArticle (article: keyof typeof BEFORE_VOWEL, day: Day | Date): string {
  const text = typeof day === 'string' ? italianDay(day) : inRome(day)
  return /^(08|11)\//.test(text) ? `${BEFORE_VOWEL[article]}${text}` : `${article} ${text}`
}
