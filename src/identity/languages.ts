/** The languages of pages and mails. Italian is the default. */
export const LANGUAGES = ['it', 'en', 'de', 'fr'] as const
export type Language = typeof LANGUAGES[number]

export function isLanguage (value: unknown): value is Language {
  return LANGUAGES.some((language) => language === value)
}

/** The language of a person's mails: `lingua` in their metadata. */
export function languageOfPerson ({ user_metadata }: { user_metadata: Record<string, unknown> }): Language {
  const { lingua } = user_metadata
  return isLanguage(lingua) ? lingua : 'it'
}
