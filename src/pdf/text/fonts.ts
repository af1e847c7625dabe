import { Font } from '@react-pdf/renderer'
import { type Font as FontData, openSync } from 'fontkit'
import { isSequence, symbolsOf } from './emoji.ts'
import { EMOJI, FALLBACKS, type Family, SANS, SERIF, type Weight } from './families.ts'
import { checkLimit } from '../pdf-limits.ts'
import { settleGlyphs } from './glyph-characters.ts'

/* Transliteration for scripts without a font, because a name in Latin letters is better than a row of boxes. */

/** Georgian by the national system of 2002, and Armenian as in passports: each letter with its Latin letters. */
const LATIN = new Map(Array.from((
  'ა a ბ b გ g დ d ე e ვ v ზ z თ t ი i კ k’ ლ l მ m ნ n ო o პ p’ ჟ zh რ r ს s ტ t’ უ u ფ p ქ k ღ gh ყ q’ შ sh ჩ ch ' +
  'ც ts ძ dz წ ts’ ჭ ch’ ხ kh ჯ j ჰ h ' +
  'ա a բ b գ g դ d ե e զ z է e ը y թ t ժ zh ի i լ l խ kh ծ ts կ k հ h ձ dz ղ gh ճ ch մ m յ y ն n շ sh ո o չ ch պ p ' +
  'ջ j ռ r ս s վ v տ t ր r ց ts ւ v փ p ք k օ o ֆ f և ev'
).matchAll(/(\S+) (\S+)/g), ([, letter, latin]) => [letter!, latin!]))

/** Invisible modifiers: variation selectors, skin tones, joiners, keycaps. */
const SELECTORS = /[\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u20E3]/u

/**
 * Replaces a character with simpler ones: its base letter, or Latin letters of the same sound. Empty for an invisible
 * modifier, undefined when there is no simpler form.
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

/** The preferred family of a text. */
export type Face = 'sans' | 'serif'

/** Replaces a character that has neither a font nor a simpler form. */
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

/** Fonts opened in this thread, on first use. */
const opened = new Map<string, FontData>()

/** Opens a font file, once per thread. */
export function openFont (path: string): FontData {
  let font = opened.get(path)
  if (!font) {
    font = openSync(path) as FontData
    settleGlyphs(font)
    opened.set(path, font)
  }
  return font
}

// Patches fontkit's prototype before the first document, because the renderer opens its own fonts with the same class.
openFont(fontPath(SANS, 400))

/** The upright font file of a family in one weight. */
export function fontPath ({ files }: Family, weight: Weight): string {
  return files.find((each) => each.weight === weight && !each.italic)!.path
}

/** A character's font family, or the characters that replace it. */
type Source = Family | string

const sources = new Map<string, Source>()

/** The fonts of one document: the families in use, and the replaced characters. */
export interface FontUse {
  /**
   * Replaces characters that no font has, and records the families that the text needs.
   * @throws TemplateError when too many characters of the document need a fallback family
   */
  fit (text: string): string
  /** The value for `fontFamily`. `fit` may still extend it, so the layout reads it at the end. */
  stack (face: Face): string[]
  /** Characters that were replaced. */
  replaced: { simplified: Set<string>, boxed: Set<string> }
}

/** A new, empty record for one document. */
export function fontUse (): FontUse {
  const stacks: Record<Face, string[]> = { sans: [SANS.name], serif: [SERIF.name, SANS.name] }
  const replaced = { simplified: new Set<string>(), boxed: new Set<string>() }
  let foreign = 0

  function need ({ name }: Family): void {
    if (!stacks.sans.includes(name)) for (const stack of Object.values(stacks)) stack.push(name)
  }

  function fitSymbol (symbol: string): string {
    if (!isSequence(symbol)) return fitCharacter(symbol)
    checkLimit('foreign', ++foreign)
    need(EMOJI)
    return symbol
  }

  function fitCharacter (character: string): string {
    const source = sourceOf(character)
    if (typeof source !== 'string') {
      if (source !== SANS) checkLimit('foreign', ++foreign)
      need(source)
      return character
    }
    if (source !== '') replaced[source === BOX ? 'boxed' : 'simplified'].add(character)
    return source === BOX ? fitCharacter(BOX) : [...source].map(fitCharacter).join('')
  }

  return {
    fit: (text) => /^[\n\x20-\x7e\xa0-\xff]*$/.test(text) ? text : symbolsOf(text).map(fitSymbol).join(''),
    stack: (face) => stacks[face],
    replaced
  }
}

/** The family for a character: `SANS`, else the first fallback that has it. Undefined when no font has it. */
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
  // Line ends and soft hyphens need no font.
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
