import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/* The service's OpenAPI document, as an external client reads it. */

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** The parts of a schema from which values are generated. */
export interface SchemaOf {
  $ref?: string
  type?: string | string[]
  format?: string
  /** Media type of a file in a form. */
  contentMediaType?: string
  pattern?: string
  const?: Json
  enum?: Json[]
  examples?: Json[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  required?: string[]
  properties?: Record<string, SchemaOf>
  items?: SchemaOf
  anyOf?: SchemaOf[]
  oneOf?: SchemaOf[]
}

export type Resolve = (reference: string) => SchemaOf

interface Media { schema?: SchemaOf, example?: Json, examples?: Record<string, { value: Json }> }

export interface Operation {
  operationId: string
  security?: object[]
  parameters?: { name: string, in: string, required?: boolean, schema: SchemaOf, example?: Json }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, {
    content?: Record<string, Media>
    headers?: Record<string, { $ref?: string, required?: boolean }>
  }>
  /** The operation's own error codes, by status. */
  'x-codici'?: Record<string, string[]>
}

export interface Described {
  method: string
  path: string
  operation: Operation
}

export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { headers: Record<string, { required?: boolean }> }
}

/** Inlines shared responses into every operation. */
export function withResponses<
  Each extends { paths: Record<string, Record<string, { responses: Record<string, object> }>> }
> (document: Each): Each {
  const resolve = resolver(document)
  const whole = structuredClone(document)
  for (const { responses } of Object.values(whole.paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) responses[status] = resolve(String(response.$ref))
    }
  }
  return whole
}

export function operationsOf (document: Document): Described[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })))
}

export function resolver (document: object): Resolve {
  return (reference) => reference.replace(/^#\//, '').split('/').reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown>)[key.replaceAll('~1', '/')], document
  ) as SchemaOf
}

/** Compiles the schema at a path of the document, cached. */
export function validators (document: Document): (...place: string[]) => ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema(document, 'openapi')
  const compiled = new Map<string, ValidateFunction>()
  return (...place) => {
    const pointer = place.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi#/${pointer}` })
    compiled.set(pointer, known)
    return known
  }
}
