import { ALPHABET, BETWEEN, COLUMN, column, type Columns } from './network.ts'

/** The log likelihood of each alphabet character at one position of a line. */
export type Cell = Float32Array

/** The characters of a line: their likelihoods, and their columns. `score` compares placements of one line. */
export interface Cells { score: number, cells: Cell[], places: number[] }

/** Maximum deviation from the usual distance of characters, as a share, and its cost. */
const LEEWAY = 0.18
const STRETCH_COST = 9
/** Lower limit of log likelihoods, because smaller values give no information. */
const FLOOR = -12
/** Factors of the line's length to try, because the length is an estimate. */
const LENGTHS = [1, 1.05, 0.95]

/**
 * Finds the `count` columns with the characters of a line (Viterbi): columns at nearly equal distances where the
 * network is most certain of a character. Undefined when so many characters do not fit into the strip.
 * @param textLength pixels of the strip from the first character to the last
 * @param first the first column in which the line may begin
 */
export function findCells (columns: Columns, count: number, textLength: number, first = 0): Cells | undefined {
  return LENGTHS
    .map((factor) => placed(columns, count, textLength * factor / (count - 0.25) / COLUMN, first))
    .filter((found) => found !== undefined)
    .reduce<Cells | undefined>((best, each) => best === undefined || each.score > best.score ? each : best, undefined)
}

function placed (columns: Columns, count: number, pitch: number, first: number): Cells | undefined {
  const confidences = Float32Array.from({ length: columns.count }, (_, at) => confidence(column(columns, at)))
  const [min, max] = [Math.max(3, Math.floor(pitch * (1 - LEEWAY))), Math.ceil(pitch * (1 + LEEWAY))]
  const steps: Int16Array[] = []
  let scores = confidences.map((score, at) => at < first ? -Infinity : score)
  for (let n = 1; n < count; n++) {
    const next = new Float32Array(columns.count).fill(-Infinity)
    const from = new Int16Array(columns.count).fill(-1)
    for (let at = min; at < columns.count; at++) {
      for (let step = min; step <= Math.min(max, at); step++) {
        const score = scores[at - step]! - (step - pitch) ** 2 / (pitch * pitch) * STRETCH_COST
        if (score > next[at]!) [next[at], from[at]] = [score, at - step]
      }
      next[at]! += confidences[at]!
    }
    steps.push(from)
    scores = next
  }
  const score = scores.reduce((a, b) => Math.max(a, b), -Infinity)
  if (score === -Infinity) return undefined
  const places = [scores.indexOf(score)]
  for (const from of steps.toReversed()) places.unshift(from[places[0]!]!)
  return { score, places, cells: places.map((at) => column(columns, at).slice(0, ALPHABET.length)) }
}

/** How certain the network is that a column shows a character. */
function confidence (logs: Float32Array): number {
  const best = logs.subarray(0, BETWEEN).reduce((a, b) => Math.max(a, b))
  return Math.max(FLOOR, best - logs[BETWEEN]!) / 2 + Math.max(FLOOR, best) / 2
}
