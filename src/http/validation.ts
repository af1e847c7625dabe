import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import formatsPlugin from 'ajv-formats'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { NOT_EMPTY, UPPER } from '#schemas/common.ts'
import { isBirthDate, isDay } from '#src/lib/time.ts'
import { compileNormalizer } from './normalize-fields.ts'
import { isBase64Text } from '#src/services/images/image-text.ts'

/* Request validation. Options of the Fastify instance, not a plugin. */

// The package is CommonJS, so under Node's ESM its default export is one level deeper than in its types.
const addFormats = formatsPlugin.default

const isDayOrEmpty = (text: string) => text === '' || isDay(text)
const isBirthOrEmpty = (text: string) => text === '' || isBirthDate(text)

/** Creates an Ajv with the formats of the API. It never drops unknown fields. */
export function createAjv (options: Options): Ajv {
  const ajv = new Ajv({ removeAdditional: false, allErrors: false, strict: true, strictTypes: false, ...options })
  for (const keyword of [NOT_EMPTY, UPPER]) ajv.addKeyword(keyword)
  addFormats(ajv, ['date-time', 'email', 'uri'])
  // OpenAPI calls base64 `byte`. Only images have this format.
  return ajv.addFormat('byte', isBase64Text).addFormat('day', isDay).addFormat('day-or-empty', isDayOrEmpty)
    .addFormat('birth', isBirthDate).addFormat('birth-or-empty', isBirthOrEmpty)
}

/**
 * Bodies are validated without coercion: `"1"` is not 1 and null is not "". Path, query and headers are always text, so
 * their scalars are coerced, but a repeated parameter does not become a list. Scalars in bodies of the identity and
 * storage protocols are coerced too, because clients rely on it.
 */
export function buildValidator (shared: unknown): FastifySchemaCompiler<object> {
  const strict = compiler(shared, { coerceTypes: false, useDefaults: false })
  // Coercion turns "1e400" into Infinity, for which Ajv with strictNumbers would skip minimum and maximum.
  const coercing = compiler(shared, { coerceTypes: true, useDefaults: true, strictNumbers: false })
  return (route) => (isLiteral(route) ? strict : coercing)(route.schema)
}

type RoutePart = Parameters<FastifySchemaCompiler<object>>[0]

const PROTOCOLS = /^\/(?:auth|storage)\/v1\//

function isLiteral ({ url = '', httpPart }: RoutePart): boolean {
  return httpPart === 'body' && !PROTOCOLS.test(url)
}

/** Fastify reads the errors from the validator function. */
interface Validator { (data: unknown): boolean, errors?: ValidateFunction['errors'] }

/**
 * Compiles schemas to validators with two passes. The first pass stops at the first error, so that a list that is too
 * long is rejected before its items are validated. The second pass reports every error.
 */
function compiler (shared: unknown, options: Options): (schema: object) => Validator {
  const ajv = (allErrors: boolean) => once(() => {
    // Validating the schemas themselves is slow, because every Ajv compiles the meta-schema.
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

/** Maximum size for the second pass. Finding all errors took 370 ms for 1 MiB, and 4 ms for this size. */
const SECOND_PASS_MAX = 131_072
const VALUE_WEIGHT = 8

/** Whether a value is small enough for the second pass, by its number of values and the length of its strings. */
function isSmall (data: unknown): boolean {
  let left = SECOND_PASS_MAX
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

export const buildSerializer: SerializerFactory = SerializerSelector()

/**
 * Compiles schemas on first use. Compiling all of them multiplies the processor time of a start by 1.7, and of a test
 * file with one application by 1.4 (Node 24.21). A contract test compiles each schema.
 */
const lazily = {
  buildValidator (shared: unknown): FastifySchemaCompiler<object> {
    const compiler = once(() => buildValidator(shared))
    const setNumber = once(() => setNumberOf(shared))
    return (route) => {
      const compiled = once(() => shareValidator([isLiteral(route), route.schema, setNumber()], () =>
        compiler()(route) as ValidateFunction))
      const normalize = once(() => isNormalized(route) ? compileNormalizer(route.schema, shared as Shared) : undefined)
      const validate: Validator = (data) => {
        normalize()?.(data)
        const valid = compiled()(data)
        validate.errors = compiled().errors
        return valid
      }
      return validate as ReturnType<FastifySchemaCompiler<object>>
    }
  },
  buildSerializer: ((shared, options) => {
    const compiler = once(() => buildSerializer(shared, options))
    const setNumber = once(() => setNumberOf(shared))
    return (route) => {
      const compiled = once(() => shareSerializer([route.schema, setNumber()], () => compiler()(route)))
      return (data) => compiled()(data)
    }
  }) satisfies SerializerFactory
}

type Shared = Record<string, object>

/** Empty values and letter case have no meaning in this API, unlike in the identity and storage protocols. */
function isNormalized ({ url, httpPart }: RoutePart): boolean {
  return url?.startsWith('/api/') === true && httpPart !== 'headers'
}

const setNumbers = new Map<string, number>()

/** Returns a number that is the same for equal sets of referenced schemas. */
function setNumberOf (shared: unknown): number {
  const text = JSON.stringify(shared)
  const known = setNumbers.get(text) ?? setNumbers.size
  setNumbers.set(text, known)
  return known
}

/** Compiles equal schemas once per process. Routes, and the applications of tests, share the result. */
export function sharing<T> (): (source: unknown, compile: () => T) => T {
  const known = new Map<string, T>()
  return (source, compile) => {
    const text = JSON.stringify(source)
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

// Fastify declares the factory as Ajv's `compile`, but calls it as a schema compiler.
export const schemaController = { compilersFactory: lazily } as SchemaController
