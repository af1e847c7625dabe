import type { Blob } from './blobs.ts'
import { shrunk, type Gray } from './gray.ts'
import { textLines } from './text-lines.ts'

/** A line of text in the image: centre, direction and size in pixels. */
export type Line = Pick<Blob, 'x' | 'y' | 'angle' | 'length' | 'thickness'>

/** Two or three lines, one below the other, that may be a zone. */
export interface Block { lines: Line[], score: number }

const BLOCKS_MAX = 6

/**
 * Finds candidate zones on a copy of the given width, best first.
 * @param part the width of the document, as a share of the image
 */
export function locate (picture: Gray, searchWidth: number, part = 1): Block[] {
  const small = shrunk(picture, searchWidth)
  const scale = picture.width / small.width
  const found: Block[] = []
  const candidates = textLines(small, part).flatMap(blocksOf).map((lines) => ({ lines, score: score(lines, small) }))
  for (const block of candidates.sort((a, b) => b.score - a.score)) {
    if (found.length === BLOCKS_MAX) break
    if (!found.some((other) => isSame(other, block))) found.push(block)
  }
  return found.map(({ lines, score }) => ({ score, lines: lines.map((line) => enlarged(line, scale)) }))
}

/** Groups each line with up to two near, parallel lines of similar length below it. Single lines are dropped. */
function blocksOf (blobs: readonly Blob[]): Line[][] {
  const fromTop = blobs.toSorted((a, b) => a.y - b.y)
  return fromTop.map((first, at) => {
    const lines = [first]
    for (const next of fromTop.slice(at + 1)) {
      if (lines.length < 3 && continues(first, lines.at(-1)!, next)) lines.push(next)
    }
    return lines
  }).filter(({ length }) => length > 1)
}

function continues (first: Blob, last: Blob, next: Blob): boolean {
  const [dx, dy] = [next.x - last.x, next.y - last.y]
  const [cos, sin] = [Math.cos(first.angle), Math.sin(first.angle)]
  const along = dx * cos + dy * sin
  const across = dy * cos - dx * sin
  const ratio = next.length / last.length
  return Math.abs(next.angle - first.angle) <= 0.06 &&
    across >= last.thickness && across <= 4.2 * Math.max(last.thickness, next.thickness) &&
    Math.abs(along) <= 0.12 * last.length &&
    ratio >= 0.8 && ratio <= 1.25
}

/** Scores a candidate. Zones have long lines of equal height, often three, in the lower part of the image. */
function score (lines: readonly Line[], { width, height }: Gray): number {
  const heights = lines.map(({ thickness }) => thickness)
  return (lines.length === 3 ? 0.2 : 0) +
    Math.max(...lines.map(({ length }) => length)) / width +
    mean(lines.map(({ y }) => y)) / height * 0.35 -
    (Math.max(...heights) / Math.min(...heights) - 1) * 0.1
}

/**
 * True when two candidates may be the zones of two documents side by side: their print has similar size and direction,
 * and does not overlap.
 */
export function areSeparate (a: Block, b: Block): boolean {
  const [first, second] = [a.lines[0]!, b.lines[0]!]
  const isLike = (x: number, y: number) => x / y > 0.6 && x / y < 1.65
  const size = Math.max(...[...a.lines, ...b.lines].map(({ thickness }) => thickness))
  const [dx, dy] = [0, 1].map((axis) => Math.abs(centreOf(a)[axis]! - centreOf(b)[axis]!)) as [number, number]
  return isLike(first.length, second.length) && isLike(first.thickness, second.thickness) &&
    Math.abs(first.angle - second.angle) < 0.25 &&
    (dx > (first.length + second.length) / 2 || dy > 2.4 * size * (a.lines.length + b.lines.length) / 2)
}

function centreOf ({ lines }: Block): [x: number, y: number] {
  return [mean(lines.map(({ x }) => x)), mean(lines.map(({ y }) => y))]
}

function isSame (a: Block, b: Block): boolean {
  const [[ax, ay], [bx, by]] = [centreOf(a), centreOf(b)]
  const heights = b.lines.map(({ thickness }) => thickness).sort((x, y) => x - y)
  return a.lines.length === b.lines.length && Math.hypot(ax - bx, ay - by) < 1.2 * heights[heights.length >> 1]!
}

function enlarged ({ x, y, angle, length, thickness }: Line, scale: number): Line {
  return { x: x * scale, y: y * scale, angle, length: length * scale, thickness: thickness * scale }
}

function mean (values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
