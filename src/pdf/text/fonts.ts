import { Font } from '@react-pdf/renderer'
import { openSync, type Font as FontData } from 'fontkit'
import { FALLBACKS, SANS, SERIF, type Family, type Weight } from './families.ts'
import { settleGlyphs } from './glyph-characters.ts'
import { simplify } from './transliteration.ts'

/** Which family a text begins with. */
export type Face = 'sans' | 'serif'

/** What is drawn for a character that no font has, and that has no simpler form. */
const BOX = '□'

for (const { name, files } of [SANS, SERIF, ...FALLBACKS]) {
  Font.register({
    family: name,
    fonts: files.map(({ path, weight, italic }) => ({
      src: path,
      fontWeight: weight,
      fontStyle: italic ? 'italic' as const : 'normal' as const
    }))
  })
}

/** Fonts are opened once in a thread, when the first text needs them. */
const opened = new Map<string, FontData>()

/** A font's file, opened. */
export function openFont (path: string): FontData {
  let font = opened.get(path)
  if (!font) {
    font = openSync(path) as FontData
    settleGlyphs(font)
    opened.set(path, font)
  }
  return font
}

// The fonts that the renderer opens itself are of the same class: theirs is settled before the first document.
openFont(fontPath(SANS, 400))

/** The file of a family in one weight, upright. */
export function fontPath ({ files }: Family, weight: Weight): string {
  return files.find((each) => each.weight === weight && !each.italic)!.path
}

/** Where a character is drawn from: a family, or other characters in its place. */
type Source = Family | string

const sources = new Map<string, Source>()

/** The fonts of one document: which families its texts need, and which characters had to be replaced. */
export interface FontUse {
  /** The text as it can be drawn, with every character in one of the families; the families are noted. */
  fit (text: string): string
  /** The names for `fontFamily`. Filled while texts are fitted: read when the document is laid out. */
  stack (face: Face): string[]
  /** What was drawn otherwise than it was written. */
  replaced: { simplified: Set<string>, boxed: Set<string> }
}

/** No text has been seen yet. */
export function fontUse (): FontUse {
  const stacks: Record<Face, string[]> = { sans: [SANS.name], serif: [SERIF.name, SANS.name] }
  const replaced = { simplified: new Set<string>(), boxed: new Set<string>() }

  function fitCharacter (character: string): string {
    const source = sourceOf(character)
    if (typeof source !== 'string') {
      if (!stacks.sans.includes(source.name)) for (const stack of Object.values(stacks)) stack.push(source.name)
      return character
    }
    if (source !== '') replaced[source === BOX ? 'boxed' : 'simplified'].add(character)
    return source === BOX ? fitCharacter(BOX) : [...source].map(fitCharacter).join('')
  }

  return {
    fit: (text) => /^[\n\x20-\x7e\xa0-\xff]*$/.test(text) ? text : Array.from(text, fitCharacter).join(''),
    stack: (face) => stacks[face],
    replaced
  }
}

/** The family that has a character: the usual one, else the first whose script it is. */
export function familyOf (character: string): Family | undefined {
  const source = sourceOf(character)
  return typeof source === 'string' ? undefined : source
}

function sourceOf (character: string): Source {
  const known = sources.get(character)
  if (known !== undefined) return known
  const source = findSource(character)
  sources.set(character, source)
  return source
}

function findSource (character: string): Source {
  const code = character.codePointAt(0)!
  // Ends of lines and places for hyphens are no glyphs.
  if (character === '\n' || character === '\u00AD' || has(SANS, code)) return SANS
  const fallback = FALLBACKS.find((family) => family.script!.test(character) && has(family, code))
  if (fallback) return fallback
  const simpler = simplify(character)
  if (simpler === undefined) return BOX
  return [...simpler].every((each) => typeof findSource(each) !== 'string') ? simpler : BOX
}

function has (family: Family, code: number): boolean {
  return openFont(fontPath(family, 400)).hasGlyphForCodePoint(code)
}
