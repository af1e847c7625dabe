import { COLUMN } from './network.ts'
import { columnOf, type Measured, type Strip } from './strip.ts'

/** A line of a zone in an image: its strip, and the columns of its characters there. */
interface PlacedLine { places: readonly number[], strip: Pick<Strip, 'width' | 'scale'>, line: Measured }

/** Lines that are shifted by this share of a capital's height or more are not aligned. */
const LEEWAY = 0.6

/**
 * True when the middle of each line is below that of the line before, along the slant. Otherwise a line has lost its
 * first character, or begins with other marks.
 */
export function isAligned (lines: readonly PlacedLine[]): boolean {
  return lines.every((each, at) => {
    const last = lines[at - 1]
    return last === undefined ||
      Math.abs(shift(pointAt(last, middleOf(last)), pointAt(each, middleOf(each)), each.line)) < LEEWAY * each.line.cap
  })
}

/**
 * For each line, the first column in which it may begin, so that no line begins left of the one that begins furthest
 * right. Undefined when all lines are aligned there. Marks beside a line, or blank paper, may look like its first
 * characters.
 */
export function commonBeginning (lines: readonly PlacedLine[]): number[] | undefined {
  const [first] = lines
  const begins = lines.map((each) =>
    shift(pointAt(first!, centreOf(first!.places[0]!)), pointAt(each, centreOf(each.places[0]!)), each.line))
  const last = Math.max(...begins)
  if (begins.every((begin, at) => last - begin < LEEWAY * lines[at]!.line.cap)) return undefined
  return lines.map(({ places, strip, line }, at) =>
    Math.max(0, places[0]! + Math.floor((last - begins[at]! - line.cap / 3) * strip.scale / COLUMN)))
}

/** The distance between two points along a line, when the columns of its print have a slant. */
function shift (from: { x: number, y: number }, to: { x: number, y: number }, { angle, slant }: Measured): number {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  const [dx, dy] = [to.x - from.x, to.y - from.y]
  return dx * cos + dy * sin - slant * (dy * cos - dx * sin)
}

function pointAt ({ strip, line }: PlacedLine, u: number): { x: number, y: number } {
  return columnOf(line, (u + 0.5 - strip.width / 2) / strip.scale)
}

/** The middle between the first and the last character, in the strip. */
function middleOf ({ places }: PlacedLine): number {
  return (centreOf(places[0]!) + centreOf(places.at(-1)!)) / 2
}

/** The distance between characters in the strip. */
export function pitchOf (places: readonly number[]): number {
  return (places.at(-1)! - places[0]!) / (places.length - 1) * COLUMN
}

/** The position in the strip of the middle of a network column. */
export function centreOf (place: number): number {
  return place * COLUMN + 1.5
}
