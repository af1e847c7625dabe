import { syllables as english } from '@react-pdf/hyphenate/en'
import { syllables as french } from '@react-pdf/hyphenate/fr'
import { syllables as german } from '@react-pdf/hyphenate/de'
import { syllables as italian } from '@react-pdf/hyphenate/it'
import { symbolsOf } from './emoji.ts'
import type { Language } from '../language/formats.ts'

const SYLLABLES: Record<Language, (word: string) => string[]> = {
  it: italian, en: english, de: german, fr: french
}

/** The form of words that can be hyphenated: seven or more Latin letters. Words in capitals may be codes. */
const HYPHENATED = /^\P{L}*\p{Script=Latin}{7,}\P{L}*$/u
/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
/** Longer words that cannot be hyphenated, such as URLs, may break anywhere, so that they fit into their box. */
const LONG = 24
const PIECE = 8

const SOFT_HYPHEN = '\u00AD'
/** Soft hyphens at the ends of a word or next to another soft hyphen. */
const IDLE_HYPHENS = /(?<![^\s\u00AD])\u00AD+|\u00AD+(?![^\s\u00AD])|(?<=\u00AD)\u00AD+/g

/** Removes useless soft hyphens, because the renderer fails on a word with an empty piece. */
export function withoutIdleHyphens (text: string): string {
  return text.replace(IDLE_HYPHENS, '')
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Returns a function that splits a word where a line may break. An empty piece marks a break without a hyphen. */
export function wordBreaker (language: Language): (word: string) => string[] {
  const syllables = SYLLABLES[language]
  return (word) => {
    if (word.includes(SOFT_HYPHEN)) return word.split(SOFT_HYPHEN)
    if (UNSPACED.test(word)) return parted(Array.from(segmenter.segment(word), ({ segment }) => segment))
    if (HYPHENATED.test(word) && /\p{Ll}/u.test(word) && word.length <= LONG * 2) return syllables(word)
    if (word.length <= LONG) return [word]
    return parted(symbolsOf(word).reduce<string[]>((pieces, letter, at) => {
      if (at % PIECE === 0) pieces.push(letter)
      else pieces[pieces.length - 1] += letter
      return pieces
    }, []))
  }
}

function parted (pieces: string[]): string[] {
  return pieces.flatMap((piece, at) => at === 0 ? [piece] : ['', piece])
}
