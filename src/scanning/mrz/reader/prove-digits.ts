import { valueOf } from '../digits.ts'
import type { Cell } from './cells.ts'
import { ALPHABET, FILLER } from './network.ts'
import type { Step } from './spots.ts'

const VALUES = Uint8Array.from(ALPHABET, valueOf)
const IS_DIGIT = Array.from(ALPHABET, (char) => /\d/.test(char))
/** A state is a field sum and a composite sum, each modulo 10. The field sum EMPTY means fillers only so far. */
const EMPTY = 10
const STATES = 110
const CHARACTERS = ALPHABET.length

/** Characters with valid check digits. */
export interface Proof {
  /** The index of the character at each step. */
  path: number[]
  /**
   * For each step: how much the log likelihood falls with another character there and valid check digits. When this is
   * small, the check digits hardly confirm the character.
   */
  margins: Float64Array
}

/**
 * Finds the likeliest characters with valid check digits, by dynamic programming over both sums, and the margin of each
 * character. Undefined when no characters have valid check digits.
 */
export function prove (steps: readonly Step[], cells: Cell[][]): Proof | undefined {
  const { before, history } = forwards(steps, cells)
  const last = before.at(-1)!
  const most = last.reduce((a, b) => Math.max(a, b))
  if (most === -Infinity) return undefined
  const path = pathTo(last.indexOf(most), history)
  const margins = new Float64Array(steps.length)
  /** The likelihood of the rest, from each state after the current step. */
  let rest: Float64Array = last.map((score) => score === -Infinity ? -Infinity : 0)
  for (let n = steps.length - 1; n >= 0; n--) {
    const earlier = new Float64Array(STATES).fill(-Infinity)
    let other = -Infinity
    each(steps[n]!, cells, before[n]!, (state, char, to, log) => {
      const ahead = log + rest[to]!
      if (ahead > earlier[state]!) earlier[state] = ahead
      if (char !== path[n] && before[n]![state]! + ahead > other) other = before[n]![state]! + ahead
    })
    margins[n] = most - other
    rest = earlier
  }
  return { path, margins }
}

interface Forwards {
  /** The likelihood of the likeliest characters before each step and after the last, by state. */
  before: Float64Array[]
  /** For each step and state after it: the state before and the character, `state * CHARACTERS + character`. */
  history: Int32Array[]
}

function forwards (steps: readonly Step[], cells: Cell[][]): Forwards {
  const before = [new Float64Array(STATES).fill(-Infinity)]
  before[0]![0] = 0
  const history = steps.map((step, n) => {
    const [scores, next] = [before[n]!, new Float64Array(STATES).fill(-Infinity)]
    const from = new Int32Array(STATES).fill(-1)
    each(step, cells, scores, (state, char, to, log) => {
      const score = scores[state]! + log
      if (score > next[to]!) [next[to], from[to]] = [score, state * CHARACTERS + char]
    })
    before.push(next)
    return from
  })
  return { before, history }
}

function pathTo (end: number, history: readonly Int32Array[]): number[] {
  let state = end
  return history.toReversed().map((from) => {
    const char = from[state]! % CHARACTERS
    state = Math.floor(from[state]! / CHARACTERS)
    return char
  }).toReversed()
}

/** Calls back for each possible state before a step and each character that the check digits allow there. */
function each (
  step: Step, cells: Cell[][], scores: Float64Array,
  visit: (state: number, char: number, to: number, log: number) => void
): void {
  const logs = cells[step.spot.line]![step.spot.at]!
  for (let state = 0; state < STATES; state++) {
    if (scores[state] === -Infinity) continue
    for (let char = 0; char < CHARACTERS; char++) {
      const to = follow(step, state, char)
      if (to !== -1) visit(state, char, to, logs[char]! + step.spot.costs[char]!)
    }
  }
}

/** The state after a character: `field * 10 + whole`, or -1 when a check digit is wrong. */
function follow ({ spot, fieldWeight, begins, wholeWeight, digit }: Step, state: number, char: number): number {
  const value = VALUES[char]!
  let field = begins ? EMPTY : Math.floor(state / 10)
  const whole = state % 10
  if (digit === 'whole') return IS_DIGIT[char] && value === whole ? 0 : -1
  if (digit !== undefined) {
    if (spot.costs[char]! < 0) return -1
    // The digit of a long number is in the optional data. `parseZone` checks it at the end.
    const isCorrect = char === FILLER ? field === EMPTY || digit === 'number' : value === field % EMPTY
    if (!isCorrect) return -1
    field = 0
  }
  if (fieldWeight !== undefined && (field !== EMPTY || char !== FILLER)) field = (field + value * fieldWeight) % 10
  return field * 10 + (wholeWeight === undefined ? whole : (whole + value * wholeWeight) % 10)
}
