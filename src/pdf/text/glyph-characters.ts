import type { Font, Glyph, GlyphRun } from 'fontkit'

type GetGlyph = (this: Font, id: number, characters?: number[]) => Glyph | null

type Layout = (this: Font, text: string, features?: object | null, ...rest: unknown[]) => GlyphRun

/** Text in Latin script only, except parts of emoji, which need their ligatures. Our texts are composed (NFC). */
const LATIN = /^[[\p{Script=Latin}\p{Script=Common}]--[\p{RI}\p{EMod}]]*$/v

const patched = new WeakSet<object>()
/** Cache of glyph variants with other code points. */
const variants = new WeakMap<Glyph, Map<string, Glyph>>()
/** Cache of each font's glyphs with their own code points. */
const owns = new WeakMap<Font, Map<number, Glyph | undefined>>()

/**
 * Patches fontkit so that glyphs always have the right code points. fontkit caches a glyph with the code points of its
 * first use, or without any when it was a component of another glyph. After a text with `Á`, users could not search or
 * copy any `A`, and the output would depend on earlier documents. The number of code points never changes, because the
 * layout counts them. Latin letters are not decomposed, because a search would not find `ị` in two parts.
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

/** The glyph with its own code points, cached. */
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

/** The font's own code points for a glyph. Undefined for a glyph that is only a form of another one, as in Arabic. */
function ownCharacters (font: Font, id: number): number[] | undefined {
  const own = font.stringsForGlyph(id).find((text) => text.normalize('NFKC') === text)
  return own === undefined ? undefined : Array.from(own, (character) => character.codePointAt(0)!)
}
