import {
  Type,
  type ObjectOptions,
  type SchemaOptions,
  type Static,
  type StringOptions,
  type TObject,
  type TProperties,
  type TSchema
} from '@sinclair/typebox'

/** An object that rejects unknown fields. */
export function Closed<T extends TProperties> (properties: T, options: ObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/** An object with further fields of any type, used only where the contract requires it. */
export function Open<T extends TProperties> (properties: T, options: ObjectOptions = {}) {
  return Type.Object(properties, { ...options, additionalProperties: true })
}

/** `T` or null as a `type` array. A union would be coerced, and fast-json-stringify would try its branches in turn. */
export function Nullable<T extends TSchema> (schema: T) {
  const { type, enum: values, ...rest }: TSchema = schema
  return Type.Unsafe<Static<T> | null>({
    ...rest,
    type: [type, 'null'],
    ...(Array.isArray(values) ? { enum: [...values, null] } : {})
  })
}

/** One of a list of strings. */
export function OneOf<const T extends readonly string[]> (values: T, options: SchemaOptions = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })
}

/** A reference to a shared schema, with its static type. */
export function Ref<T extends TSchema> (schema: T) {
  return Type.Unsafe<Static<T>>({ $ref: `${schema.$id}#` })
}

/** Keyword of fields in which an empty value is an error. */
export const NOT_EMPTY = 'x-non-vuoti'
/** Keyword of codes that are written in upper case. */
export const UPPER = 'x-maiuscole'

/**
 * An optional field in which `""` and null are errors. In other fields they mean that the field is absent. Without this
 * field a request would do more than its sender wants.
 */
export function NotEmpty<T extends TSchema> (schema: T) {
  return { ...schema, [NOT_EMPTY]: true }
}

/** A code that is accepted in any letter case, and used in upper case. The schema describes the upper case. */
export function Upper<T extends TSchema> (schema: T) {
  return { ...schema, [UPPER]: true }
}

/** The field names of an object schema, in order. */
export function fieldNames<T extends TProperties> ({ properties }: TObject<T>): (keyof T & string)[] {
  return Object.keys(properties)
}

/** A row id, within PostgreSQL's `integer`. */
export const Id = Type.Integer({ minimum: 1, maximum: 2_147_483_647, examples: [1] })

/** The id of a booking in a path. */
export const BookingId = Type.Integer({ ...Id, description: 'L’id della prenotazione' })

/** An existing calendar day, `YYYY-MM-DD`. */
export const Day = Type.String({ format: 'day', maxLength: 10, examples: ['2026-11-21'] })

const BIRTH_DATE = {
  maxLength: 10,
  examples: ['1985-04-12'],
  description: 'AAAA-MM-GG, con 00 per il giorno e il mese che il documento non indica'
}
/** A birth date as a document has it. Its day, or its month and day, may be 00. */
export const BirthDate = Type.String({ format: 'birth', ...BIRTH_DATE })
export const BirthDateOrEmpty = Type.String({ format: 'birth-or-empty', ...BIRTH_DATE })

/** An instant, ISO 8601 UTC with a `Z`. */
export const Instant = Type.String({ format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] })

/** An instant in a query. Offsets beyond 14 hours are rejected, and PostgreSQL knows no year 0. */
export const QueryInstant = Type.String({
  ...Instant,
  pattern: '^(?!0000)[0-9-]{10}[Tt][0-9:.]+([Zz]|[+-](0\\d|1[0-4])(:?[0-5]\\d)?)$'
})

/**
 * Text entered by users: bounded, without control characters and lone surrogates, which PostgreSQL and XML cannot
 * store.
 */
export function Text (maxLength: number, options: StringOptions = {}) {
  return Type.String({ maxLength, pattern: '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$', ...options })
}

export const IdParams = Closed({ id: { ...Id, description: 'L’id, come lo dà l’elenco' } })

/** The right value of a field, when the server knows exactly one. */
export const Proposal = Type.String({ description: 'Il valore giusto, se è uno solo: si può scrivere nel campo' })

export const FieldError = Closed({
  campo: Type.String(), messaggio: Type.String(), proposta: Type.Optional(Proposal)
})
export type FieldError = Static<typeof FieldError>

const errorFields = { error: Type.String(), status: Type.Integer(), codice: Type.String(), requestId: Type.String() }

/** An error body with the common fields and its own. The fields of `first` precede `error`. */
export function errorWith<T extends TProperties, F extends TProperties = {}> (
  properties: T,
  options: ObjectOptions,
  first?: F
) {
  return Closed({ ...first!, ...errorFields, ...properties }, options)
}

/** An error body without own fields. */
export const ErrorBody = errorWith(
  { dettagli: Type.Optional(Type.Array(FieldError)) },
  {
    $id: 'Errore',
    examples: [
      {
        error: 'Prenotazione non trovata',
        status: 404,
        codice: 'PRENOTAZIONE_NON_TROVATA',
        requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
      }
    ]
  }
)
export type ErrorBody = Static<typeof ErrorBody>
