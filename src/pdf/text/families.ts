import { createRequire } from 'node:module'

const { resolve } = createRequire(import.meta.url)

export type Weight = 400 | 600 | 700
export interface FontFile { weight: Weight, italic: boolean, path: string }

/** A family of fonts, and the scripts for which it is asked. */
export interface Family { name: string, script?: RegExp, files: FontFile[] }

type Kinds = 'all' | 'upright' | 'one'

/** Upright and slanted, three weights each. A family that has fewer repeats one: an unknown combination would throw. */
function family (name: string, folder: string, stem: string, kinds: Kinds, script?: RegExp): Family {
  const styles = { 400: '400Regular', 600: kinds === 'all' ? '600SemiBold' : '700Bold', 700: '700Bold' }
  const files = ([400, 600, 700] as const).flatMap((weight) => [false, true].map((italic): FontFile => {
    const upright = kinds === 'one' ? styles[400] : styles[weight]
    const style = italic && kinds === 'all' ? `${upright}_Italic` : upright
    return { weight, italic, path: resolve(`@expo-google-fonts/${folder}/${style}/${stem}_${style}.ttf`) }
  }))
  return { name, files, ...(script ? { script } : {}) }
}

/** Latin with Vietnamese, Greek, Cyrillic, Devanagari. */
export const SANS = family('Noto Sans', 'noto-sans', 'NotoSans', 'all')
/** For letters: Latin with Vietnamese, Cyrillic; what it lacks is taken from the family above. */
export const SERIF = family('Lora', 'lora', 'Lora', 'all')

/**
 * Asked when a text has their script, and opened only then. Arabic is IBM's: with Noto's the renderer puts the dots of
 * letters beside them. Chinese and Japanese are one file with all 20,992 unified ideographs, an eighth of the size of
 * Noto's package.
 */
export const FALLBACKS: readonly Family[] = [
  family('IBM Plex Sans Arabic', 'ibm-plex-sans-arabic', 'IBMPlexSansArabic', 'upright', /\p{scx=Arabic}/u),
  family('Noto Sans Hebrew', 'noto-sans-hebrew', 'NotoSansHebrew', 'upright', /\p{scx=Hebrew}/u),
  family('Noto Sans Thai', 'noto-sans-thai', 'NotoSansThai', 'upright', /\p{scx=Thai}/u),
  family('Noto Emoji', 'noto-emoji', 'NotoEmoji', 'one', /[\p{Extended_Pictographic}\p{RI}]/u),
  family('Nanum Gothic', 'nanum-gothic', 'NanumGothic', 'upright', /\p{scx=Hangul}/u),
  family(
    'Chocolate Classical Sans',
    'chocolate-classical-sans',
    'ChocolateClassicalSans',
    'one',
    /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{P}\p{S}]/u
  )
]
