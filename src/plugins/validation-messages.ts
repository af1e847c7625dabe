import type { FastifySchemaValidationError } from 'fastify'
import type { FieldError } from '#schemas/common.ts'

type Params = Record<string, unknown>

/** JSON Schema keywords in Italian. */
const MESSAGES: Readonly<Record<string, (params: Params) => string>> = {
  required: () => 'è obbligatorio',
  additionalProperties: () => 'non è un campo previsto',
  type: ({ type }) =>
    `deve essere di tipo ${([] as unknown[])
      .concat(type)
      .map((name) => TYPES[String(name)] ?? String(name))
      .join(' o ')}`,
  enum: ({ allowedValues }) =>
    `deve essere uno fra ${(Array.isArray(allowedValues) ? allowedValues : [])
      .map((value) => (value === '' ? '(vuoto)' : String(value)))
      .join(', ')}`,
  const: ({ allowedValue }) => `deve essere ${String(allowedValue)}`,
  minimum: ({ limit }) => `deve essere almeno ${String(limit)}`,
  exclusiveMinimum: ({ limit }) => `deve essere più di ${String(limit)}`,
  maximum: ({ limit }) => `deve essere al massimo ${String(limit)}`,
  minLength: ({ limit }) => (limit === 1 ? 'non può essere vuoto' : `deve avere almeno ${String(limit)} caratteri`),
  maxLength: ({ limit }) => `deve avere al massimo ${String(limit)} caratteri`,
  minItems: ({ limit }) => `deve avere almeno ${String(limit)} elementi`,
  maxItems: ({ limit }) => `deve avere al massimo ${String(limit)} elementi`,
  pattern: () => 'contiene caratteri non ammessi o ha un formato non valido',
  format: ({ format }) => FORMATS[String(format)] ?? 'ha un formato non valido'
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'stringa',
  number: 'numero',
  integer: 'numero intero',
  boolean: 'booleano',
  object: 'oggetto',
  array: 'elenco',
  null: 'null'
}

const FORMATS: Readonly<Record<string, string>> = {
  day: 'deve essere un giorno del calendario, AAAA-MM-GG',
  'day-or-empty': 'deve essere un giorno del calendario, AAAA-MM-GG',
  'date-time': 'deve essere un istante ISO 8601',
  email: 'deve essere un indirizzo e-mail'
}

/** Validation errors as `{campo, messaggio}`; a `campo` inside a list reads `dati[0].nome`. */
export function fieldErrors (errors: readonly FastifySchemaValidationError[], context = 'body'): FieldError[] {
  return errors.map(({ keyword, params, instancePath }) => {
    const property =
      keyword === 'required'
        ? params.missingProperty
        : keyword === 'additionalProperties'
          ? params.additionalProperty
          : undefined
    const path = instancePath.split('/').slice(1).concat(property === undefined ? [] : [String(property)])
    const campo = path.map((part, at) => /^\d+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`).join('')
    return { campo: campo || context, messaggio: MESSAGES[keyword]?.(params) ?? 'non è valido' }
  })
}
