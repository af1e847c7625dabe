import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import formatsPlugin from 'ajv-formats'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { isDay } from '#src/lib/time.ts'
import { isImageText } from '#src/services/images/image-text.ts'

/* Options of the Fastify instance, not a plugin: how requests are validated. */

// The package is CommonJS: under Node's ESM its default export hangs one level deeper than its types say.
const addFormats = formatsPlugin.default

/** An Ajv that knows the formats of the API and never drops or changes a field on its own. */
export function createAjv (options: Options): Ajv {
  const ajv = new Ajv({ removeAdditional: false, allErrors: false, strict: true, strictTypes: false, ...options })
  addFormats(ajv, ['date-time', 'email', 'uri'])
  // `byte` is base64 in the words of OpenAPI; only images come in it.
  return ajv.addFormat('byte', isImageText).addFormat('day', isDay)
    .addFormat('day-or-empty', (text) => text === '' || isDay(text))
}

/**
 * Bodies are taken literally: `"1"` is not 1 and null is not "". Path, query and headers are text by nature, so scalars
 * in them are coerced (but a repeated parameter is not made a list).
 */
export function buildValidator (shared: unknown): FastifySchemaCompiler<object> {
  const strict = compiler(shared, { coerceTypes: false, useDefaults: false })
  // Without strictNumbers: coercion makes Infinity of "1e400", and Ajv would take it for settled without asking for the
  // bounds.
  const coercing = compiler(shared, { coerceTypes: true, useDefaults: true, strictNumbers: false })
  return ({ schema, httpPart }) => (httpPart === 'body' ? strict : coercing)(schema)
}

/** Fastify reads the errors off the function that it has called. */
interface Validator { (data: unknown): boolean, errors?: ValidateFunction['errors'] }

/**
 * Compiles schemas to validators that find every fault, in a second look: the first one stops at the first fault, so
 * that a list that is too long is refused before its items are looked at.
 */
function compiler (shared: unknown, options: Options): (schema: object) => Validator {
  const ajv = (allErrors: boolean) => once(() => {
    // Checking the schemas against the meta-schema, which every Ajv compiles for itself, would take long.
    const made = createAjv({ ...options, allErrors, validateSchema: false })
    for (const schema of Object.values(shared as Record<string, object>)) made.addSchema(schema)
    return made
  })
  const brief = ajv(false)
  const thorough = ajv(true)
  return (schema) => {
    const findFirst = brief().compile(schema)
    const findAll = once(() => thorough().compile(schema))
    const validate: Validator = (data) => {
      if (findFirst(data)) return true
      validate.errors = isSmall(data) && !findAll()(data) ? findAll().errors : findFirst.errors
      return false
    }
    return validate
  }
}

/** Of what is larger only the first fault is told: to find all of a body of 1 MiB took 370 ms, of this 4 ms. */
const LOOKED_THROUGH = 131_072
const VALUE_WEIGHT = 8

/** Whether a value is small enough to look for all of its faults: its values, and the characters of its texts. */
function isSmall (data: unknown): boolean {
  let left = LOOKED_THROUGH
  for (const rest = [data]; rest.length > 0;) {
    const value = rest.pop()
    left -= VALUE_WEIGHT
    if (typeof value === 'string') left -= value.length
    if (typeof value === 'object' && value !== null) {
      const inner = Object.values(value)
      if (inner.length * VALUE_WEIGHT > left) return false
      rest.push(...inner)
    }
    if (left < 0) return false
  }
  return true
}

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>
type SerializerFactory = NonNullable<NonNullable<SchemaController['compilersFactory']>['buildSerializer']>

/** Fastify's own serializers. */
export const buildSerializer: SerializerFactory = SerializerSelector()

/**
 * Schemas are compiled when a request needs them. Compiling all of them at the start takes 1.7 times the processor time
 * of a start, the serializers alone 1.3 times, and 1.4 times that of a test file with one application (Node 24.21).
 * A test of the contract compiles each one.
 */
const lazily = {
  buildValidator (shared: unknown): FastifySchemaCompiler<object> {
    const compiler = once(() => buildValidator(shared))
    const meaning = once(() => meaningOf(shared))
    return (route) => {
      const compiled = once(() => shareValidator([route.httpPart === 'body', route.schema, meaning()], () =>
        compiler()(route) as ValidateFunction))
      const validate: Validator = (data) => {
        const valid = compiled()(data)
        validate.errors = compiled().errors
        return valid
      }
      return validate as ReturnType<FastifySchemaCompiler<object>>
    }
  },
  buildSerializer: ((shared, options) => {
    const compiler = once(() => buildSerializer(shared, options))
    const meaning = once(() => meaningOf(shared))
    return (route) => {
      const compiled = once(() => shareSerializer([route.schema, meaning()], () => compiler()(route)))
      return (data) => compiled()(data)
    }
  }) satisfies SerializerFactory
}

const meanings = new Map<string, number>()

/** A number for a set of schemas to which others may refer. Equal sets have the same number. */
function meaningOf (shared: unknown): number {
  const text = JSON.stringify(shared)
  const known = meanings.get(text) ?? meanings.size
  meanings.set(text, known)
  return known
}

/** Equal schemas are compiled once in a process: routes, and the applications of tests, share the result. */
export function sharing<T> (): (said: unknown, compile: () => T) => T {
  const known = new Map<string, T>()
  return (said, compile) => {
    const text = JSON.stringify(said)
    const made = known.get(text) ?? compile()
    known.set(text, made)
    return made
  }
}

const shareValidator = sharing<ValidateFunction>()
const shareSerializer = sharing<(data: unknown) => string>()

function once<T> (make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}

// Fastify's type of the factory is Ajv's own `compile`; what it calls is a schema compiler.
export const schemaController = { compilersFactory: lazily } as SchemaController
