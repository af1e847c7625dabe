/** The parts of a JSON Schema that the tests read. */
export interface Schema {
  type?: string | string[]
  format?: string
  enum?: unknown[]
  const?: unknown
  pattern?: string
  maxLength?: number
  maxItems?: number
  contentMediaType?: string
  additionalProperties?: unknown
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  $ref?: string
}

/** Yields a schema and all nested ones with their paths: `ospiti[].nome`. References are resolved. */
export function * walk (
  schema: Schema,
  shared: Record<string, Schema>,
  path = ''
): Generator<[path: string, schema: Schema]> {
  const { $ref } = schema
  if ($ref !== undefined) {
    const target = shared[$ref.replace(/#$/, '')]
    if (target === undefined) throw new Error(`${path}: no schema is called ${$ref}`)
    yield * walk(target, shared, path)
    return
  }
  yield [path, schema]
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield * walk(property, shared, path === '' ? name : `${path}.${name}`)
  }
  if (schema.items) yield * walk(schema.items, shared, `${path}[]`)
  for (const part of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((parts) => parts ?? [])) {
    yield * walk(part, shared, path)
  }
}

/** The first part of a request schema that is open or without limits, as a text. Undefined if all is limited. */
export function openness (schema: Schema): string | undefined {
  // A file in a form has no type. The form has its own limits.
  if (schema.enum || 'const' in schema || schema.contentMediaType !== undefined) return undefined
  return PROBLEMS.find(([, isOpen]) => isOpen(schema, [schema.type ?? []].flat()))?.[0]
}

const PROBLEMS: readonly (readonly [problem: string, isOpen: (schema: Schema, types: string[]) => boolean])[] = [
  ['takes anything', ({ anyOf, oneOf, allOf }, types) => types.length === 0 && !anyOf && !oneOf && !allOf],
  [
    'is an open object',
    ({ additionalProperties }, types) => types.includes('object') && additionalProperties !== false
  ],
  ['is an unbounded list', ({ maxItems }, types) => types.includes('array') && maxItems === undefined],
  [
    'is an unbounded string',
    ({ maxLength, format, pattern }, types) =>
      types.includes('string') && maxLength === undefined && format === undefined && !isBoundedPattern(pattern)
  ]
]

/** Whether a pattern limits the length: it has both anchors, and no unlimited repetition. */
function isBoundedPattern (pattern: string | undefined): boolean {
  if (pattern === undefined || !/^\^[^|]*\$$/.test(pattern)) return false
  return !/[*+]|\{\d+,\}/.test(pattern.replace(/\\.|\[[^\]]*\]/g, '.'))
}
