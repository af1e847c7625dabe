import type { Place } from '../layouts.ts'
import { valueOf } from '../digits.ts'
import { ISSUERS } from '../issuers.ts'
import type { Cell } from './cells.ts'
import { ALPHABET } from './network.ts'
import type { Readable, Spot, Step } from './spots.ts'

/** Candidate lines and their log likelihood. */
export interface Reading { lines: string[], likelihood: number }

interface Solved {
  /** The likeliest characters, ignoring check digits. */
  free: Reading
  /** The likeliest characters with valid check digits. */
  proven: Reading | undefined
}

const VALUES = Uint8Array.from(ALPHABET, valueOf)
const FILLER = ALPHABET.indexOf('<')
const IS_DIGIT = Array.from(ALPHABET, (char) => /\d/.test(char))
/** A state is a field sum and a composite sum, each modulo 10. The field sum EMPTY means fillers only so far. */
const EMPTY = 10
const STATES = 110

const CODES = [...ISSUERS].map((code) => code.padEnd(3, '<'))
/** Bonus when issuer and nationality agree, as for most holders. */
const SAME_STATE = 1.5
/** An unlisted code is kept when its log likelihood is this much higher. */
const NOT_LISTED = 7
const CANDIDATES = 4

/** Reads a block as one layout. */
export function solve ({ layout, spots, steps }: Readable, cells: Cell[][]): Solved {
  const characters = spots.map((line) => line.map((spot) => likeliest(spot, cells)))
  if (layout.fields.nationality) putCodes(layout.fields.issuer!, layout.fields.nationality, characters, cells, spots)
  const free = reading(characters, cells)
  const path = provenPath(steps, cells)
  if (path === undefined) return { free, proven: undefined }
  for (const [n, { spot }] of steps.entries()) characters[spot.line]![spot.at] = path[n]!
  return { free, proven: reading(characters, cells) }
}

function likeliest ({ line, at, costs }: Spot, cells: Cell[][]): number {
  const scores = cells[line]![at]!.map((log, char) => log + costs[char]!)
  return scores.indexOf(scores.reduce((a, b) => Math.max(a, b)))
}

function reading (characters: number[][], cells: Cell[][]): Reading {
  return {
    lines: characters.map((line) => line.map((char) => ALPHABET[char]).join('')),
    likelihood: characters.reduce((total, line, n) =>
      line.reduce((sum, char, at) => sum + cells[n]![at]![char]!, total), 0)
  }
}

/** Chooses issuer and nationality together from the list, unless the image clearly shows an unlisted code. */
function putCodes (issuer: Place, nationality: Place, characters: number[][], cells: Cell[][], spots: Spot[][]): void {
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
      const char = characters[line]![at]!
      return sum + cells[line]![at]![char]! + costs[char]!
    }, 0)
    if (seen - log > NOT_LISTED) continue
    for (const [at, char] of [...code].entries()) characters[line]![from + at] = ALPHABET.indexOf(char)
  }
}

function candidates ([line, from]: Place, cells: Cell[][]): { code: string, log: number }[] {
  return CODES
    .map((code) => (
      { code, log: [...code].reduce((sum, char, at) => sum + cells[line]![from + at]![ALPHABET.indexOf(char)]!, 0) }))
    .sort((a, b) => b.log - a.log)
    .slice(0, CANDIDATES)
}

/**
 * Finds the likeliest characters with valid check digits, by dynamic programming over both sums.
 * @returns indices of characters. Undefined when there are none
 */
function provenPath (steps: readonly Step[], cells: Cell[][]): number[] | undefined {
  let scores = new Float64Array(STATES).fill(-Infinity)
  scores[0] = 0
  const history: Int32Array[] = []
  for (const step of steps) {
    const next = new Float64Array(STATES).fill(-Infinity)
    const from = new Int32Array(STATES).fill(-1)
    const logs = cells[step.spot.line]![step.spot.at]!
    for (let state = 0; state < STATES; state++) {
      if (scores[state] === -Infinity) continue
      for (let char = 0; char < ALPHABET.length; char++) {
        const to = follow(step, state, char)
        if (to === -1) continue
        const score = scores[state]! + logs[char]! + step.spot.costs[char]!
        if (score > next[to]!) [next[to], from[to]] = [score, state * ALPHABET.length + char]
      }
    }
    history.push(from)
    scores = next
  }
  let state = scores.indexOf(scores.reduce((a, b) => Math.max(a, b)))
  if (scores[state] === -Infinity) return undefined
  return history.toReversed().map((from) => {
    const char = from[state]! % ALPHABET.length
    state = Math.floor(from[state]! / ALPHABET.length)
    return char
  }).toReversed()
}

/** The state after a character, `field * 10 + whole`; -1 when a check digit is wrong. */
function follow ({ spot, fieldWeight, begins, wholeWeight, digit }: Step, state: number, char: number): number {
  const value = VALUES[char]!
  let field = begins ? EMPTY : Math.floor(state / 10)
  const whole = state % 10
  if (digit === 'whole') return IS_DIGIT[char] && value === whole ? 0 : -1
  if (digit !== undefined) {
    if (spot.costs[char]! < 0) return -1
    // The digit of a long number is in the optional data; `parseZone` checks it at the end.
    const holds = char === FILLER ? field === EMPTY || digit === 'number' : value === field % EMPTY
    if (!holds) return -1
    field = 0
  }
  if (fieldWeight !== undefined && (field !== EMPTY || char !== FILLER)) field = (field + value * fieldWeight) % 10
  return field * 10 + (wholeWeight === undefined ? whole : (whole + value * wholeWeight) % 10)
}
