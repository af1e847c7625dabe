import type { Legibility } from '#schemas/scanning.ts'
import type { Day } from '#src/lib/time.ts'
import { layoutOf, type Layout } from '../layouts.ts'
import { parseZone } from '../parse.ts'
import { commonBeginning, pitchOf } from './alignment.ts'
import { findCells, type Cell } from './cells.ts'
import type { Gray } from './gray.ts'
import { EASY, sightOf, TWO_VIEWS, type Fault, type SeenLine } from './legibility.ts'
import type { Block } from './locate.ts'
import { measureLines } from './measure-lines.ts'
import { ALPHABET, readStrip, type Network } from './network.ts'
import { READABLE, type Readable } from './spots.ts'
import { solve } from './solve.ts'
import { hasOneLength, looksLikeZone, oddPlaces, withNamesEnded } from './structure.ts'
import { stripOf, type Measured, type View } from './strip.ts'

/** A zone read from an image. */
export interface Found {
  layout: Layout
  lines: string[]
  /** All check digits are correct. */
  isCorrect: boolean
  /** All check digits are correct, and the image shows every character. */
  valid: boolean
  /** Mean log likelihood of the characters. 0 is certain. */
  confidence: number
  characters: Legibility[][]
  /** The margin of each character, and the sum of the margins in both views that it needs. */
  margins: number[][]
  neededSum: number[][]
  /** The number of characters with a small margin. */
  weak: number
  /** The number of characters whose legibility is not `buona`. */
  doubts: number
  /** The distance of characters in the image, in pixels. */
  pitch: number
  /** Why some characters are not seen well. */
  faults: Fault[]
}

/** A reading with valid check digits replaces the likeliest if its log likelihood is at most this much lower. */
const PROOF_COSTS = 9
/** Minimum confidence of a zone. Without valid check digits, only this distinguishes a zone from other text. */
const GATE = { valid: -0.8, other: -0.3 }
/** A slant near the largest that is measured, 0.36, which is a shear by 20 degrees. */
const SKEWED = 0.35
/** The share of a zone's characters that decide whether it passes `GATE`: those with the highest likelihood. */
const DECISIVE_SHARE = 0.9

/** A character with a smaller margin is weak. */
const WEAK = 3
/** A valid reading with at least this confidence needs no second view. */
const CRISP = -0.008

/** Reads a block as each layout with that number of lines, plain and sharpened. Returns the best reading. */
export function readBlock (picture: Gray, { lines }: Block, network: Network, today: Day): Found | undefined {
  const measured = measureLines(picture, lines)
  const plain = readView(picture, measured, network, today, 'plain')
  if (plain?.valid && plain.confidence >= CRISP) return plain
  // In OCR-B a capital is as high as the pitch. Blur and fillers change the measured height more than the pitch.
  const scaled = plain === undefined ? measured : measured.map((line) => ({ ...line, cap: plain.pitch }))
  const sharpened = readView(picture, scaled, network, today, 'sharpened')
  if (plain === undefined || sharpened === undefined) return plain ?? sharpened
  const best = better(plain, sharpened)
  return withOtherView(best, best === plain ? sharpened : plain)
}

/**
 * Judges the characters of a reading by both views: margins are added where the views agree, and subtracted where they
 * differ.
 */
function withOtherView (reading: Found, other: Found): Found {
  const characters = reading.characters.map((line, n) => line.map((each, at): Legibility => {
    const isSame = other.lines[n]?.[at] === reading.lines[n]![at]
    const [own, others] = [reading.margins[n]![at]!, other.margins[n]?.[at] ?? Infinity]
    if (each === 'buona') return isSame || own - others >= TWO_VIEWS.other ? each : 'dubbia'
    return isSame && own + others >= reading.neededSum[n]![at]! ? 'buona' : each
  }))
  const doubts = countDoubts(characters)
  const valid = reading.isCorrect && doubts === 0
  return { ...reading, characters, doubts, valid, faults: doubts === 0 ? [] : faultsOf(reading.faults, doubts) }
}

function readView (
  picture: Gray, measured: readonly Measured[], network: Network, today: Day, view: View
): Found | undefined {
  const seen = measured.map((line) => {
    const strip = stripOf(picture, line, view)
    return { line, strip, columns: readStrip(network, strip), textLength: line.length * strip.scale }
  })
  const fitting = READABLE.filter(({ layout }) => layout.lines === seen.length)
  const byLength = [...Map.groupBy(fitting, ({ layout }) => layout.length)]
  const found = byLength.flatMap(([length, layouts]) => {
    const place = (firsts: readonly number[] = []) => seen.flatMap(({ line, strip, columns, textLength }, n) => {
      const found = findCells(columns, length, textLength, firsts[n])
      return found === undefined ? [] : { ...found, line, strip }
    })
    const placed = place()
    if (placed.length < seen.length) return []
    const beginning = commonBeginning(placed)
    const moved = beginning === undefined ? [] : place(beginning)
    return [placed, moved].filter(({ length }) => length === seen.length)
      .flatMap((each) => layouts.flatMap((readable) => readAs(readable, each, today) ?? []))
  })
  return found.reduce<Found | undefined>(better, undefined)
}

/**
 * The better of two readings. The criteria in order: valid, correct check digits, fewer weak characters in the same
 * layout, more confidence.
 */
export function better<Each extends Found> (a: Each | undefined, b: Each): Each {
  if (a === undefined || a.valid !== b.valid) return a?.valid ? a : b
  if (a.isCorrect !== b.isCorrect) return a.isCorrect ? a : b
  if (a.isCorrect && a.layout === b.layout) return a.weak <= b.weak ? a : b
  return a.confidence >= b.confidence ? a : b
}

function readAs (readable: Readable, placed: Omit<SeenLine, 'spots'>[], today: Day): Found | undefined {
  const { layout } = readable
  const cells = withNamesEnded(readable, placed.map(({ cells }) => cells))
  const seen = placed.map((line, n): SeenLine => ({ ...line, cells: cells[n]!, spots: readable.spots[n]! }))
  const { free, proven } = solve(readable, cells)
  const isValid = (lines: string[]) => parseZone(layout, lines, today).valid
  const isProven = proven !== undefined && free.likelihood - proven.likelihood < PROOF_COSTS && isValid(proven.lines)
  const reading = isProven ? proven : free
  const { lines, likelihood } = reading
  const confidence = likelihood / (layout.lines * layout.length)
  // If an earlier layout (visa, French card) matches, the reading belongs to that layout.
  if (layoutOf(lines) !== layout || !looksLikeZone(layout, lines)) return undefined
  const isCorrect = isProven || isValid(lines)
  if (confidenceOfMost(lines, cells) < (isCorrect ? GATE.valid : GATE.other)) return undefined
  const { characters, neededSum, faults } = sightOf(seen, reading, confidence, hasOneLength(layout))
  for (const [line, from, to] of oddPlaces(readable, lines, confidence >= EASY)) {
    for (let at = from; at < to; at++) {
      if (characters[line]![at] === 'buona') characters[line]![at] = 'dubbia'
      neededSum[line]![at] = Infinity
    }
  }
  const doubts = countDoubts(characters)
  return {
    layout,
    lines,
    isCorrect,
    valid: isCorrect && doubts === 0,
    confidence,
    weak: reading.margins.flat().filter((margin) => margin < WEAK).length,
    characters,
    neededSum,
    margins: reading.margins,
    doubts,
    pitch: pitchIn(seen),
    faults: faultsOf(seen.some(isSkewed) ? faults.map(blameSkew) : faults, doubts)
  }
}

function pitchIn (seen: readonly SeenLine[]): number {
  return seen.reduce((sum, { places, strip }) => sum + pitchOf(places) / strip.scale, 0) / seen.length
}

/** True when the slant reaches the limit, so that the line may not be fully straightened. */
function isSkewed ({ line }: SeenLine): boolean {
  return Math.abs(line.slant) >= SKEWED
}

function blameSkew (fault: Fault): Fault {
  return fault === 'mosso' ? 'inclinata' : fault
}

/** The mean log likelihood of the likeliest 90% of the characters. A finger or a reflection may cover the others. */
function confidenceOfMost (lines: readonly string[], cells: readonly Cell[][]): number {
  const logs = lines.flatMap((line, n) => [...line].map((char, at) => cells[n]![at]![ALPHABET.indexOf(char)]!))
  const most = logs.toSorted((a, b) => b - a).slice(0, Math.ceil(logs.length * DECISIVE_SHARE))
  return most.reduce((a, b) => a + b) / most.length
}

/** Doubtful characters without another fault mean that the image is not sharp enough. */
function faultsOf (faults: Fault[], doubts: number): Fault[] {
  return doubts > 0 && faults.length === 0 ? ['mosso'] : faults
}

function countDoubts (characters: readonly Legibility[][]): number {
  return characters.flat().filter((each) => each !== 'buona').length
}
