import type { Legibility } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { layoutOf, type Layout } from '../layouts.ts'
import { parseZone } from '../parse.ts'
import { findCells } from './cells.ts'
import type { Gray } from './gray.ts'
import { EASY, sightOf, type Fault, type SeenLine } from './legibility.ts'
import type { Block } from './locate.ts'
import { measureLines } from './measure-lines.ts'
import { look, type Network } from './network.ts'
import { READABLE, type Readable } from './spots.ts'
import { solve } from './solve.ts'
import { looksLikeZone, oddPlaces } from './structure.ts'
import { stripOf, type Measured, type View } from './strip.ts'

/** A zone read from an image. */
export interface Found {
  layout: Layout
  lines: string[]
  /** All check digits are correct. */
  holds: boolean
  /** All check digits are correct, and the image shows every character. */
  valid: boolean
  /** Mean log likelihood of the characters. 0 is certain. */
  sureness: number
  characters: Legibility[][]
  /** The number of characters with a small margin. */
  weak: number
  /** The number of characters that are not seen well. */
  doubts: number
  /** Why some characters are not seen well. */
  faults: Fault[]
}

/** A reading with valid check digits replaces the likeliest if its log likelihood is at most this much lower. */
const PROOF_COSTS = 9
/** Minimum sureness of a zone. Without valid check digits, only its sureness distinguishes a zone from other text. */
const GATE = { valid: -0.8, other: -0.3 }

/** A character with a smaller margin is weak. */
const WEAK = 3
/** A valid reading at least this sure needs no second look. */
const CRISP = -0.008

/** Reads a block as each layout with that number of lines, and returns the best reading. */
export function readBlock (picture: Gray, { lines }: Block, network: Network, today: Day): Found | undefined {
  const measured = measureLines(picture, lines)
  const plain = readView(picture, measured, network, today, 'plain')
  if (plain?.valid && plain.sureness >= CRISP) return plain
  const sharpened = readView(picture, measured, network, today, 'sharpened')
  if (plain === undefined || sharpened === undefined) return plain ?? sharpened
  const best = better(plain, sharpened)
  return withDoubts(best, best === plain ? sharpened : plain)
}

/** A character that looks different when the strip is sharpened is doubtful, however sure the network is. */
function withDoubts (reading: Found, other: Found): Found {
  const isSame = (line: number, at: number) => other.lines[line]?.[at] === reading.lines[line]![at]
  const characters = reading.characters.map((line, n) =>
    line.map((each, at) => each === 'buona' && !isSame(n, at) ? 'dubbia' as const : each))
  const doubts = countDoubts(characters)
  return doubts === reading.doubts
    ? reading
    : { ...reading, characters, doubts, valid: false, faults: faultsOf(reading.faults, doubts) }
}

function readView (
  picture: Gray, measured: readonly Measured[], network: Network, today: Day, view: View
): Found | undefined {
  const seen = measured.map((line) => {
    const strip = stripOf(picture, line, view)
    return { line, strip, columns: look(network, strip), textLength: line.length * strip.scale }
  })
  const fitting = READABLE.filter(({ layout }) => layout.lines === seen.length)
  const byLength = [...Map.groupBy(fitting, ({ layout }) => layout.length)]
  const found = byLength.flatMap(([length, layouts]) => {
    const placed = seen.flatMap(({ line, strip, columns, textLength }) => {
      const found = findCells(columns, length, textLength)
      return found === undefined ? [] : { ...found, line, strip }
    })
    return placed.length < seen.length ? [] : layouts.flatMap((readable) => readAs(readable, placed, today) ?? [])
  })
  return found.reduce<Found | undefined>(better, undefined)
}

/**
 * The better of two readings: the valid one, else the one with correct check digits, else the one with
 * fewer weak characters, else the surer one.
 */
export function better<Each extends Found> (a: Each | undefined, b: Each): Each {
  if (a === undefined || a.valid !== b.valid) return a?.valid ? a : b
  if (a.holds !== b.holds) return a.holds ? a : b
  if (a.holds && a.layout === b.layout) return a.weak <= b.weak ? a : b
  return a.sureness >= b.sureness ? a : b
}

function readAs (readable: Readable, seen: SeenLine[], today: Day): Found | undefined {
  const { layout } = readable
  const { free, proven } = solve(readable, seen.map(({ cells }) => cells))
  const holds = (lines: string[]) => parseZone(layout, lines, today).valid
  const isProven = proven !== undefined && free.likelihood - proven.likelihood < PROOF_COSTS && holds(proven.lines)
  const reading = isProven ? proven : free
  const { lines, likelihood } = reading
  const sureness = likelihood / (layout.lines * layout.length)
  // If an earlier layout (visa, French card) matches, the reading belongs to that layout.
  if (layoutOf(lines) !== layout || !looksLikeZone(layout, lines)) return undefined
  const isCorrect = isProven || holds(lines)
  if (sureness < (isCorrect ? GATE.valid : GATE.other)) return undefined
  const { characters, faults } = sightOf(seen, reading, sureness)
  for (const [line, from, to] of oddPlaces(readable, lines, sureness >= EASY)) {
    for (let at = from; at < to; at++) if (characters[line]![at] === 'buona') characters[line]![at] = 'dubbia'
  }
  const doubts = countDoubts(characters)
  return {
    layout,
    lines,
    holds: isCorrect,
    valid: isCorrect && doubts === 0,
    sureness,
    weak: reading.margins.flat().filter((margin) => margin < WEAK).length,
    characters,
    doubts,
    faults: faultsOf(faults, doubts)
  }
}

/** An image with doubtful characters and no other fault is not sharp enough. */
function faultsOf (faults: Fault[], doubts: number): Fault[] {
  return doubts > 0 && faults.length === 0 ? ['mosso'] : faults
}

function countDoubts (characters: readonly Legibility[][]): number {
  return characters.flat().filter((each) => each !== 'buona').length
}
