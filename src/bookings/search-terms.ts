import { and, or, sql, type SQL } from 'drizzle-orm'
import { compactKey, withoutUmlauts } from '#src/lib/search-key.ts'
import { containing } from '#src/database/columns.ts'

const UMLAUTS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' }
/** The country prefix of Italy. Stored phone numbers may lack it. */
const PREFIX_OF_ITALY = /(?<!\S)(?:\+|00)39\s*(?=\d)/g

/**
 * Returns the SQL condition that a folded text contains every word of a query, in any order. An umlaut also matches its
 * spelling with `E`. A query that contains only separators matches no text.
 */
export function hasWords (text: SQL, query: string): SQL | undefined {
  const words = query.replace(PREFIX_OF_ITALY, '').split(/\s+/).map(spellings).filter((each) => each.length > 0)
  if (words.length === 0) return sql`false`
  return and(...words.map((word) => or(...word.map((each) => sql`${text} like ${containing(each)}`))))
}

/** The key and its umlaut spellings, without `|`, because that sign separates columns in the searched text. */
function spellings (given: string): string[] {
  const word = given.replaceAll('|', '')
  const key = compactKey(word)
  const spelled = compactKey(word.toLowerCase().normalize('NFC').replace(/[äöü]/g, (letter) => UMLAUTS[letter] ?? letter))
  return [...new Set([key, withoutUmlauts(key), spelled])].filter((each) => each !== '')
}
