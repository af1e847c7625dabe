import { Type, type TSchema } from '@sinclair/typebox'
import { Closed, Open, OneOf } from '#schemas/common.ts'

/*
 * The subset of OpenAPI 3.1.0 that the description uses (https://spec.openapis.org/oas/v3.1.0, section 4.8). All other
 * fields are errors, even if the specification has them. Schema objects are checked by the meta-schema of JSON Schema
 * 2020-12 instead.
 */
const text = Type.String({ minLength: 1 })
const schema = Open({})
const mapOf = (value: TSchema, keys = '^.+$') =>
  Type.Object({}, { patternProperties: { [keys]: value }, additionalProperties: false })

const media = Type.Intersect([
  Closed({
    schema,
    example: Type.Optional(Type.Unknown()),
    examples: Type.Optional(mapOf(Open({ value: Type.Unknown() })))
  }),
  Type.Not(Type.Object({ example: Type.Unknown(), examples: Type.Unknown() }))
])
const content = mapOf(media, '^([a-z]+/[a-z0-9.+-]+|\\*/\\*)$')

const parameter = Closed({
  name: text,
  in: OneOf(['query', 'header', 'path']),
  required: Type.Optional(Type.Boolean()),
  description: Type.Optional(text),
  schema,
  example: Type.Optional(Type.Unknown())
})

const header = Closed({
  description: text, schema, example: Type.Unknown(), required: Type.Optional(Type.Boolean())
})

const response = Closed({
  description: text,
  content: Type.Optional(content),
  headers: Type.Optional(mapOf(Type.Union([header, Closed({ $ref: text })])))
})

const operation = Closed({
  operationId: Type.String({ pattern: '^[a-z][A-Za-z0-9]+$' }),
  summary: text,
  tags: Type.Array(text, { minItems: 1 }),
  description: text,
  parameters: Type.Optional(Type.Array(parameter)),
  requestBody: Type.Optional(
    Closed({ required: Type.Optional(Type.Boolean()), description: Type.Optional(text), content })
  ),
  security: Type.Array(mapOf(Type.Array(Type.String()))),
  responses: mapOf(Type.Union([response, Closed({ $ref: text })]), '^([1-5]\\d{2}|[1-5]XX|default)$'),
  'x-codici': Type.Optional(mapOf(Type.Array(Type.String({ pattern: '^[A-Z_]+$' }), { minItems: 1 }), '^[45]\\d{2}$'))
})

export const OpenApiShape = Closed({
  openapi: Type.Literal('3.1.0'),
  info: Closed({
    title: text,
    version: text,
    description: text,
    license: Closed({ name: text, identifier: text }),
    contact: Closed({ name: text, url: text })
  }),
  servers: Type.Array(Closed({ url: text, description: text })),
  tags: Type.Array(Closed({ name: text, description: text })),
  components: Closed({
    schemas: mapOf(schema, '^[a-zA-Z0-9._-]+$'),
    responses: mapOf(response, '^[A-Za-z]+[45](\\d{2}|XX)$'),
    headers: mapOf(header, '^[A-Z][A-Za-z-]+$'),
    securitySchemes: mapOf(
      Type.Union([
        Closed({ type: Type.Literal('apiKey'), in: OneOf(['header', 'query']), name: text }),
        Closed({ type: Type.Literal('http'), scheme: text, bearerFormat: Type.Optional(text), description: text })
      ])
    )
  }),
  paths: mapOf(
    Closed(
      Object.fromEntries(['get', 'put', 'post', 'delete', 'patch'].map((method) => [method, Type.Optional(operation)]))
    ),
    '^/'
  )
})

interface Media { schema: object, example?: unknown, examples?: Record<string, { value: unknown }> }
interface Operation {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security?: object[]
  parameters?: {
    name: string
    in: string
    description?: string
    required?: boolean
    schema: object
    example?: unknown
  }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { description: string, content?: Record<string, Media> }>
  'x-codici'?: Record<string, string[]>
}

export interface OpenApi {
  tags: { name: string }[]
  components: { schemas: Record<string, object>, headers: Record<string, object> }
  paths: Record<string, Record<string, Operation>>
}
