/** Normalizes text for search: no case, accents, apostrophes (the tables write `FORLI'`), hyphens or brackets. */
export function searchKey (text: string): string {
  return text.normalize('NFD').replace(/[\p{M}'’`´]/gu, '').replace(/[^\p{L}\p{N}]+/gu, ' ').trim().toUpperCase()
}

/** One searchable row: its name and its whole text (both as search keys), and whether it is out of force. */
export interface Entry<T> {
  row: T
  name: string
  text: string
  code: string
  ceased: boolean
  /** Alternative names as search keys, matched like the name. */
  aliases?: readonly string[]
  /** Alternative codes, matched as a whole. */
  codes?: readonly string[]
}

/**
 * Finds rows that contain `query`. Rank: exact name, start of the text, start of a word, inside. Within a rank, rows in
 * force first, then alphabetical. A code matches by prefix, an alternative name like the name.
 */
export function search<T> (entries: readonly Entry<T>[], query: string): T[] {
  const wanted = searchKey(query)
  if (wanted === '') return entries.map(({ row }) => row)
  return entries
    .map((entry) => ({ entry, rank: rank(entry, wanted) }))
    .filter((hit) => hit.rank < Infinity)
    .sort(
      (a, b) =>
        a.rank - b.rank || Number(a.entry.ceased) - Number(b.entry.ceased) || (a.entry.text < b.entry.text ? -1 : 1)
    )
    .map(({ entry }) => entry.row)
}

function rank ({ name, text, code, aliases = [], codes = [] }: Entry<unknown>, wanted: string): number {
  if (name === wanted || codes.includes(wanted) || aliases.includes(wanted)) return 0
  if (code.startsWith(wanted)) return 1
  return Math.min(...[text, ...aliases].map((each) => rankOfText(each, wanted)))
}

function rankOfText (text: string, wanted: string): number {
  if (text.startsWith(wanted)) return 1
  if (!text.includes(wanted)) return Infinity
  return text.includes(` ${wanted}`) ? 2 : 3
}
