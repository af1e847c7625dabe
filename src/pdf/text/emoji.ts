import { EMOJI } from './families.ts'

/** Marks of sequences: joiner, variation selector, keycap, skin tones, letters of flags. */
const MARKS = /\u200D|\uFE0F|\u20E3|\p{EMod}|\p{RI}/u
/** Every sequence that Unicode recommends, such as a family or a flag. */
const SEQUENCES = /(\p{RGI_Emoji})/v

/** Splits a text into symbols. An emoji of several characters is one symbol. */
export function symbolsOf (text: string): string[] {
  if (!MARKS.test(text)) return Array.from(text)
  return text.split(SEQUENCES).flatMap((piece, at) => at % 2 === 1 && isSequence(piece) ? [piece] : Array.from(piece))
}

/** True for an emoji of several characters. */
export function isSequence (symbol: string): boolean {
  return symbol.length > 1 && symbol.length > String.fromCodePoint(symbol.codePointAt(0)!).length
}

/** Splits a text. The pieces with odd indexes are emoji of several characters, which need the emoji font as a whole. */
export function emojiPieces (text: string): string[] {
  const pieces = ['']
  for (const symbol of symbolsOf(text)) {
    if (isSequence(symbol)) pieces.push(symbol, '')
    else pieces[pieces.length - 1] += symbol
  }
  return pieces
}

export const EMOJI_FONT = EMOJI.name
