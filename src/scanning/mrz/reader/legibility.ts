import type { Legibility } from '#schemas/scanning.ts'
import type { Cells } from './cells.ts'
import { ALPHABET, COLUMN } from './network.ts'
import type { Reading } from './solve.ts'
import { columnOf, STRIP_HEIGHT, type Measured, type NetworkStrip } from './strip.ts'

/** A line of a zone in an image: its strip, and what is read where. */
export interface SeenLine extends Pick<Cells, 'cells' | 'places'> { strip: NetworkStrip, line: Measured }

/** Why an image should be taken again. */
export type Fault = 'ombra' | 'riflesso' | 'mosso' | 'dito' | 'inclinata'

export interface Sight {
  characters: Legibility[][]
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
  /** By how much this character is less likely than the likeliest, which breaks a rule of the layout. */
  gap: number
}

/** The rows of a strip that capitals fill. */
const ROWS = [6, STRIP_HEIGHT - 5] as const
const BOUNDS = {
  /** Less ink than this share of the zone's usual ink is no character. */
  ink: 0.4,
  gap: 5
}
/** This share of the zone's usual ink is print. */
const PRINT = 0.4
/**
 * In a zone that the network reads easily and in others: the margin that a character needs, and the share of the usual
 * height. A letter or digit that is lower has lost a part.
 */
const NEEDED = { easy: { margin: 7, height: 0.85 }, hard: { margin: 7, height: 0.78 } }
/** With this margin no part of a letter or digit is missing. */
const CLEAR = 20
/** The same share for fillers. */
const FILLER_HEIGHT = 0.6
/** A zone with at least this mean log likelihood is read easily. */
export const EASY = -0.03
/** Paper darker than this share of the zone's brightest lies in shadow. Brighter than `glare` it reflects a light. */
const LIGHT = { shadow: 0.6, glare: 245 }

/** Judges which characters of a reading the image really shows, whatever their check digits are. */
export function sightOf (lines: readonly SeenLine[], { lines: read, margins }: Reading, sureness: number): Sight {
  const inks = lines.map(inksOf)
  const usualInk = median(inks.flat().map(({ ink }) => ink))
  const sights = lines.map((line, at) => charactersOf(line, read[at]!, margins[at]!, inks[at]!, usualInk))
  const needed = sureness >= EASY ? NEEDED.easy : NEEDED.hard
  const brightest = Math.max(...inks.flat().map(({ paper }) => paper))
  const faults = new Set<Fault>()
  const aligned = isAligned(lines)
  if (!aligned) faults.add('dito')
  const characters = sights.map((line, at) => {
    const usualHeight = median(line.filter((_, n) => read[at]![n] !== '<').map(({ height }) => height))
    const judged = line.map((each, n): Legibility => {
      const isFiller = read[at]![n] === '<'
      const isWhole = each.height >= (isFiller ? FILLER_HEIGHT : needed.height) * usualHeight ||
        (!isFiller && each.margin >= CLEAR)
      if (each.ink < BOUNDS.ink * usualInk) {
        faults.add(each.paper > LIGHT.glare ? 'riflesso' : 'dito')
        return 'nulla'
      }
      if (isWhole && each.margin >= needed.margin && each.gap <= BOUNDS.gap) return 'buona'
      faults.add(each.paper < LIGHT.shadow * brightest ? 'ombra' : 'mosso')
      return 'dubbia'
    })
    for (const [end, beside] of [[0, -1], [line.length - 1, 1]] as const) {
      if (aligned && isQuiet(lines[at]!, beside, line[end]!, usualInk)) continue
      faults.add('dito')
      judged[end] = 'nulla'
    }
    return judged
  })
  return { characters, faults: [...faults] }
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
  { strip, places, cells }: SeenLine, read: string, margins: readonly number[], inks: readonly Ink[], usualInk: number
): CharacterSight[] {
  const half = pitchOf(places) / 2
  return places.map((place, at) => {
    const logs = cells[at]!
    const bound = inks[at]!.paper * (1 - PRINT * usualInk)
    return {
      ...inks[at]!,
      height: heightIn(strip, centreOf(place) - half, centreOf(place) + half, bound),
      margin: margins[at]!,
      gap: logs.reduce((a, b) => Math.max(a, b)) - logs[ALPHABET.indexOf(read[at]!)]!
    }
  })
}

/**
 * True when the lines begin and end below each other, as far as a slanted or tapered image shows them so. Otherwise one
 * has lost its first character, or begins with something else.
 */
function isAligned (lines: readonly SeenLine[]): boolean {
  return lines.every((each, at) => {
    const last = lines[at - 1]
    if (last === undefined) return true
    const [a, b] = [middleOf(last), middleOf(each)]
    const { angle, slant, cap } = each.line
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
    const [dx, dy] = [b.x - a.x, b.y - a.y]
    const shift = dx * cos + dy * sin - slant * (dy * cos - dx * sin)
    return Math.abs(shift) < 0.6 * cap
  })
}

/** The middle between the first and the last character, in the image. */
function middleOf ({ places, strip, line }: SeenLine): { x: number, y: number } {
  const middle = (centreOf(places[0]!) + centreOf(places.at(-1)!)) / 2
  return columnOf(line, (middle + 0.5 - strip.width / 2) / strip.scale)
}

/**
 * True when empty paper follows the first or the last character. Otherwise a finger or the edge of the image may hide
 * further ones, and nothing shows how long the line is.
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

function pitchOf (places: readonly number[]): number {
  return (places.at(-1)! - places[0]!) / (places.length - 1) * COLUMN
}

/** The middle of a column of the network in its strip. */
function centreOf (place: number): number {
  return place * COLUMN + 1.5
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
