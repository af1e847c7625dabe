import { searchKey, withoutUmlauts } from '#src/lib/search-key.ts'

/** One searchable row. */
export interface Entry<T> {
  row: T
  ceased: boolean
  /** Its names as search keys, its own first. */
  names: readonly string[]
  /** The names without blanks, with and without particles. */
  compact: readonly string[]
  codes: readonly string[]
  /** Every word of names and codes, each after a blank. */
  words: string
  /** All of the above. */
  text: string
}

/** Words that spellings of one place add or leave out: `Reggio nell'Emilia`, `carta d'identità`. */
const PARTICLES = new Set(('D DI DEL DELL DELLO DELLA DEI DEGLI DELLE DE IN NEL NELL NELLO NELLA NEI NEGLI NELLE ' +
  'A AL ALL ALLO ALLA AI AGLI ALLE SUL SULL SULLO SULLA SUI SUGLI SULLE L E ED').split(' '))
/** A shorter text matches only at the start of words. Words in any order match if one of them is longer than this. */
const INSIDE_MIN = 3
/** The shortest text that may name a place by its umlauts (`Voels`). A shorter one is mostly a sign or code: `ROE`. */
const UMLAUT_MIN = 5

/** Prepares a row for the search. `names` are as people write them, and `codes` match as a whole or by prefix. */
export function entryOf<T> (row: T, ceased: boolean, names: readonly string[], codes: readonly string[]): Entry<T> {
  const keys = [...new Set(names.map(searchKey))]
  const compact = [...new Set(keys.flatMap((key) => [key.replaceAll(' ', ''), withoutParticles(key).join('')]))]
  const words = [...keys, ...codes].map((key) => ` ${key}`).join('')
  return { row, ceased, names: keys, compact, codes, words, text: [words, ...compact].join(' ') }
}

/** Rows by each key that names them: whole names and codes, and names without blanks or particles. */
export interface NameIndex<T> { exact: ReadonlyMap<string, ReadonlySet<T>>, loose: ReadonlyMap<string, ReadonlySet<T>> }

/** Indexes a list once, so that `named` reads no list: one request may name thousands of unknown places. */
export function indexNames<T> (entries: readonly Entry<T>[]): NameIndex<T> {
  const index = (keysOf: (entry: Entry<T>) => readonly string[]) => {
    const rows = new Map<string, Set<T>>()
    for (const entry of entries) {
      for (const key of keysOf(entry)) rows.set(key, (rows.get(key) ?? new Set()).add(entry.row))
    }
    return rows
  }
  return { exact: index(({ names, codes }) => [...names, ...codes]), loose: index(({ compact }) => compact) }
}

/** The rows that `text` names exactly, or else exactly but for particles, or else but for umlauts. */
export function named<T> (names: NameIndex<T>, text: string): T[] {
  const key = searchKey(text)
  const found = namedBy(names, key)
  return found.length > 0 || key.length < UMLAUT_MIN ? found : namedBy(names, withoutUmlauts(key))
}

function namedBy<T> ({ exact, loose }: NameIndex<T>, key: string): T[] {
  if (key === '') return []
  const keys = [key.replaceAll(' ', ''), withoutParticles(key).join('')]
  return [...exact.get(key) ?? new Set(keys.flatMap((each) => [...loose.get(each) ?? []]))]
}

/**
 * Finds rows by name or code. Exact names and codes come first, then beginnings of them, beginnings of their words, all
 * words in any order, and text inside. Equal ranks: rows in force first, then alphabetical.
 */
export function search<T> (entries: readonly Entry<T>[], query: string): T[] {
  return ranked(entries, query)
    .sort((a, b) => a.rank - b.rank || Number(a.entry.ceased) - Number(b.entry.ceased) ||
      (a.entry.words < b.entry.words ? -1 : 1))
    .map(({ entry }) => entry.row)
}

const RANKS = { exact: 0, loose: 1, prefix: 2, word: 3, words: 4, inside: 5 }

interface Hit<T> { entry: Entry<T>, rank: number }

function ranked<T> (entries: readonly Entry<T>[], query: string): Hit<T>[] {
  const key = searchKey(query)
  const hits = rankedBy(entries, key)
  return hits.length > 0 ? hits : rankedBy(entries, withoutUmlauts(key))
}

function rankedBy<T> (entries: readonly Entry<T>[], key: string): Hit<T>[] {
  if (key === '') return []
  const words = withoutParticles(key)
  const [longest = key] = words.toSorted((a, b) => b.length - a.length)
  const wanted = {
    key, compact: key.replaceAll(' ', ''), loose: words.join(''), words: words.map((word) => ` ${word}`)
  }
  // Every rank needs the longest word somewhere, so only few rows remain to be ranked.
  return entries.filter(({ text }) => text.includes(longest))
    .map((entry) => ({ entry, rank: rankOf(entry, wanted) })).filter(({ rank }) => rank < Infinity)
}

function rankOf (
  { names, compact, codes, words }: Entry<unknown>,
  wanted: { key: string, compact: string, loose: string, words: readonly string[] }
): number {
  const { key, loose } = wanted
  if (names.includes(key) || codes.includes(key)) return RANKS.exact
  if (compact.includes(loose) || compact.includes(wanted.compact)) return RANKS.loose
  const isPrefix = (each: string) => each.startsWith(key)
  if (names.some(isPrefix) || codes.some(isPrefix) || compact.some((each) => each.startsWith(loose))) {
    return RANKS.prefix
  }
  if (words.includes(` ${key}`)) return RANKS.word
  const hasLongWord = wanted.words.some((word) => word.length > INSIDE_MIN)
  if (hasLongWord && wanted.words.every((word) => words.includes(word))) return RANKS.words
  return key.length >= INSIDE_MIN && (words.includes(key) || compact.some((each) => each.includes(loose)))
    ? RANKS.inside
    : Infinity
}

/** The words of a key but for particles, or all words if there are no others. */
function withoutParticles (key: string): string[] {
  const all = key.split(' ')
  const rest = all.filter((word) => !PARTICLES.has(word))
  return rest.length > 0 ? rest : all
}
