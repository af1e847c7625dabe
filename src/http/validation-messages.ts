import type { FastifyError, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { FieldError } from '#schemas/common.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { sexOf } from '#src/lib/sex-words.ts'
import { readDay } from '#src/lib/time.ts'
import { furtherValidationErrors } from './validation-errors.ts'
import { dayWords, formatWords, patternWords, receivedOfType, withReceived } from './schema-words.ts'

type ValidationFunction = NonNullable<ReturnType<FastifyRequest['getValidationFunction']>>
interface Params { [name: string]: unknown, campo: string, value: unknown }

/** A message without an adjective, because Italian adjectives depend on the gender of the field's name. */
const HAS_VALUE = 'deve avere un valore'

/** The Italian message of each JSON Schema keyword. */
const MESSAGES: Readonly<Record<string, (params: Params) => string>> = {
  required: () => 'è un campo obbligatorio',
  additionalProperties: () => 'non è un campo previsto',
  type: ({ type, campo, value }) => {
    if (value === null) return HAS_VALUE
    const types = [type].flat().filter((name) => name !== 'null').map((name) => TYPES[String(name)] ?? String(name))
    return `deve essere ${types.join(' o ')}${receivedOfType(campo, value)}`
  },
  enum: ({ allowedValues, campo, value }) => {
    const allowed = (Array.isArray(allowedValues) ? allowedValues : []).filter((each) => each !== '' && each !== null)
    return withReceived(`deve essere uno fra ${allowed.join(', ')}`, campo, value)
  },
  const: ({ allowedValue }) => `deve essere ${String(allowedValue)}`,
  minimum: ({ limit, campo, value }) => `deve essere almeno ${String(limit)}${receivedOfType(campo, value)}`,
  exclusiveMinimum: ({ limit, campo, value }) => `deve essere più di ${String(limit)}${receivedOfType(campo, value)}`,
  maximum: ({ limit, campo, value }) => `deve essere al massimo ${String(limit)}${receivedOfType(campo, value)}`,
  minLength: ({ limit }) => (limit === 1 ? HAS_VALUE : `deve avere almeno ${String(limit)} caratteri`),
  maxLength: ({ limit }) => `deve avere al massimo ${String(limit)} caratteri`,
  minItems: ({ limit }) => `deve avere almeno ${countWithNoun(Number(limit), 'elemento', 'elementi')}`,
  maxItems: ({ limit }) => `deve avere al massimo ${countWithNoun(Number(limit), 'elemento', 'elementi')}`,
  pattern: ({ pattern, campo, value }) => describe(patternWords(String(pattern)), campo, value),
  format: ({ format, campo, value }) =>
    describe((DAYS.includes(String(format)) ? dayWords(value) : undefined) ?? formatWords(String(format)), campo, value)
}

const DAYS = ['day', 'day-or-empty', 'birth', 'birth-or-empty']

/** Proposes the right value for a day in another notation, or for a word that names a sex. */
function proposalFor ({ keyword, params }: FastifySchemaValidationError, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (DAYS.includes(String(params.format))) return readDay(value)
  return keyword === 'enum' && ['M', 'F'].every((sex) => (params.allowedValues as unknown[]).includes(sex))
    ? sexOf(value)
    : undefined
}

function describe (words: { words: string, isCode?: boolean } | undefined, campo: string, value: unknown): string {
  if (words === undefined) return 'non è valido'
  return words.isCode === true ? withReceived(words.words, campo, value) : words.words
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'un testo',
  number: 'un numero',
  integer: 'un numero intero',
  boolean: 'true o false',
  object: 'un oggetto',
  array: 'un elenco'
}

/** Maximum number of fields that an error lists. */
const FIELDS_MAX = 50
/** Maximum length of a field name in an error, because a client chooses the names of unknown fields. */
const NAME_MAX = 200

/** Request property of each part. The body is last, because its many errors could hide those of other parts. */
const PARTS = { params: 'params', querystring: 'query', headers: 'headers', body: 'body' } as const

type Part = keyof typeof PARTS

/**
 * Validation errors of all parts of a request as `{campo, messaggio}`, one for each field, at most `FIELDS_MAX`. For a
 * field in a list, `campo` has the form `dati[0].nome`. For the whole body it is empty.
 * @param error Fastify's error, which covers only the first invalid part
 */
export function fieldErrors (request: FastifyRequest, { validation, validationContext }: FastifyError): FieldError[] {
  const refused = Object.keys(PARTS)
    .flatMap((part) => {
      const errors = part === validationContext ? validation : validationErrorsOf(request, part as Part)
      return errorsOfPart(errors ?? [], part as Part, request[PARTS[part as Part]])
    })
  const named = new Set(refused.map(({ campo }) => campo))
  // A body that is not an object has no fields to check.
  const further = named.has('') ? [] : furtherValidationErrors(request).filter(({ campo }) => !named.has(campo))
  return [...refused, ...further].slice(0, FIELDS_MAX)
}

function validationErrorsOf (request: FastifyRequest, part: Part): FastifySchemaValidationError[] | null | undefined {
  const found: ValidationFunction | Readonly<Record<string, ValidationFunction>> | undefined =
    request.getValidationFunction(part)
  // A body of several media types has a schema for each.
  const validate = typeof found === 'object' ? found[mediaTypeOf(request)] : found
  // Fastify also validates a missing part as null.
  return validate?.(request[PARTS[part]] ?? null) === false ? validate.errors : undefined
}

function mediaTypeOf ({ headers }: FastifyRequest): string {
  return (headers['content-type'] ?? '').split(/[ ;]/, 1)[0]!.toLowerCase()
}

/** Keywords whose error is left out when the format also rejects the value. */
const VAGUE = ['maxLength']

/** Validation errors of a value that is not part of a request, one for each field. */
export function errorsOfValue (errors: readonly FastifySchemaValidationError[], value: unknown): FieldError[] {
  return errorsOfPart(errors, 'body', value)
}

function errorsOfPart (errors: readonly FastifySchemaValidationError[], part: Part, data: unknown): FieldError[] {
  const found = new Map<string, FieldError>()
  const formatted = new Set(errors.filter(({ keyword }) => keyword === 'format').map(fieldName))
  for (const error of errors) {
    if (found.size === FIELDS_MAX) break
    const campo = fieldName(error) || (part === 'body' ? '' : part)
    if (found.has(campo) || (VAGUE.includes(error.keyword) && formatted.has(campo))) continue
    const value = valueAt(data, error.instancePath)
    const messaggio = MESSAGES[error.keyword]?.({ ...error.params, campo, value }) ?? 'non è valido'
    const proposta = proposalFor(error, value)
    found.set(campo, { campo, messaggio, ...proposta !== undefined && { proposta } })
  }
  return [...found.values()]
}

/** The value at the path of an error. */
function valueAt (data: unknown, path: string): unknown {
  return path.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], data)
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
