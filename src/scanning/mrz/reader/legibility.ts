import type { Legibility } from '#schemas/scanning.ts'
import { centreOf, isAligned, pitchOf } from './alignment.ts'
import type { Cells } from './cells.ts'
import { ALPHABET } from './network.ts'
import type { Reading } from './solve.ts'
import { IMPOSSIBLE, isOfName, type Spot } from './spots.ts'
import { ENDED } from './structure.ts'
import { STRIP_HEIGHT, type Measured, type NetworkStrip } from './strip.ts'

/** A line of a zone in an image: its strip, and the character read in each column. */
export interface SeenLine extends Pick<Cells, 'cells' | 'places'> {
  strip: NetworkStrip
  line: Measured
  spots: readonly Spot[]
}

/** The reason to take a photo again. */
export type Fault = 'ombra' | 'riflesso' | 'mosso' | 'dito' | 'inclinata'

interface Sight {
  characters: Legibility[][]
  /** The sum of the margins in both views that makes a doubtful character legible. Infinity: no sum suffices. */
  neededSum: number[][]
  faults: Fault[]
}

interface Ink {
  /** How much darker the print is than its paper, as a share. */
  ink: number
  /** Brightness of the paper. */
  paper: number
}

/** How well one character is seen. */
interface CharacterSight extends Ink {
  /** Rows from the highest print to the lowest. */
  height: number
  /** By how much the next best reading is less likely. */
  margin: number
  /** By how much this character is less likely than the likeliest that the layout allows here. */
  gap: number
  /** By how much this character is less likely than the likeliest of all. */
  oddity: number
  isFiller: boolean
  isLetterOfName: boolean
  /** True for a filler after the end of a name. */
  isEnded: boolean
}

/** The rows of a strip that capitals fill. */
const ROWS = [6, STRIP_HEIGHT - 5] as const
const BOUNDS = {
  /** Less ink than this share of the zone's usual ink is not a character. */
  ink: 0.4,
  /** A character with less ink on paper that reflects a light may have lost a part. */
  bleached: 0.85,
  gap: 5,
  /** A damaged digit may look slightly more like a letter. Above this limit the document breaks the rules. */
  oddity: 12
}
/** This share of the zone's usual ink is print. */
const PRINT = 0.4
/**
 * The minimum margin and share of the usual height, in zones that the network reads easily and in others. A lower
 * letter or digit has lost a part.
 */
const NEEDED = { easy: { margin: 7, height: 0.85 }, hard: { margin: 7, height: 0.78 } }
/**
 * The sum of the margins in both views must be `whole` for a character of the needed height. It must be `low` for a
 * lower one of at least `height`. If the views differ, the margins must differ by `other`.
 */
export const TWO_VIEWS = { whole: 10, low: 24, height: 0.75, other: 10 }
/**
 * For zones with at least this usual margin. A letter of a name with less than `margin` has lost a part there, unless
 * the sum of both views reaches `twoViews`.
 */
const SHARP = { usual: 30, margin: 12, twoViews: 30 }
/** With this margin no part of a letter or digit is missing. */
const CLEAR = 25
/** The share of the usual height that a filler needs. */
const FILLER_HEIGHT = 0.6
/** A zone with at least this mean log likelihood is read easily. */
export const EASY = -0.03
/** Paper darker than this share of the zone's brightest is in shadow. Paper brighter than `glare` reflects a light. */
const LIGHT = { shadow: 0.6, glare: 245 }

/**
 * Judges which characters of a reading the image really shows. Ignores check digits.
 * @param hasOneLength false when the lines may be the beginning of longer ones. Only empty paper then proves their end
 */
export function sightOf (
  lines: readonly SeenLine[], { lines: read, margins }: Reading, confidence: number, hasOneLength: boolean
): Sight {
  const inks = lines.map(inksOf)
  const usualInk = median(inks.flat().map(({ ink }) => ink))
  const sights = lines.map((line, at) => charactersOf(line, read[at]!, margins[at]!, inks[at]!, usualInk))
  const brightest = Math.max(...inks.flat().map(({ paper }) => paper))
  const aligned = isAligned(lines)
  const quiet = lines.map((line, at) =>
    ([-1, 1] as const).map((beside) => isQuiet(line, beside, sights[at]!.at(beside === 1 ? -1 : 0)!, usualInk)))
  const isSharp = median(margins.flat()) >= SHARP.usual
  const faults = new Set<Fault>(aligned ? [] : ['dito'])
  const judged = sights.map((line, at) => {
    const letters = line.filter(({ isFiller }) => !isFiller)
    const usual = { ink: usualInk, height: median(letters.map(({ height }) => height)) }
    const needed = confidence >= EASY ? NEEDED.easy : NEEDED.hard
    const judged = line.map((each) => isSharp && each.isLetterOfName && each.margin < SHARP.margin
      ? judge(each, usual, { ...needed, margin: SHARP.margin }, SHARP.twoViews)
      : judge(each, usual, needed))
    const last = line.length - 1
    const [isBeginningSeen, isEndQuiet] = quiet[at] as [boolean, boolean]
    const isEndSeen = hasOneLength
      ? isEndQuiet || isClearEnd(line[last]!, judged[last]!, lines[at]!, usual.height)
      : isEndQuiet && isSamePaper(lines[at]!, line[last]!, usualInk)
    for (const [end, isSeen] of [[0, isBeginningSeen], [last, isEndSeen]] as const) {
      if (!aligned || !isSeen) judged[end] = { ...UNSEEN, fault: 'dito' }
    }
    for (const [n, { fault }] of judged.entries()) {
      const isDark = line[n]!.paper < LIGHT.shadow * brightest
      if (fault !== undefined) faults.add(fault === 'mosso' && isDark ? 'ombra' : fault)
    }
    return judged
  })
  return {
    characters: judged.map((line) => line.map(({ legibility }) => legibility)),
    neededSum: judged.map((line) => line.map(({ neededSum }) => neededSum)),
    faults: [...faults]
  }
}

interface Judged { legibility: Legibility, neededSum: number, fault?: Fault }

const SEEN: Judged = { legibility: 'buona', neededSum: 0 }
const UNSEEN: Judged = { legibility: 'nulla', neededSum: Infinity }

/** True when the last character of a line is whole and inside the image, though no empty paper follows it. */
function isClearEnd (
  { height, margin, isFiller, isEnded }: CharacterSight, { legibility }: Judged, { strip, places }: SeenLine,
  usualHeight: number
): boolean {
  if (isEnded) return true
  const end = centreOf(places.at(-1)!) + 0.45 * pitchOf(places)
  return legibility === 'buona' && margin >= CLEAR && end <= strip.inside[1] &&
    height >= (isFiller ? FILLER_HEIGHT : NEEDED.easy.height) * usualHeight
}

function judge (
  each: CharacterSight, usual: { ink: number, height: number }, needed: { margin: number, height: number },
  minSum = 0
): Judged {
  const { ink, paper, height, margin, gap, oddity, isEnded } = each
  if (isEnded && isHiddenOrWhole(each, usual)) return SEEN
  if (ink < BOUNDS.ink * usual.ink) return { ...UNSEEN, fault: paper > LIGHT.glare ? 'riflesso' : 'dito' }
  const isBleached = paper > LIGHT.glare && ink < BOUNDS.bleached * usual.ink
  const neededSum = neededSumOf(each, height / usual.height, needed.height, isBleached)
  const isLikely = gap <= BOUNDS.gap && oddity <= BOUNDS.oddity
  if (neededSum === TWO_VIEWS.whole && isLikely && margin >= needed.margin) return SEEN
  const fault = isBleached ? 'riflesso' : 'mosso'
  return { legibility: 'dubbia', neededSum: isLikely ? Math.max(minSum, neededSum) : Infinity, fault }
}

/** False for a worn filler. Letters may have lost a part, too, if ink has come off. */
function isHiddenOrWhole ({ ink, paper, height }: CharacterSight, usual: { ink: number, height: number }): boolean {
  return ink < BOUNDS.ink * usual.ink || paper > LIGHT.glare || height >= FILLER_HEIGHT * usual.height
}

/** The sum of the margins in both views that a character needs. `part` is its share of the usual height. */
function neededSumOf ({ margin, isFiller }: CharacterSight, part: number, needed: number, isBleached: boolean): number {
  if (part >= (isFiller ? FILLER_HEIGHT : needed)) return TWO_VIEWS.whole
  if (isFiller || isBleached) return Infinity
  if (margin >= CLEAR) return TWO_VIEWS.whole
  return part >= TWO_VIEWS.height ? TWO_VIEWS.low : Infinity
}

function inksOf ({ strip, places }: SeenLine): Ink[] {
  const half = pitchOf(places) / 2
  return places.map((place) => {
    const values = valuesIn(strip, centreOf(place) - half, centreOf(place) + half)
    const [dark, paper] = [quantile(values, 0.06), quantile(values, 0.9)]
    return { ink: (paper - dark) / Math.max(1, paper), paper }
  })
}

function charactersOf (
  { strip, places, cells, spots }: SeenLine, read: string, margins: readonly number[], inks: readonly Ink[],
  usualInk: number
): CharacterSight[] {
  const half = pitchOf(places) / 2
  return places.map((place, at) => {
    const logs = cells[at]!
    const own = logs[ALPHABET.indexOf(read[at]!)]!
    const isAllowed = (char: number) => spots[at]!.costs[char]! > IMPOSSIBLE
    const bound = inks[at]!.paper * (1 - PRINT * usualInk)
    return {
      ...inks[at]!,
      height: heightIn(strip, centreOf(place) - half, centreOf(place) + half, bound),
      margin: margins[at]!,
      gap: logs.reduce((a, log, char) => isAllowed(char) ? Math.max(a, log) : a, own) - own,
      oddity: logs.reduce((a, b) => Math.max(a, b)) - own,
      isFiller: read[at] === '<',
      isLetterOfName: read[at] !== '<' && isOfName(spots[at]!),
      isEnded: logs === ENDED
    }
  })
}

/**
 * True when the paper beside the first or the last character is empty. Otherwise a finger or the edge of the image may
 * hide more characters, and the length of the line is unknown.
 */
function isQuiet ({ strip, places }: SeenLine, beside: -1 | 1, { paper }: CharacterSight, usualInk: number): boolean {
  const middle = centreOf(places.at(beside === 1 ? -1 : 0)!)
  const [near, far] = [0.6, 0.9].map((part) => middle + beside * part * pitchOf(places)) as [number, number]
  const [left, right] = [Math.min(near, far), Math.max(near, far)]
  if (left < strip.inside[0] || right > strip.inside[1]) return false
  const values = valuesIn(strip, left, right)
  const bound = paper * (1 - 0.5 * usualInk)
  return quantile(values, 0.06) > bound
}

/** True when the paper after the last character is as bright as the paper around that character. A finger seldom is. */
function isSamePaper ({ strip, places }: SeenLine, { paper }: CharacterSight, usualInk: number): boolean {
  const [from, to] = [0.6, 2].map((part) => centreOf(places.at(-1)!) + part * pitchOf(places)) as [number, number]
  const values = valuesIn(strip, from, to)
  return to <= strip.inside[1] && quantile(values, 0.1) > paper * (1 - 0.5 * usualInk) &&
    Math.abs(quantile(values, 0.9) - paper) < 0.06 * paper
}

/** The gray values of the capitals' rows between two columns, sorted. */
function valuesIn ({ seen, width }: NetworkStrip, left: number, right: number): Float32Array {
  const [from, to] = [Math.max(0, Math.round(left)), Math.min(width, Math.round(right))]
  const values = new Float32Array(Math.max(0, to - from) * (ROWS[1] - ROWS[0]))
  for (let y = ROWS[0], at = 0; y < ROWS[1]; y++) {
    for (let x = from; x < to; x++) values[at++] = seen[y * width + x]!
  }
  return values.sort()
}

/** The rows between the first and the last with a pixel darker than a bound. */
function heightIn ({ seen, width, height }: NetworkStrip, left: number, right: number, bound: number): number {
  const [from, to] = [Math.max(0, Math.round(left)), Math.min(width, Math.round(right))]
  let [top, bottom] = [height, 0]
  for (let y = 0; y < height; y++) {
    for (let x = from; x < to; x++) {
      if (seen[y * width + x]! >= bound) continue
      top = Math.min(top, y)
      bottom = y + 1
    }
  }
  return Math.max(0, bottom - top)
}

function quantile (sorted: Float32Array, share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

function median (values: readonly number[]): number {
  return quantile(Float32Array.from(values).sort(), 0.5)
}
