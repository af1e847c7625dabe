import { createRequire } from 'node:module'

const { resolve } = createRequire(import.meta.url)

export type Weight = 400 | 600 | 700
interface FontFile { weight: Weight, italic: boolean, path: string }

/** A font family, and the characters for which it may be a fallback. */
export interface Family { name: string, script?: RegExp, files: FontFile[] }

type Kinds = 'all' | 'upright' | 'one'

/** Upright and italic, three weights each. Missing files are repeated, because the renderer throws without them. */
function family (name: string, folder: string, stem: string, kinds: Kinds, script?: RegExp): Family {
  const styles = { 400: '400Regular', 600: kinds === 'all' ? '600SemiBold' : '700Bold', 700: '700Bold' }
  const files = ([400, 600, 700] as const).flatMap((weight) => [false, true].map((italic): FontFile => {
    const upright = kinds === 'one' ? styles[400] : styles[weight]
    const style = italic && kinds === 'all' ? `${upright}_Italic` : upright
    return { weight, italic, path: resolve(`@expo-google-fonts/${folder}/${style}/${stem}_${style}.ttf`) }
  }))
  return { name, files, ...(script ? { script } : {}) }
}

/** Contains Latin with Vietnamese, Greek, Cyrillic and Devanagari. */
export const SANS = family('Noto Sans', 'noto-sans', 'NotoSans', 'all')
/** The font of letters. Contains Latin with Vietnamese, and Cyrillic. `SANS` provides other scripts. */
export const SERIF = family('Lora', 'lora', 'Lora', 'all')

/** Has a separate glyph for each sequence of emoji. */
export const EMOJI = family('Noto Emoji', 'noto-emoji', 'NotoEmoji', 'one', /[\p{Extended_Pictographic}\p{RI}]/u)

/**
 * Each file is opened only for a character that its `script` matches. Arabic is IBM's, because the renderer misplaces
 * the dots of Noto's letters. Chinese and Japanese share one file with all 20,992 unified ideographs, an eighth of
 * Noto's size.
 */
export const FALLBACKS: readonly Family[] = [
  family('IBM Plex Sans Arabic', 'ibm-plex-sans-arabic', 'IBMPlexSansArabic', 'upright', /\p{scx=Arabic}/u),
  family('Noto Sans Hebrew', 'noto-sans-hebrew', 'NotoSansHebrew', 'upright', /\p{scx=Hebrew}/u),
  family('Noto Sans Thai', 'noto-sans-thai', 'NotoSansThai', 'upright', /\p{scx=Thai}/u),
  EMOJI,
  family('Nanum Gothic', 'nanum-gothic', 'NanumGothic', 'upright', /\p{scx=Hangul}/u),
  family(
    'Chocolate Classical Sans',
    'chocolate-classical-sans',
    'ChocolateClassicalSans',
    'one',
    /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{P}\p{S}]/u
  )
]
