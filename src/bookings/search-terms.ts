import { and, or, sql, type SQL } from 'drizzle-orm'
import { compactKey, withoutUmlauts } from '#src/lib/search-key.ts'

const UMLAUTS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' }
/** The country prefix of Italy. Stored phone numbers may lack it. */
const PREFIX_OF_ITALY = /(?<!\S)(?:\+|00)39\s*(?=\d)/g
/** The search index contains groups of three characters, and the beginnings of words. */
const INDEXED_LENGTH = 3

/**
 * Returns the SQL condition that a searched text contains every word of a query, in any order. A word of one or two
 * letters must begin a word of the text. An umlaut also matches its spelling with `E`. A query that contains only
 * separators matches no text.
 */
export function hasWords (text: SQL, query: string): SQL | undefined {
  const given = query.replace(PREFIX_OF_ITALY, '')
  const words = [...new Set(given.split(/\s+/))].map(spellings).filter((each) => each.length > 0)
  if (words.length === 0) return sql`false`
  const hasAll = and(...words.map((word) => hasAny(text, word)))
  // A number may be written in groups: `CA 00000 AA`.
  const isGrouped = words.length > 1 && words.some((word) => word.some((each) => each.length < INDEXED_LENGTH))
  return isGrouped ? or(hasAll, hasAny(text, spellings(given))) : hasAll
}

/** The key contains no characters that LIKE interprets. */
function hasAny (text: SQL, keys: readonly string[]): SQL | undefined {
  return or(...keys.map((key) => sql`${text} like ${`%${key.length < INDEXED_LENGTH ? ` ${key}` : key}%`}`))
}

/** The key and its umlaut spellings. */
function spellings (word: string): string[] {
  const key = compactKey(word)
  const spelled = compactKey(word.toLowerCase().normalize('NFC').replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter))
  return [...new Set([key, withoutUmlauts(key), spelled].map(searched))].filter((each) => each !== '')
}

/** A folded key as `testo_ricerca` in the migrations writes it: without punctuation, letters outside ASCII as bytes. */
export function searched (key: string): string {
  return Array.from(key.replace(/[!-/:-@[-`{-~]+/g, ''), (letter) => letter < '\x80' ? letter : bytesOf(letter)).join('')
}

function bytesOf (letter: string): string {
  return Array.from(Buffer.from(letter), (byte) => `x${byte.toString(8)}`).join('')
}
