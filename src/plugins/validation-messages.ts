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

/** So many fields are named. */
const FIELDS_MAX = 50
/** Characters of a field's name: that of an unknown one is the caller's. */
const NAME_MAX = 200

/**
 * Validation errors as `{campo, messaggio}`, one for each field and so many at most; a `campo` inside a list reads
 * `dati[0].nome`, and that of the body as a whole is empty.
 */
export function fieldErrors (errors: readonly FastifySchemaValidationError[], context = 'body'): FieldError[] {
  const found = new Map<string, string>()
  for (const error of errors) {
    if (found.size === FIELDS_MAX) break
    const campo = fieldName(error) || (context === 'body' ? '' : context)
    if (!found.has(campo)) found.set(campo, MESSAGES[error.keyword]?.(error.params) ?? 'non è valido')
  }
  return [...found].map(([campo, messaggio]) => ({ campo, messaggio }))
}

function fieldName ({ keyword, params, instancePath }: FastifySchemaValidationError): string {
  const property =
    keyword === 'required'
      ? params.missingProperty
      : keyword === 'additionalProperties'
        ? params.additionalProperty
        : undefined
  const path = instancePath.split('/').slice(1).concat(property === undefined ? [] : [String(property)])
  const name = path.map((part, at) => /^\d+$/.test(part) ? `[${part}]` : at === 0 ? part : `.${part}`).join('')
  return name.length > NAME_MAX ? `${name.slice(0, NAME_MAX)}…` : name
}
