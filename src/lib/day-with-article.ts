const BEFORE_VOWEL = { il: "l'", Il: "L'", del: "dell'", dal: "dall'" } as const

/** A day or time (`gg/mm/…`) with its article, which is elided before 8 and 11: `del 22/11/2026`, `dell'11/11/2026`. */
export function dayWithArticle (article: keyof typeof BEFORE_VOWEL, text: string): string {
  return /^(08|11)\//.test(text) ? `${BEFORE_VOWEL[article]}${text}` : `${article} ${text}`
}
