import type { Font } from 'fontkit'
import { isSequence, symbolsOf } from './emoji.ts'
import { EMOJI, SANS, type Family, type Weight } from './families.ts'
import { familyOf, fontPath, openFont } from './fonts.ts'

/** Adjacent characters with the same font and direction. */
export interface Run { text: string, font: Font, rightToLeft: boolean }

const RIGHT_TO_LEFT = /\p{Script=Arabic}|\p{Script=Hebrew}/u
const ELLIPSIS = '…'
/** One emoji. All emoji have the same width. */
const FACE = 0x1F600

const advances: Record<Weight, Map<string, number>> = { 400: new Map(), 600: new Map(), 700: new Map() }
/** Text that the default font covers, left to right. */
const PLAIN = /^[\x20-\x7e\xa0-\xff]*$/

/** The width of a text in points, without kerning and ligatures. */
export function widthOf (text: string, weight: Weight, fontSize: number): number {
  let width = 0
  for (const symbol of symbolsOf(text)) width += advanceOf(symbol, weight)
  return width * fontSize
}

/** The text, or as much of its beginning as fits with an ellipsis. */
export function shorten (text: string, weight: Weight, fontSize: number, room: number): string {
  if (widthOf(text, weight, fontSize) <= room) return text
  let width = advanceOf(ELLIPSIS, weight) * fontSize
  let shown = ''
  for (const symbol of symbolsOf(text)) {
    width += advanceOf(symbol, weight) * fontSize
    if (width > room) break
    shown += symbol
  }
  return shown.trimEnd() + ELLIPSIS
}

/**
 * Splits a text into runs of one font, left to right. Right-to-left words and the blanks between them are one run.
 * The font layout reorders it.
 */
export function runsOf (text: string, weight: Weight): Run[] {
  if (PLAIN.test(text)) return [{ text, font: openFont(fontPath(SANS, weight)), rightToLeft: false }]
  const runs: { text: string, family: Family, rightToLeft: boolean }[] = []
  for (const piece of text.split(/([\p{Script=Arabic}\p{Script=Hebrew}\p{M}]+(?: +[\p{Script=Arabic}\p{Script=Hebrew}\p{M}]+)*)/u)) {
    const rightToLeft = RIGHT_TO_LEFT.test(piece)
    for (const symbol of symbolsOf(piece)) {
      const last = runs.at(-1)
      const joins = rightToLeft && symbol === ' '
      const family = joins && last ? last.family : familyOfSymbol(symbol)
      if (last && last.family === family && last.rightToLeft === rightToLeft) last.text += symbol
      else runs.push({ text: symbol, family, rightToLeft })
    }
  }
  return runs.map(({ text, family, rightToLeft }) => ({ text, font: openFont(fontPath(family, weight)), rightToLeft }))
}

function familyOfSymbol (symbol: string): Family {
  return isSequence(symbol) ? EMOJI : familyOf(symbol) ?? SANS
}

/** The advance width as a fraction of an em, cached. */
function advanceOf (symbol: string, weight: Weight): number {
  const known = advances[weight]
  let advance = known.get(symbol)
  if (advance === undefined) {
    const font = openFont(fontPath(familyOfSymbol(symbol), weight))
    const code = isSequence(symbol) ? FACE : symbol.codePointAt(0)!
    advance = font.glyphForCodePoint(code).advanceWidth / font.unitsPerEm
    known.set(symbol, advance)
  }
  return advance
}
