/** Reads the text of an attribute or of a style; undefined when it is not such a value. */
export type Reader<T> = (text: string) => T | undefined

/** Points in one of each unit. A CSS pixel is 1/96 of an inch. */
const POINTS = { pt: 1, px: 0.75, mm: 72 / 25.4, cm: 72 / 2.54, in: 72 }
/** Points: nothing is longer than a large sheet. */
const LENGTH_MAX = 2_000
const LENGTH = /^(\d{1,5}(?:\.\d{1,4})?)(pt|px|mm|cm|in)?$/
const PERCENT = /^(\d{1,3}(?:\.\d{1,4})?)%$/
const HEX = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i
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
  transparent: 'transparent'
}

/** Points; a bare number is points. */
export const length: Reader<number> = (text) => {
  const match = LENGTH.exec(text)
  if (!match) return undefined
  const points = Number(match[1]) * POINTS[(match[2] ?? 'pt') as keyof typeof POINTS]
  return points <= LENGTH_MAX ? points : undefined
}

/** Points, or a share of what holds the element. */
export const lengthOrShare: Reader<number | string> = (text) => {
  const share = PERCENT.exec(text)
  return share ? (Number(share[1]) <= 100 ? `${Number(share[1])}%` : undefined) : length(text)
}

export const color: Reader<string> = (text) => {
  if (HEX.test(text)) return text.toLowerCase()
  const name = text.toLowerCase()
  return Object.hasOwn(COLORS, name) ? COLORS[name as keyof typeof COLORS] : undefined
}

export const text: Reader<string> = (value) => value

/** One of a few words. */
export const oneOf = <const W extends string>(words: readonly W[]): Reader<W> =>
  (value) => words.find((word) => word === value)

/** A number between two bounds, both included. */
export const number = (least: number, most: number): Reader<number> => (value) => {
  if (!/^\d{1,6}(\.\d{1,4})?$/.test(value)) return undefined
  return Number(value) >= least && Number(value) <= most ? Number(value) : undefined
}

/** The way to a value in the data: `mesi.0.righe`. */
export const path: Reader<string> = (value) =>
  /^[\w-]+(\.[\w-]+)*$/u.test(value) && value.length <= 200 ? value : undefined

/** The name of a picture that was handed over with the data. */
export const assetName: Reader<string> = (value) => /^[\w-]{1,64}$/.test(value) ? value : undefined

/** What a reader of the document may be led to; never a script or a file. */
export const link: Reader<string> = (value) => {
  const address = value.trim()
  if (!/^(https:\/\/|mailto:|tel:)[^\s\\]+$/i.test(address) || address.length > 2_000) return undefined
  return URL.canParse(address) ? address : undefined
}
