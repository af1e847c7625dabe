import { createRequire } from 'node:module'
import { create } from 'qrcode'

const require = createRequire(import.meta.url)
const { M } = require('qrcode/lib/core/error-correction-level')
const { getBlocksCount, getTotalCodewordsCount } = require('qrcode/lib/core/error-correction-code')
const { getSymbolTotalCodewords } = require('qrcode/lib/core/utils')

const MARGIN = 4
const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:'

/** The text of a clean QR code of level M in the SVG of a page. The library that draws it cannot read it. */
export function qrText (page: string): string {
  const [, view, path] = /<svg[^>]* viewBox="0 0 (\d+) .*?stroke="#000000" d="([^"]*)"/s.exec(page)!
  const size = Number(view) - 2 * MARGIN
  const dark = darkModules(path!, size)
  for (const maskPattern of [0, 1, 2, 3, 4, 5, 6, 7] as const) {
    const text = decoded(dark, size, maskPattern)
    if (text?.startsWith('http')) return text
  }
  throw new Error('no mask gives a text')
}

function darkModules (path: string, size: number): Set<number> {
  const dark = new Set<number>()
  let [x, y] = [0, 0]
  for (const [, command, first, second] of path.matchAll(/([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?/g)) {
    if (command === 'M') [x, y] = [Number(first), Math.floor(Number(second))]
    else if (command === 'm') x += Number(first)
    else for (const end = x + Number(first); x < end; x++) dark.add((y - MARGIN) * size + x - MARGIN)
  }
  return dark
}

const MASKS: ((row: number, column: number) => boolean)[] = [
  (r, c) => (r + c) % 2 === 0, (r) => r % 2 === 0, (_, c) => c % 3 === 0, (r, c) => (r + c) % 3 === 0,
  (r, c) => (Math.floor(r / 2) + Math.floor(c / 3)) % 2 === 0, (r, c) => r * c % 2 + r * c % 3 === 0,
  (r, c) => (r * c % 2 + r * c % 3) % 2 === 0, (r, c) => (r * c % 3 + (r + c) % 2) % 2 === 0
]

function decoded (dark: Set<number>, size: number, mask: number): string | undefined {
  const version = (size - 17) / 4
  // Every code of a version has the same reserved modules.
  const { reservedBit } = create('x', { version, errorCorrectionLevel: 'M' }).modules
  const bits: number[] = []
  for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
    if (right === 6) right--
    for (let step = 0; step < size; step++) {
      const row = isUp ? size - 1 - step : step
      for (const column of [right, right - 1]) {
        const at = row * size + column
        if (reservedBit[at] === 0) bits.push(Number(dark.has(at) !== MASKS[mask]!(row, column)))
      }
    }
  }
  const words = Array.from({ length: getSymbolTotalCodewords(version) }, (_, at) =>
    Number.parseInt(bits.slice(at * 8, at * 8 + 8).join(''), 2))
  return textOf(dataWords(words, version), version)
}

/** The data of the blocks, whose words alternate. The last blocks may be longer. */
function dataWords (words: readonly number[], version: number): number[] {
  const count: number = getBlocksCount(version, M)
  const total: number = words.length - getTotalCodewordsCount(version, M)
  const short = Math.floor(total / count)
  const shorter = count - total % count
  const blocks = Array.from({ length: count }, (_, block) =>
    Array.from({ length: short + Number(block >= shorter) }, (_, at) =>
      words[at < short ? at * count + block : short * count + block - shorter]!))
  return blocks.flat()
}

function textOf (words: readonly number[], version: number): string | undefined {
  const bits = words.map((word) => word.toString(2).padStart(8, '0')).join('')
  const wide = version > 9
  let at = 0
  let text = ''
  const take = (length: number) => {
    at += length
    return Number.parseInt(bits.slice(at - length, at), 2)
  }
  while (at + 4 <= bits.length) {
    const mode = take(4)
    if (mode === 0) return text
    if (mode === 4) {
      for (let left = take(wide ? 16 : 8); left > 0; left--) text += String.fromCharCode(take(8))
    } else if (mode === 2) {
      for (let left = take(wide ? 11 : 9); left > 0; left -= 2) {
        const pair = take(left > 1 ? 11 : 6)
        text += (left > 1 ? ALPHANUMERIC[Math.floor(pair / 45)]! : '') + ALPHANUMERIC[pair % 45]!
      }
    } else if (mode === 1) {
      for (let left = take(wide ? 12 : 10); left > 0; left -= 3) {
        const digits = Math.min(left, 3)
        text += String(take([0, 4, 7, 10][digits]!)).padStart(digits, '0')
      }
    } else return undefined
  }
  return text
}
