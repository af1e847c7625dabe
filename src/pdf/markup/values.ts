/** Parses an attribute or style value. Undefined when it is invalid. */
export type Reader<T> = (text: string) => T | undefined

/** Points per unit. A CSS pixel is 1/96 of an inch. */
const POINTS = { pt: 1, px: 0.75, mm: 72 / 25.4, cm: 72 / 2.54, in: 72 }
/** Maximum length in points, about a large sheet. */
const LENGTH_MAX = 2_000
const LENGTH = /^(\d{1,5}(?:\.\d{1,4})?)(pt|px|mm|cm|in)?$/
const PERCENT = /^(\d{1,3}(?:\.\d{1,4})?)%$/
const HEX = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i
const RGB = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/i
const COLORS = {
  black: '#000000',
  white: '#ffffff',
  gray: '#6b7280',
  lightgray: '#e5e7eb',
  red: '#b91c1c',
  green: '#15803d',
  blue: '#1d4ed8',
  orange: '#c2410c',
  gold: '#a16207',
  grey: '#6b7280',
  silver: '#c0c0c0',
  navy: '#000080',
  teal: '#008080',
  purple: '#800080',
  maroon: '#800000',
  darkred: '#8b0000',
  darkgreen: '#006400',
  darkblue: '#00008b',
  yellow: '#ffff00',
  transparent: 'transparent'
}

/** A length, converted to points. A number without unit is in points. */
export const length: Reader<number> = (text) => {
  const match = LENGTH.exec(text)
  if (!match) return undefined
  const points = Number(match[1]) * POINTS[(match[2] ?? 'pt') as keyof typeof POINTS]
  return points <= LENGTH_MAX ? points : undefined
}

/** Points, or a percentage of the parent. */
export const lengthOrShare: Reader<number | string> = (text) => {
  const share = PERCENT.exec(text)
  return share ? (Number(share[1]) <= 100 ? `${Number(share[1])}%` : undefined) : length(text)
}

export const color: Reader<string> = (text) => {
  if (HEX.test(text)) return text.toLowerCase()
  const parts = RGB.exec(text)?.slice(1).map(Number)
  if (parts?.every((part) => part <= 255)) return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`
  const name = text.toLowerCase()
  return Object.hasOwn(COLORS, name) ? COLORS[name as keyof typeof COLORS] : undefined
}

export const text: Reader<string> = (value) => value

/** One of the given words. */
export const oneOf = <const W extends string>(words: readonly W[]): Reader<W> =>
  (value) => words.find((word) => word === value)

/** A number between two bounds, both inclusive. */
export const number = (min: number, max: number): Reader<number> => (value) => {
  if (!/^\d{1,6}(\.\d{1,4})?$/.test(value)) return undefined
  return Number(value) >= min && Number(value) <= max ? Number(value) : undefined
}

/** A path in the data: `mesi.0.righe`. */
export const path: Reader<string> = (value) =>
  /^[\w-]+(\.[\w-]+)*$/u.test(value) && value.length <= 200 ? value : undefined

/** The name of an image passed with the data. */
export const assetName: Reader<string> = (value) => /^[\w-]{1,64}$/.test(value) ? value : undefined

/** A link target: https, mailto or tel, never a script or a file. */
export const link: Reader<string> = (value) => {
  const address = value.trim()
  if (!/^(https:\/\/|mailto:|tel:)[^\s\\]+$/i.test(address) || address.length > 2_000) return undefined
  return URL.canParse(address) ? address : undefined
}
