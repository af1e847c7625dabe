import type { FastifyError, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { FieldError } from '#schemas/common.ts'
import { counted } from '#src/lib/counted.ts'
import { furtherFaults } from './faults.ts'
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
  minItems: ({ limit }) => `deve avere almeno ${counted(Number(limit), 'elemento', 'elementi')}`,
  maxItems: ({ limit }) => `deve avere al massimo ${counted(Number(limit), 'elemento', 'elementi')}`,
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
  byte: NOT_BASE64,
  'date-time': 'deve essere un istante ISO 8601',
  email: 'deve essere un indirizzo e-mail'
}

/** So many fields are named. */
const FIELDS_MAX = 50
/** Characters of a field's name: that of an unknown one is the caller's. */
const NAME_MAX = 200

/**
 * Where each part of a request is. The body comes last: at fault throughout, it must not hide the faults of the others.
 */
const PARTS = { params: 'params', querystring: 'query', headers: 'headers', body: 'body' } as const

type Part = keyof typeof PARTS

/**
 * What is wrong with a request, as `{campo, messaggio}`: one for each field, of all parts, and so many at most. A
 * `campo` inside a list reads `dati[0].nome`, and that of the body as a whole is empty.
 * @param err what Fastify found: it stops at the first part that is at fault
 */
export function fieldErrors (request: FastifyRequest, { validation, validationContext }: FastifyError): FieldError[] {
  const refused = Object.keys(PARTS)
    .flatMap((part) => {
      const errors = part === validationContext ? validation : faultsOf(request, part as Part)
      return errorsOfPart(errors ?? [], part as Part)
    })
  const named = new Set(refused.map(({ campo }) => campo))
  return [...refused, ...furtherFaults(request).filter(({ campo }) => !named.has(campo))].slice(0, FIELDS_MAX)
}

function faultsOf (request: FastifyRequest, part: Part): FastifySchemaValidationError[] | null | undefined {
  const validate = request.getValidationFunction(part)
  // What is not there is null to Fastify, too.
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
