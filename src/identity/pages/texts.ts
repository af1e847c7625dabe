import { preferredLanguage } from '#src/lib/accept.ts'
import { de } from './texts/de.ts'
import { en } from './texts/en.ts'
import { fr } from './texts/fr.ts'
import { it, type Texts } from './texts/it.ts'

export type { TextKey, Texts } from './texts/it.ts'

/** The languages of the pages; Italian where a browser wants none of them. */
const LANGUAGES = ['it', 'en', 'de', 'fr'] as const
export type Language = typeof LANGUAGES[number]

/** Every text in every language. */
export const TEXTS: Readonly<Record<Language, Texts>> = { it, en, de, fr }

/** The language that a browser asks for (`Accept-Language`). */
export function languageOf ({ headers }: { headers: { 'accept-language'?: string | undefined } }): Language {
  return preferredLanguage(headers['accept-language'], LANGUAGES)
}

/** A text with a value in it. */
export function fill (text: string, value: string | number): string {
  return text.replace('{n}', () => String(value))
}
