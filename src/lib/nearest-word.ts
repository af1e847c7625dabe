/** The word with the fewest letters to add, remove or change (Levenshtein). The first of several. */
export function nearestTo (word: string, words: readonly string[]): string | undefined {
  return words.map((each) => ({ each, distance: distance(word.toLowerCase(), each) }))
    .toSorted((a, b) => a.distance - b.distance)[0]?.each
}

function distance (a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...a].entries()) {
    const next = [at + 1]
    for (const [place, other] of [...b].entries()) {
      next.push(Math.min(row[place]! + Number(letter !== other), row[place + 1]! + 1, next[place]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
