import type { Language } from '#src/identity/index.ts'

/**
 * One table of texts per screen, in the four languages. A language that lacks a key of the Italian texts, or has
 * another one, is a type error.
 */
export function translations<const K extends string> (
  table: { it: Record<K, string> } & Record<Exclude<Language, 'it'>, NoInfer<Record<K, string>>>
): Readonly<Record<Language, Readonly<Record<K, string>>>> {
  return table
}
