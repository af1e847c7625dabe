import type { Font, Glyph, GlyphRun } from 'fontkit'

type GetGlyph = (this: Font, id: number, characters?: number[]) => Glyph | null

type Layout = (this: Font, text: string, features?: object | null, ...rest: unknown[]) => GlyphRun

/** Composed letters alone, as ours all are. */
const LATIN = /^[\p{Script=Latin}\p{Script=Common}]*$/u

const patched = new WeakSet<object>()
/** The same glyph standing for other characters, by the glyph itself. */
const variants = new WeakMap<Glyph, Map<string, Glyph>>()
/** Of each font, the glyphs with their own characters. */
const owns = new WeakMap<Font, Map<number, Glyph | undefined>>()

/**
 * Has fonts give every glyph with the characters that it stands for in its place. As it stands, the library remembers a
 * glyph with the characters for which it was first asked, and none where it was a part of another: after `Á` every `A`
 * of the thread's documents would be lost when a text is searched or copied, and the same document would give other
 * bytes after another one. How many characters a glyph stands for is never changed: the layout counts by them. And
 * Latin letters are not taken apart: of an `ị` that is drawn as `i` and a dot, no reader of the file finds the dot.
 */
export function settleGlyphs (font: Font): void {
  const prototype = Object.getPrototypeOf(font) as { getGlyph: GetGlyph, layout: Layout }
  if (patched.has(prototype)) return
  patched.add(prototype)
  const { getGlyph, layout } = prototype
  prototype.layout = function (text, features, ...rest) {
    const isFree = features === undefined || features === null || (Array.isArray(features) && features.length === 0)
    return layout.call(this, text, isFree && LATIN.test(text) ? { ccmp: false } : features, ...rest)
  }
  prototype.getGlyph = function (id, characters = []) {
    const glyph = getGlyph.call(this, id, [])
    if (glyph === null || characters.length === 0) return glyph
    const own = ownOf(this, id, glyph)
    if (own !== undefined && own.codePoints.length === characters.length) return own
    return variantOf(glyph, characters)
  }
}

/** The glyph with its own characters, which are found out once. */
function ownOf (font: Font, id: number, glyph: Glyph): Glyph | undefined {
  let known = owns.get(font)
  if (!known) owns.set(font, known = new Map())
  if (known.has(id)) return known.get(id)
  const characters = ownCharacters(font, id)
  const own = characters && variantOf(glyph, characters)
  known.set(id, own)
  return own
}

function variantOf (glyph: Glyph, codePoints: number[]): Glyph {
  let known = variants.get(glyph)
  if (!known) variants.set(glyph, known = new Map())
  const key = codePoints.join()
  let variant = known.get(key)
  if (!variant) {
    variant = Object.create(glyph, { codePoints: { value: codePoints, enumerable: true } }) as Glyph
    known.set(key, variant)
  }
  return variant
}

/** The font's own characters for a glyph, unless it is only a form of another one, as in Arabic. */
function ownCharacters (font: Font, id: number): number[] | undefined {
  const own = font.stringsForGlyph(id).find((text) => text.normalize('NFKC') === text)
  return own === undefined ? undefined : Array.from(own, (character) => character.codePointAt(0)!)
}
