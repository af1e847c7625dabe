import type { Scope } from '#schemas/api-key.ts'
import { preferredLanguage } from '#src/lib/accept.ts'
import { LANGUAGES, type Language } from '../languages.ts'
import { de } from './texts/de.ts'
import { en } from './texts/en.ts'
import { fr } from './texts/fr.ts'
import { it, type TextKey, type Texts } from './texts/it.ts'

export type { TextKey, Texts } from './texts/it.ts'

export type { Language } from '../languages.ts'

/** Every text in every language. */
export const TEXTS: Readonly<Record<Language, Texts>> = { it, en, de, fr }

/** What a key may do. */
export const SCOPE_TEXTS: Readonly<Record<Scope, TextKey>> = {
  lettura: 'scopeRead', scrittura: 'scopeWrite', invio: 'scopeSend', amministrazione: 'scopeAdmin'
}

/** The language that a browser asks for (`Accept-Language`); Italian where it wants none of them. */
export function languageOf ({ headers }: { headers: { 'accept-language'?: string | undefined } }): Language {
  return preferredLanguage(headers['accept-language'], LANGUAGES)
}

/** A text with a value in it. */
export function fill (text: string, value: string | number): string {
  return text.replace('{n}', () => String(value))
}
