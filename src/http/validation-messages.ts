import type { FastifyError, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { FieldError } from '#schemas/common.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { furtherValidationErrors } from './validation-errors.ts'
import { NOT_BASE64 } from '#src/services/images/image-text.ts'

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
  minItems: ({ limit }) => `deve avere almeno ${countWithNoun(Number(limit), 'elemento', 'elementi')}`,
  maxItems: ({ limit }) => `deve avere al massimo ${countWithNoun(Number(limit), 'elemento', 'elementi')}`,
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
  'birth-or-empty': 'deve essere un giorno del calendario, AAAA-MM-GG: per il giorno o il mese che il documento non ' +
    'indica scrivere 01',
  byte: NOT_BASE64,
  'date-time': 'deve essere un istante ISO 8601',
  email: 'deve essere un indirizzo e-mail'
}

/** Maximum number of fields that an error lists. */
const FIELDS_MAX = 50
/** Maximum length of a field name, because the caller chooses the names of unknown fields. */
const NAME_MAX = 200

/** Request property of each part. The body is last, so that its many errors do not hide those of other parts. */
const PARTS = { params: 'params', querystring: 'query', headers: 'headers', body: 'body' } as const

type Part = keyof typeof PARTS

/**
 * Validation errors of all parts as `{campo, messaggio}`, one for each field, at most `FIELDS_MAX`. A `campo` in a list
 * reads `dati[0].nome`. It is empty for the body as a whole.
 * @param err Fastify's error, which covers only the first invalid part
 */
export function fieldErrors (request: FastifyRequest, { validation, validationContext }: FastifyError): FieldError[] {
  const refused = Object.keys(PARTS)
    .flatMap((part) => {
      const errors = part === validationContext ? validation : faultsOf(request, part as Part)
      return errorsOfPart(errors ?? [], part as Part)
    })
  const named = new Set(refused.map(({ campo }) => campo))
  return [...refused, ...furtherValidationErrors(request).filter(({ campo }) => !named.has(campo))].slice(0, FIELDS_MAX)
}

function faultsOf (request: FastifyRequest, part: Part): FastifySchemaValidationError[] | null | undefined {
  const validate = request.getValidationFunction(part)
  // Fastify also validates a missing part as null.
  return validate?.(request[PARTS[part]] ?? null) === false ? validate.errors : undefined
}

function errorsOfPart (errors: readonly FastifySchemaValidationError[], part: Part): FieldError[] {
  const found = new Map<string, string>()
  for (const error of errors) {
    if (found.size === FIELDS_MAX) break
    const campo = fieldName(error) || (part === 'body' ? '' : part)
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
