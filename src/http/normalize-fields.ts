import { NOT_EMPTY, UPPER } from '#schemas/common.ts'

/** The parts of a request schema that this file reads. */
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  anyOf?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  minLength?: number
  pattern?: string
  format?: string
  default?: unknown
  $ref?: string
  [NOT_EMPTY]?: boolean
  [UPPER]?: boolean
}

/** Matches a text that is empty or has only spaces. Control characters do not match, so the schema rejects them. */
const BLANK = /^\p{Zs}*$/u

/** Changes an object or list in place. */
type Normalize = (value: unknown) => void
type Shared = Readonly<Record<string, object>>
/** `absent` drops an empty value, `null` sets null, `rejected` turns blanks into `''`, `text` null into `''`. */
type Emptied = 'absent' | 'null' | 'rejected' | 'text'

type Canonical = (value: unknown) => unknown

interface Field {
  name: string
  emptied: Emptied | undefined
  canonical: Canonical | undefined
  inner: Normalize | undefined
}

/**
 * Compiles a function from a route's schema. It removes empty values (`""`, blanks, null) of optional fields, or sets
 * them to null where the schema allows null. The schema rejects empty values of fields marked `NotEmpty`. It converts
 * fields marked `Upper` to upper case, and enumerations to the spelling of the schema.
 * @param shared referenced schemas by id
 * @returns undefined when the schema has no such field
 */
export function compileNormalizer (schema: object, shared: Shared): Normalize | undefined {
  const { properties, required = [], items } = resolve(schema, shared)
  if (items !== undefined) return normalizeItems(resolve(items, shared), shared)
  const fields = Object.entries(properties ?? {})
    .map(([name, each]) => fieldOf(name, resolve(each, shared), { isRequired: required.includes(name), shared }))
    .filter(({ emptied, canonical, inner }) => emptied !== undefined || canonical !== undefined || inner !== undefined)
  if (fields.length === 0) return undefined
  return (value) => {
    if (!isObject(value)) return
    for (const field of fields) normalizeField(value, field)
  }
}

function normalizeItems (schema: Schema, shared: Shared): Normalize | undefined {
  const inner = compileNormalizer(schema, shared)
  const canonical = canonicalOf(schema)
  if (inner === undefined && canonical === undefined) return undefined
  return (list) => {
    if (!Array.isArray(list)) return
    if (canonical !== undefined) for (const [at, each] of list.entries()) list[at] = canonical(each)
    else for (const each of list) inner!(each)
  }
}

function fieldOf (
  name: string, schema: Schema, { isRequired, shared }: { isRequired: boolean, shared: Shared }
): Field {
  const inner = compileNormalizer(schema, shared)
  return { name, emptied: emptiedOf(schema, isRequired), canonical: canonicalOf(schema), inner }
}

/** Returns a function that writes a code as the schema spells it. Undefined if the schema has no codes. */
function canonicalOf (schema: Schema): Canonical | undefined {
  if (schema[UPPER] === true) return inUpperCase
  const values = (schema.enum ?? []).filter((each) => typeof each === 'string')
  const byKey = new Map(values.map((each) => [each.toLowerCase(), each]))
  if (values.length === 0 || byKey.size < values.length) return undefined
  return (value) => typeof value === 'string' ? byKey.get(trimmed(value).toLowerCase()) ?? value : value
}

function emptiedOf (schema: Schema, isRequired: boolean): Emptied | undefined {
  const { type, anyOf, minLength = 0, default: usual } = schema
  const types = [type ?? []].flat()
  if (schema[NOT_EMPTY] === true || (types.length === 0 && anyOf === undefined)) return undefined
  if (types.includes('null')) return 'null'
  if (!isRequired || usual !== undefined) return 'absent'
  if (!types.includes('string')) return undefined
  return minLength > 0 ? 'rejected' : allowsEmpty(schema) ? 'text' : undefined
}

/** Whether a required text may be empty. If so, null means the empty text. */
function allowsEmpty ({ enum: values = [''], pattern = '', format = '-or-empty' }: Schema): boolean {
  return values.includes('') && format.endsWith('-or-empty') && new RegExp(pattern, 'u').test('')
}

function normalizeField (holder: Record<string, unknown>, { name, emptied, canonical, inner }: Field): void {
  const value = holder[name]
  if (value === undefined) return
  if (emptied !== undefined && isEmpty(value)) {
    if (emptied === 'absent') delete holder[name]
    else if (emptied === 'null') holder[name] = null
    else if ((value === null) === (emptied === 'text')) holder[name] = ''
    return
  }
  if (canonical !== undefined) holder[name] = canonical(value)
  inner?.(value)
}

function resolve (schema: Schema, shared: Shared): Schema {
  return schema.$ref === undefined ? schema : shared[schema.$ref.replace(/#$/, '')] ?? {}
}

function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty (value: unknown): boolean {
  return value === null || (typeof value === 'string' && BLANK.test(value))
}

function inUpperCase (value: unknown): unknown {
  return typeof value === 'string' ? trimmed(value).toUpperCase() : value
}

/** Drops the spaces around a code. Leaves a code with a control character unchanged, so that the schema rejects it. */
function trimmed (text: string): string {
  return /\p{Cc}/u.test(text) ? text : text.trim()
}
