import { isNumberFormat } from '../language/formats.ts'
import type { Build } from '../layout/build.ts'
import { widthOf } from '../text/measure.ts'
import type { ColumnDescription } from './column-description.ts'

/** The width that a column needs. A text gets between `least` and `wanted`. For other columns both are equal. */
interface Need {
  least: number
  wanted: number
  /** A width in points that the template gives. */
  fixed?: number
  isText: boolean
  /** The number of different values. */
  distinct: number
}

interface Texts { titles: string[], totals: string[][], lines: string[][] }

/** Points of padding in a cell, and a little more, because the renderer rounds. */
const PADDING = 11
/** Factors of the font size: minimum widths of a column and of a text that wraps, and maximum width of a code. */
const NARROWEST = 2.7
const WRAPPED = 6
const CODE = 24
/** Longer words break in a narrow column. */
const WHOLE_WORD = 12
/** The widest column that is repeated in every part of a table, as a factor of the table's width. */
const KEY_SHARE = 0.25

/** Measures columns, for a font size of one point and without padding. */
export function needsOf (
  columns: readonly ColumnDescription[],
  { titles, totals, lines }: Texts,
  build: Build,
  { width, wraps }: { width: number, wraps: boolean }
): Need[] {
  return columns.map((column, at): Need => {
    const isText = !isNumberFormat(column.format) && column.format !== 'date'
    const distinct = new Set(lines.map((cells) => cells[at]!).filter((text) => text !== '')).size
    if (column.width > 0) return { least: 0, wanted: 0, fixed: column.width / 100 * width, isText: false, distinct }
    const bold = (text: string) => widthOf(text, 700, 1)
    const lengths = lines.map((cells) => widthOf(cells[at]!, 400, 1)).sort((a, b) => a - b)
    const usual = lengths[Math.floor((lengths.length - 1) * (isText ? 0.95 : 1))] ?? 0
    const total = Math.max(0, ...totals.map((line) => bold(line[at]!)))
    const title = bold(titles[at]!)
    const head = wraps ? pieceOf(titles[at]!, 700, build) : Math.min(title, Math.max(usual * 2, WRAPPED))
    const firm = Math.max(NARROWEST, usual, total, head)
    if (!isText) return { least: firm, wanted: firm, isText, distinct }
    // Codes and addresses of one word stay whole if the table has room for them.
    const isCode = !lines.some((cells) => cells[at]!.includes(' '))
    const piece = lines.reduce((longest, cells) => Math.max(longest, pieceOf(cells[at]!, 400, build)), 0)
    const word = isCode ? Math.max(piece, Math.min(usual, CODE)) : piece
    const wanted = Math.max(NARROWEST, usual, total, Math.min(title, usual * 2), head, word)
    return { least: Math.min(wanted, Math.max(word, head, WRAPPED)), wanted, isText, distinct }
  })
}

/** The width of the longest piece of a text that a line break cannot divide. */
function pieceOf (text: string, weight: 400 | 700, { breakWord }: Build): number {
  return text.split(' ').reduce((longest, word) => {
    const pieces = word.length <= WHOLE_WORD ? [word] : breakWord(word).map((piece) => `${piece}-`)
    return pieces.reduce((longest, piece) => Math.max(longest, widthOf(piece, weight, 1)), longest)
  }, 0)
}

function pointsOf (need: Need, which: 'least' | 'wanted', fontSize: number): number {
  return need.fixed ?? need[which] * fontSize + PADDING
}

/**
 * Chooses the largest font size with which all columns fit. If none does, divides the columns into as few blocks as
 * possible, of about equal width. Each block starts with the column that best identifies a row, if that is narrow.
 */
export function arrange (
  needs: readonly Need[], width: number, sizes: readonly number[]
): { fontSize: number, blocks: number[][] } {
  const blocksAt = (fontSize: number, room = width) => divide(needs, fontSize, width, room)
  const fewest = Math.min(...sizes.map((size) => blocksAt(size).length))
  const fontSize = sizes.find((size) => blocksAt(size).length === fewest)!
  const rooms = Array.from({ length: 10 }, (_, at) => width * (at + 1) / 10)
  const room = rooms.find((room) => blocksAt(fontSize, room).length === fewest) ?? width
  return { fontSize, blocks: blocksAt(fontSize, room) }
}

/** Fills blocks with columns, in order, up to a width of `room`. */
function divide (needs: readonly Need[], fontSize: number, width: number, room: number): number[][] {
  const least = needs.map((need) => pointsOf(need, 'least', fontSize))
  if (sum(least) <= width) return [[...needs.keys()]]
  const isKey = (at: number) => needs[at]!.isText && least[at]! <= width * KEY_SHARE
  const key = [...needs.keys()].filter(isKey)
    .toSorted((a, b) => needs[b]!.distinct - needs[a]!.distinct || a - b).slice(0, 1)
  const blocks: number[][] = [[]]
  for (const at of needs.keys()) {
    const block = blocks.at(-1)!
    const wider = new Set([...block, at])
    const isFull = block.length > key.length && sum([...wider].map((each) => least[each]!)) > room
    if (isFull) blocks.push([...new Set([...key, at])])
    else blocks[blocks.length - 1] = [...wider]
  }
  return blocks
}

/**
 * Distributes the table's width, in fractions. Numbers and dates get their width first, because a shortened number is
 * wrong. Then short texts get what they need, and long texts share the rest.
 */
export function sharesOf (needs: readonly Need[], fontSize: number, width: number): number[] {
  const columns = needs.map((need) => ({
    least: pointsOf(need, 'least', fontSize), wanted: pointsOf(need, 'wanted', fontSize), isText: need.isText
  }))
  let open = columns.filter(({ isText }) => isText)
  let left = Math.max(width - sum(columns.filter(({ isText }) => !isText).map(({ least }) => least)), width * 0.2)
  let ceiling = ceilingFor(open.map(({ wanted }) => wanted), left)
  for (let pinned = open; pinned.length > 0;) {
    pinned = open.filter(({ least }) => least > ceiling)
    left -= sum(pinned.map(({ least }) => least))
    open = open.filter(({ least }) => least <= ceiling)
    ceiling = ceilingFor(open.map(({ wanted }) => wanted), left)
  }
  const granted = columns.map(({ least, wanted, isText }) =>
    isText ? Math.max(least, Math.min(wanted, ceiling)) : least)
  return granted.map((each) => each / sum(granted))
}

/** The maximum width of a text column, so that all of them fit into `room`. */
function ceilingFor (wanted: readonly number[], room: number): number {
  let left = room
  const sorted = [...wanted].sort((a, b) => a - b)
  for (const [at, want] of sorted.entries()) {
    const share = left / (sorted.length - at)
    if (want > share) return share
    left -= want
  }
  return Infinity
}

function sum (numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
