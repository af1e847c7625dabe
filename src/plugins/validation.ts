import { Ajv, type Options } from 'ajv'
import formatsPlugin from 'ajv-formats'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { isDay } from '#src/lib/time.ts'

/* Options of the Fastify instance, not a plugin: how requests are validated. */

// The package is CommonJS: under Node's ESM its default export hangs one level deeper than its types say.
const addFormats = formatsPlugin.default

/** An Ajv that knows the formats of the API and never drops or changes a field on its own. */
export function createAjv (options: Options): Ajv {
  const ajv = new Ajv({ removeAdditional: false, allErrors: false, strict: true, strictTypes: false, ...options })
  addFormats(ajv, ['date-time', 'email', 'uri'])
  return ajv.addFormat('day', isDay).addFormat('day-or-empty', (text) => text === '' || isDay(text))
}

/**
 * Bodies are taken literally: `"1"` is not 1 and null is not "". Path, query and headers are text by nature, so scalars
 * in them are coerced (but a repeated parameter is not made a list).
 */
function buildValidator (shared: unknown): FastifySchemaCompiler<object> {
  // Checking the schemas against the meta-schema, which every Ajv compiles for itself, would take a fifth of the start.
  const strict = createAjv({ coerceTypes: false, useDefaults: false, validateSchema: false })
  // Without strictNumbers: coercion makes Infinity of "1e400", and Ajv would take it for settled without asking for the
  // bounds.
  const coercing = createAjv({ coerceTypes: true, useDefaults: true, strictNumbers: false, validateSchema: false })
  for (const schema of Object.values(shared as Record<string, object>)) {
    strict.addSchema(schema)
    coercing.addSchema(schema)
  }
  return ({ schema, httpPart }) => (httpPart === 'body' ? strict : coercing).compile(schema)
}

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>

// Fastify's type of the factory is Ajv's own `compile`; what it calls is a schema compiler.
export const schemaController = { compilersFactory: { buildValidator } } as SchemaController
