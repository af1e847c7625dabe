import { TemplateError } from './errors.ts'
import { checkLimit } from './pdf-limits.ts'

/** The values that a template can read: JSON only, nothing executable. */
export type Value = null | boolean | number | string | Value[] | { [name: string]: Value }
export type Data = Record<string, Value>

/** Control characters except tab, LF and CR, and noncharacters. XML forbids most of them, and none is printed. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\uFFFE\uFFFF]/g
/** Bidirectional control characters, which can reverse or hide the text that follows. */
const BIDI_CONTROLS = /[\u202A-\u202E\u2066-\u2069]/g
const PROTOTYPE_NAMES = ['__proto__', 'constructor', 'prototype']

/**
 * Copies the data as plain values on objects without a prototype. Templates never see functions, getters or classes.
 * @throws TemplateError for data that are not an object, contain something that JSON lacks, or exceed the limits
 */
export function plainData (data: unknown): Data {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw new TemplateError('DATI_NON_VALIDI', 'i dati devono essere un oggetto')
  }
  const count = { values: 0, characters: 0 }
  return copyObject(data, 1, count)
}

/** Removes control characters, replaces lone surrogates, and normalizes to NFC. */
export function cleanText (text: string): string {
  return text.toWellFormed().replace(CONTROLS, '').replace(BIDI_CONTROLS, '').normalize('NFC')
}

interface Count { values: number, characters: number }

function copy (value: unknown, depth: number, count: Count): Value {
  checkLimit('dataDepth', depth)
  checkLimit('dataValues', ++count.values)
  if (typeof value === 'string') {
    count.characters += value.length
    checkLimit('dataCharacters', count.characters)
    return cleanText(value)
  }
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1, count))
  if (typeof value === 'object') return copyObject(value, depth + 1, count)
  throw new TemplateError('DATI_NON_VALIDI', 'i dati contengono qualcosa che non è un valore')
}

function copyObject (object: object, depth: number, count: Count): Data {
  const result: Data = Object.create(null)
  for (const [name, value] of Object.entries(object)) {
    count.characters += name.length
    if (!PROTOTYPE_NAMES.includes(name)) result[name] = copy(value, depth, count)
  }
  return result
}

/** True for an object, but not for null or an array. */
export function isRow (value: Value | undefined): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The value at a path such as `a.b.0.c`. Inherited properties are undefined. A property whose name contains dots, such
 * as a CSV column, takes precedence over the path.
 */
export function valueAt (data: Value, path: string): Value | undefined {
  const whole = ownValue(data, path)
  if (whole !== undefined || !path.includes('.')) return whole
  let value: Value | undefined = data
  for (const step of path.split('.')) value = ownValue(value, step)
  return value
}

/** The value of an object's own property. */
export function ownValue (value: Value | undefined, name: string): Value | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, Value>)[name]
}
