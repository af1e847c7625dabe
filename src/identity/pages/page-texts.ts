import type { Scope } from '#schemas/api-key.ts'
import { preferredLanguage } from '#src/lib/accept-headers.ts'
import { LANGUAGES, type Language } from '../languages.ts'
import { de } from './texts/page-de.ts'
import { en } from './texts/page-en.ts'
import { fr } from './texts/page-fr.ts'
import { it, type TextKey, type Texts } from './texts/page-it.ts'

export type { TextKey, Texts } from './texts/page-it.ts'

export type { Language } from '../languages.ts'

export const TEXTS: Readonly<Record<Language, Texts>> = { it, en, de, fr }

export const SCOPE_TEXTS: Readonly<Record<Scope, TextKey>> = {
  lettura: 'scopeRead', scrittura: 'scopeWrite', invio: 'scopeSend', amministrazione: 'scopeAdmin'
}

/** The browser's preferred language (`Accept-Language`). Italian when none is supported. */
export function languageOf ({ headers }: { headers: { 'accept-language'?: string | undefined } }): Language {
  return preferredLanguage(headers['accept-language'], LANGUAGES)
}

export function fill (text: string, value: string | number): string {
  return text.replace('{n}', () => String(value))
}
