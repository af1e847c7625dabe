import { Font } from '@react-pdf/renderer'
import { type Font as FontData, openSync } from 'fontkit'
import { FALLBACKS, type Family, SANS, SERIF, type Weight } from './families.ts'
import { settleGlyphs } from './glyph-characters.ts'

/* For scripts that no font of ours has: a name in Latin letters is worth more than a row of boxes. */

/** Georgian, by the national system of 2002, and Armenian, as passports write it: each letter, and its Latin ones. */
const LATIN = new Map(Array.from((
  'ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k’ ლ l მ m ნ n ო o პ p’ ჟ zh რ r ს s ტ t’ უ u ფ p ქ k ღ gh ყ q’ შ sh ჩ ch ' +
  'ც ts ძ dz წ ts’ ჭ ch’ ხ kh ჯ j ჰ h ' +
  'ա a բ b գ g դ d ե e զ z է e ը y թ t ժ zh ի i լ l խ kh ծ ts կ k հ h ձ dz ղ gh ճ ch մ m յ y ն n շ sh ո o չ ch պ p ' +
  'ջ j ռ r ս s վ v տ t ր r ց ts ւ v փ p ք k օ o ֆ f և ev'
).matchAll(/(\S+) (\S+)/g), ([, letter, latin]) => [letter!, latin!]))

/** What says how a picture is drawn: its colour of skin, its frame, with which others it is joined. */
const SELECTORS = /[\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u20E3]/u

/**
 * A character in simpler ones: a letter without its marks, or Latin letters of the same sound. Empty for what has no
 * shape of its own; undefined where there is nothing simpler.
 */
function simplify (character: string): string | undefined {
  if (SELECTORS.test(character)) return ''
  const plain = character.normalize('NFKD').replace(/\p{M}/gu, '')
  if (plain !== '' && plain !== character) return plain
  const lower = character.toLowerCase()
  const found = LATIN.get(lower)
  if (found === undefined) return undefined
  return lower === character ? found : found[0]!.toUpperCase() + found.slice(1)
}

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
