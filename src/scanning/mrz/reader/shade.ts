import { closed } from './dark-strokes.ts'

/**
 * Windows larger than print. `tall` is higher than a line, for characters that motion has joined. `wide` is wider than
 * a character, for shadows along the line.
 */
const WINDOWS = { tall: { width: 11, height: 25 }, wide: { width: 21, height: 9 } }
export type Window = keyof typeof WINDOWS

/** The strip in even light: the brightness of each pixel relative to the paper around the pixel. */
export function withoutShade (
  { pixels, width, height }: { pixels: Float32Array, width: number, height: number }, window: Window
): Float32Array {
  const picture = { data: Uint8Array.from(pixels), width, height }
  const paper = closed(picture, WINDOWS[window].width, WINDOWS[window].height)
  return pixels.map((value, at) => Math.min(255, 255 * value / Math.max(8, paper[at]!)))
}
