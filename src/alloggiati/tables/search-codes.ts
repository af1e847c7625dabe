import { setImmediate as nextTurn } from 'node:timers/promises'
import { searchKey, withoutUmlauts } from '#src/lib/search-key.ts'

export interface Entry<T> {
  row: T
  ceased: boolean
  /** The names as search keys, the row's main name first. */
  names: readonly string[]
  /** The names without blanks, with and without particles. */
  compact: readonly string[]
  codes: readonly string[]
  /** Every word of names and codes, each after a blank. */
  words: string
  /** Names and codes joined, for a search inside. */
  text: string
}

/** Words that spellings of the same place add or omit: `Reggio nell'Emilia`, `carta d'identità`. */
const PARTICLES = new Set(('D DI DEL DELL DELLO DELLA DEI DEGLI DELLE DE IN NEL NELL NELLO NELLA NEI NEGLI NELLE ' +
  'A AL ALL ALLO ALLA AI AGLI ALLE SUL SULL SULLO SULLA SUI SUGLI SULLE L E ED').split(' '))
/** A shorter text matches only at the start of words. Words in any order match only if one is at least this long. */
const INSIDE_MIN = 3
/** In `named`, a text with fewer characters never matches umlauts (`Voels`), because it is mostly a code (`ROE`). */
const UMLAUT_MIN = 5

/** Prepares a row for the search. `names` have their usual spelling. `codes` match as a whole or by prefix. */
export function entryOf<T> (row: T, ceased: boolean, names: readonly string[], codes: readonly string[]): Entry<T> {
  const keys = [...new Set(names.map(searchKey))]
  const compact = [...new Set(keys.flatMap((key) => [key.replaceAll(' ', ''), withoutParticles(key).join('')]))]
  const words = [...keys, ...codes].map((key) => ` ${key}`).join('')
  return { row, ceased, names: keys, compact, codes, words, text: [words, ...compact].join(' ') }
}

/** Rows by each key that names them. `exact`: names and codes. `loose`: names without blanks or particles. */
interface NameIndex<T> { exact: Map<string, T[]>, loose: Map<string, T[]> }

export interface CodeList<T> {
  rows: readonly T[]
  /**
   * Finds rows by name or code. The ranks are: exact names and codes, names without blanks or particles, beginnings of
   * either, beginnings of their words, all words in any order, and text inside. In one rank, rows in force come first,
   * then the order is alphabetical.
   */
  search (query: string): T[]
  /** The rows whose name or code is the text. Scans no list, because a request may name thousands of unknown places. */
  named (text: string): T[]
  /** Builds the indexes in slices, so that the server answers other requests meanwhile. */
  prepare (): Promise<void>
}

/** Number of rows that are indexed in one step, which takes a few milliseconds. */
const SLICE = 250

/** A searchable list of rows. Its indexes are built on first use, or earlier by `prepare`. */
export function codeList<T> (rows: readonly T[], entryFor: (row: T) => Entry<T>): CodeList<T> {
  const entries: Entry<T>[] = []
  const names: NameIndex<T> = { exact: new Map(), loose: new Map() }
  let isSorted = false

  function indexUntil (end: number): void {
    for (const row of rows.slice(entries.length, end)) {
      const entry = entryFor(row)
      entries.push(entry)
      for (const key of [...entry.names, ...entry.codes]) add(names.exact, key, row)
      for (const key of entry.compact) add(names.loose, key, row)
    }
    if (isSorted || entries.length < rows.length) return
    entries.sort((a, b) => Number(a.ceased) - Number(b.ceased) || (a.words < b.words ? -1 : 1))
    isSorted = true
  }

  return {
    rows,
    search: (query) => {
      indexUntil(rows.length)
      return search(entries, query)
    },
    named: (text) => {
      indexUntil(rows.length)
      return named(names, text)
    },
    async prepare () {
      while (!isSorted) {
        indexUntil(entries.length + SLICE)
        await nextTurn()
      }
    }
  }
}

function add<T> (index: Map<string, T[]>, key: string, row: T): void {
  const found = index.get(key)
  if (found === undefined) index.set(key, [row])
  else if (found.at(-1) !== row) found.push(row)
}

/** The rows whose name or code is `text`. If none, ignores blanks and particles. If still none, also umlauts. */
function named<T> (names: NameIndex<T>, text: string): T[] {
  const key = searchKey(text)
  const found = namedBy(names, key)
  return found.length > 0 || key.length < UMLAUT_MIN ? found : namedBy(names, withoutUmlauts(key))
}

function namedBy<T> ({ exact, loose }: NameIndex<T>, key: string): T[] {
  if (key === '') return []
  const keys = [key.replaceAll(' ', ''), withoutParticles(key).join('')]
  return [...exact.get(key) ?? new Set(keys.flatMap((each) => [...loose.get(each) ?? []]))]
}

/** @param entries sorted: rows in force first, then alphabetically */
function search<T> (entries: readonly Entry<T>[], query: string): T[] {
  const key = searchKey(query)
  const found = ranked(entries, key)
  return found.length > 0 ? found : ranked(entries, withoutUmlauts(key))
}

const RANKS = { exact: 0, loose: 1, prefix: 2, word: 3, words: 4, inside: 5 }

function ranked<T> (entries: readonly Entry<T>[], key: string): T[] {
  if (key === '') return []
  const words = withoutParticles(key)
  const [longest = key] = words.toSorted((a, b) => b.length - a.length)
  const wanted = {
    key, compact: key.replaceAll(' ', ''), loose: words.join(''), words: words.map((word) => ` ${word}`)
  }
  // Every match contains the longest word, or a word that starts with the short key. So only few rows are ranked.
  const needle = key.length < INSIDE_MIN ? ` ${key}` : longest
  const byRank = Object.values(RANKS).map((): T[] => [])
  for (const entry of entries) {
    if (entry.text.includes(needle)) byRank[rankOf(entry, wanted)]?.push(entry.row)
  }
  return byRank.flat()
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

/** The words of a key without particles, or all words if the key has only particles. */
function withoutParticles (key: string): string[] {
  const all = key.split(' ')
  const rest = all.filter((word) => !PARTICLES.has(word))
  return rest.length > 0 ? rest : all
}
