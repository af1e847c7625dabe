import fc, { type Arbitrary } from 'fast-check'
import { anyCharacter } from '#test/any-character.ts'
import { hostileText, hostileValue } from '#test/identity/attacks/hostile.ts'
import type { Json, Resolve, SchemaOf } from './document.ts'
import { PICTURES } from './pictures.ts'

/* Generates values from a schema: valid, nearly valid, and hostile ones. */

export const KINDS = ['valid', 'nearly', 'hostile'] as const
export type Kind = typeof KINDS[number]

/** Most integers exceed their minimum by at most this number, so that ids name existing rows. */
const SMALL = 12

/** Generates values that the schema allows. This is approximate, because it does not use every keyword. */
export function fitting (schema: SchemaOf, resolve: Resolve): Arbitrary<Json> {
  if (schema.$ref !== undefined) return fitting(resolve(schema.$ref), resolve)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return fc.oneof(...alternatives.map((each) => fitting(each, resolve)))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const types = [schema.type ?? []].flat()
  const made = types.map((type) => byType(type, schema, resolve))
  if (types.includes('object')) return fc.oneof(...made)
  const examples = schema.examples?.map((value) => fc.constant(value)) ?? []
  return made.length + examples.length === 0 ? hostileValue as Arbitrary<Json> : fc.oneof(...examples, ...made)
}

function byType (type: string, schema: SchemaOf, resolve: Resolve): Arbitrary<Json> {
  const { minimum = 0, maximum = 2 ** 31 - 1, minLength = 0, maxLength = 60, maxItems = 3 } = schema
  switch (type) {
    case 'null': return fc.constant(null)
    case 'boolean': return fc.boolean()
    case 'integer':
      return fc.oneof(
        fc.integer({ min: minimum, max: Math.min(maximum, minimum + SMALL) }), fc.constantFrom(minimum, maximum)
      )
    case 'number': return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'array':
      return fc.array(fitting(schema.items ?? {}, resolve), { minLength: schema.minItems ?? 0, maxLength: maxItems })
    case 'object': return record(schema, resolve)
    default: return text(schema, minLength, maxLength)
  }
}

function record (schema: SchemaOf, resolve: Resolve): Arbitrary<Json> {
  const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => [name, fitting(each, resolve)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: schema.required ?? [] }) as Arbitrary<Json>
}

const day = fc.date({ min: new Date('2026-10-01'), max: new Date('2027-02-01'), noInvalidDate: true })
  .map((instant) => instant.toISOString())

function text ({ format, pattern }: SchemaOf, minLength: number, maxLength: number): Arbitrary<string> {
  if (format === 'date') return day.map((instant) => instant.slice(0, 10))
  if (format === 'date-time') return day
  if (format === 'byte') return fc.constantFrom(...PICTURES)
  if (format === 'email') return fc.stringMatching(/^[a-z]{1,6}@example\.org$/)
  // Lookaheads cannot be generated, so such fields have examples.
  if (pattern !== undefined && !pattern.includes('(?')) return fc.stringMatching(new RegExp(pattern))
  return fc.string({ unit: 'grapheme-composite', minLength, maxLength: Math.min(maxLength, 60) })
}

/** Replacements for a valid value. */
const wrong: Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, '', ' ', [], {}, [[]], '1', 'null'),
  fc.constantFrom('2026-02-30', '0000-01-01', '9999-12-31', '2026-11-22T25:00:00Z', 'a@b', 'x'.repeat(300)),
  hostileText as Arbitrary<Json>,
  hostileValue as Arbitrary<Json>
)

/** Makes one change in a value: removes, adds or replaces a field, or repeats it 40 times. */
export function nearly (value: Arbitrary<Json>): Arbitrary<Json> {
  return fc.tuple(value, fc.nat(), fc.constantFrom('drop', 'add', 'replace', 'replace', 'repeat'), wrong)
    .map(([whole, at, change, other]) => {
      const places = [...placesOf(whole)]
      if (places.length === 0) return other
      const copy = structuredClone(whole)
      const path = places[at % places.length]!
      const parent = path.slice(0, -1).reduce<Json>((inner, key) => (inner as Record<string, Json>)[key]!, copy)
      const key = path.at(-1)!
      const holder = parent as Record<string, Json>
      if (change === 'drop') delete holder[key]
      else if (change === 'add') holder[`${key}_`] = other
      else if (change === 'repeat') holder[key] = Array.from({ length: 40 }, () => holder[key]!)
      else holder[key] = other
      return copy
    })
}

function * placesOf (value: Json, path: string[] = []): Generator<string[]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    yield [...path, key]
    yield * placesOf(inner, [...path, key])
  }
}

const DEEP = 20_000

/** Bodies that are not JSON, and JSON that may break a parser. */
export const hostileBody: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '', 'null', '[]', '"x"', '0', '{', '{"a":1,}', '{"__proto__":{"x":1}}', '{"constructor":{"prototype":{"x":1}}}',
    '{"a":"\\ud800"}', '{"a":1,"a":2}', '\ufeff{}', '{"a":1e999}', '{"a":NaN}', '[1,]', `[${'1,'.repeat(50_000)}1]`,
    '['.repeat(DEEP), '['.repeat(DEEP) + ']'.repeat(DEEP), `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`,
    `{"a":"${'x'.repeat(200_000)}"}`, `{${Array.from({ length: 5000 }, (_, n) => `"k${n}":1`).join()}}`
  ),
  hostileValue.map((value) => JSON.stringify(value) ?? ''),
  fc.string({ unit: anyCharacter, maxLength: 60 })
)

/** Hostile values for path, query and headers. */
export const hostileParameter: Arbitrary<string> = fc.oneof(
  hostileText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 3000)),
  fc.constantFrom('%', '%ff', '%00', '%2f', '%2e%2e', '..', '0', '-1', '1e9', '2147483648', '1'.repeat(400), '+', '%20')
)
