import sharp from 'sharp'
import { LAYOUTS, type Layout } from '#src/scanning/mrz/layouts.ts'
import { writeZone } from '../write-zone.ts'
import { addDays } from '#src/lib/time.ts'
import { CLEAN, generator, photograph, type Shot } from './render.ts'

/* Images of fictitious documents with three levels of damage and four orientations, the same in every run. */

export const LEVELS = ['clean', 'by hand', 'hard'] as const
export type Level = (typeof LEVELS)[number]

export interface Case { level: Level, quarters: number, layout: Layout, lines: string[], shot: Shot }

const SURNAMES = ['ROSSI', 'DE SANTIS', 'MUELLER', 'OYELARAN', 'KOWALSKA', 'LI', 'VAN DEN BERG', 'NGUYEN', 'IBRAHIMI']
const NAMES = ['MARIA', 'GIAN LUCA', 'ANNA', 'JEAN BAPTISTE', 'OLA', 'YU', 'FRANCESCO SAVERIO', 'KATARZYNA', 'ZOE']
const STATES = ['ITA', 'FRA', 'D', 'POL', 'ESP', 'GBR', 'USA', 'CHN', 'NLD', 'ROU', 'UKR', 'BRA']
const CHARACTER_SET = 'ABCDEFGHJKLMNPRSTUVWXYZ0123456789'
const CODES: Partial<Record<Layout['name'], string>> = { 'MRV-A': 'V', 'MRV-B': 'V', TD1: 'I', FRA: 'ID', TD2: 'I' }
/** Characters of a passport's line, and their size in pixels. Lines of all layouts get about the same width. */
const CHARACTERS = 44
const SIZE = 46

/** Makes cases for all layouts, levels and orientations. */
export function cases (count: number, seed = 1): Case[] {
  return Array.from({ length: count }, (_, n) => {
    const random = generator(seed * 100_003 + n)
    const layout = LAYOUTS[n % LAYOUTS.length]!
    const level = LEVELS[Math.floor(n / LAYOUTS.length) % LEVELS.length]!
    const quarters = Math.floor(n / (LAYOUTS.length * LEVELS.length)) % 4
    const lines = zone(layout, random)
    return { level, quarters, layout, lines, shot: shotOf(level, SIZE * CHARACTERS / layout.length, n, random) }
  })
}

/** The image of a case, as JPEG. */
export async function pictureOf (
  { lines, shot, quarters }: Pick<Case, 'lines' | 'shot' | 'quarters'>
): Promise<Buffer> {
  const upright = await photograph(lines, shot)
  return quarters === 0 ? upright : await sharp(upright).rotate(90 * quarters).jpeg({ quality: 95 }).toBuffer()
}

function zone (layout: Layout, random: () => number): string[] {
  const pick = <T>(list: ArrayLike<T>) => list[Math.floor(random() * list.length)]!
  const text = (length: number) => Array.from({ length }, () => pick(CHARACTER_SET)).join('')
  const state = layout.nationality ?? pick(STATES)
  return writeZone(layout, {
    code: CODES[layout.name] ?? 'P',
    issuer: state,
    surname: pick(SURNAMES),
    given: pick(NAMES),
    number: text(layout.name === 'FRA' ? 12 : 9),
    nationality: state,
    birth: addDays('1935-01-01', Math.floor(random() * 30_000)),
    sex: pick(['M', 'F'] as const),
    expiry: addDays('2024-01-01', Math.floor(random() * 4000)),
    optional: random() < 0.3 ? text(5) : '',
    further: ''
  })
}

function shotOf (level: Level, size: number, seed: number, random: () => number): Shot {
  const between = (min: number, max: number) => min + random() * (max - min)
  const whole = (min: number, max: number) => Math.round(between(min, max))
  if (level === 'clean') return { ...CLEAN, size: Math.round(size), seed }
  if (level === 'by hand') {
    return {
      size: whole(0.75 * size, size),
      angle: between(-7, 7),
      blur: between(0.3, 1),
      noise: between(2, 10),
      seed,
      ink: whole(10, 60),
      card: whole(180, 240),
      quality: whole(60, 90)
    }
  }
  return {
    size: whole(0.4 * size, 0.6 * size),
    angle: between(-12, 12),
    blur: between(0.8, 1.8),
    noise: between(8, 20),
    seed,
    ink: whole(40, 95),
    card: whole(140, 195),
    quality: whole(30, 55)
  }
}
