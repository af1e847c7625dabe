import type { Place } from '../layouts.ts'
import { ISSUERS } from '../issuers.ts'
import type { Cell } from './cells.ts'
import { ALPHABET } from './network.ts'
import { prove } from './prove-digits.ts'
import type { Readable, Spot } from './spots.ts'

/** Candidate lines and their log likelihood. */
export interface Reading {
  lines: string[]
  likelihood: number
  /** By how much the next best reading of each character is less likely. */
  margins: number[][]
}

interface Solved {
  /** The likeliest characters, ignoring check digits. */
  free: Reading
  /** The likeliest characters with valid check digits. */
  proven: Reading | undefined
}

const CODES = [...ISSUERS].map((code) => code.padEnd(3, '<'))
/** Bonus when issuer and nationality are equal, as for most holders. */
const SAME_STATE = 1.5
/** A code outside the list is kept when its log likelihood is higher by this much. */
const NOT_LISTED = 7
const CANDIDATES = 4

/** Reads a block with one layout. */
export function solve ({ layout, spots, steps }: Readable, cells: Cell[][]): Solved {
  const decided = spots.map((line) => line.map((spot) => likeliest(spot, cells)))
  if (layout.fields.nationality) putCodes(layout.fields.issuer!, layout.fields.nationality, decided, cells, spots)
  const free = reading(decided, cells)
  const proof = prove(steps, cells)
  if (proof === undefined) return { free, proven: undefined }
  for (const [n, { spot }] of steps.entries()) {
    decided[spot.line]![spot.at] = { char: proof.path[n]!, margin: proof.margins[n]! }
  }
  return { free, proven: reading(decided, cells) }
}

/** A character and the margin by which it is likelier than the next. */
interface Decided { char: number, margin: number }

function likeliest ({ line, at, costs }: Spot, cells: Cell[][]): Decided {
  const scores = cells[line]![at]!.map((log, char) => log + costs[char]!)
  const char = scores.indexOf(scores.reduce((a, b) => Math.max(a, b)))
  return { char, margin: scores[char]! - scores.reduce((a, b, n) => n === char ? a : Math.max(a, b), -Infinity) }
}

function reading (decided: Decided[][], cells: Cell[][]): Reading {
  return {
    lines: decided.map((line) => line.map(({ char }) => ALPHABET[char]).join('')),
    likelihood: decided.reduce((total, line, n) =>
      line.reduce((sum, { char }, at) => sum + cells[n]![at]![char]!, total), 0),
    margins: decided.map((line) => line.map(({ margin }) => margin))
  }
}

/** Chooses issuer and nationality together from the list, unless the image clearly shows an unlisted code. */
function putCodes (issuer: Place, nationality: Place, decided: Decided[][], cells: Cell[][], spots: Spot[][]): void {
  const first = candidates(issuer, cells)
  const second = candidates(nationality, cells)
  let best: { code: string, log: number }[] = []
  let most = -Infinity
  for (const a of first) {
    for (const b of second) {
      const log = a.log + b.log + (a.code === b.code ? SAME_STATE : 0)
      if (log > most) [best, most] = [[a, b], log]
    }
  }
  for (const [n, [line, from, to]] of [issuer, nationality].entries()) {
    const { code, log } = best[n]!
    const seen = spots[line]!.slice(from, to).reduce((sum, { at, costs }) => {
      const { char } = decided[line]![at]!
      return sum + cells[line]![at]![char]! + costs[char]!
    }, 0)
    if (seen - log > NOT_LISTED) continue
    const next = [first, second][n]!.find((other) => other.code !== code)!
    for (const [at, char] of [...code].entries()) {
      decided[line]![from + at] = { char: ALPHABET.indexOf(char), margin: log - next.log }
    }
  }
}

function candidates ([line, from]: Place, cells: Cell[][]): { code: string, log: number }[] {
  return CODES
    .map((code) => (
      { code, log: [...code].reduce((sum, char, at) => sum + cells[line]![from + at]![ALPHABET.indexOf(char)]!, 0) }))
    .sort((a, b) => b.log - a.log)
    .slice(0, CANDIDATES)
}
