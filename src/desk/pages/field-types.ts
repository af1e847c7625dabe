import type { ErrorBody, FieldError } from '#schemas/common.ts'
import type { Html } from '#src/lib/html.ts'

/** The values of a form as texts, by field. An unchecked box is absent. */
export type Values = Readonly<Record<string, string | undefined>>

export interface Option { value: string, label: string }

/** A field of a form. The route of the API validates it, so there are no further rules here. */
export interface DeskField {
  /** The field's name in the JSON of the API, and in its `dettagli`: e.g. `check_in`, `ospiti[0].nome`. */
  name: string
  label: string
  /** `text` by default. */
  type?: 'text' | 'email' | 'tel' | 'date' | 'time' | 'search' | 'password' | 'file' | 'textarea' | 'select' |
    'checkbox'
  /** The options of a `select`, without the empty one that an optional field gets. */
  options?: readonly Option[]
  /** The text of the empty option of a `select`, e.g. `Tutte`. */
  none?: string
  /** The JSON type, when it is not text. `cents` is an amount such as `240,00`. */
  as?: 'integer' | 'cents'
  isRequired?: boolean
  /** Says beside the label that the field may stay empty, in a form where most fields may not. */
  isOptional?: boolean
  /** Spans both columns. */
  isWide?: boolean
  hint?: string
  /** Replaces the API's message if the message would not describe the typed text. */
  message?: string
  /** Says where the value is from, e.g. that it was read from a document. */
  source?: string
  autocomplete?: string
  /** Further attributes, e.g. `hx-get` for a search as the person types. */
  attributes?: Html
  /** Content after the input, e.g. the results of a search. */
  after?: Html
}

/** A field before it has a label in a language, which is enough to read a form. */
export type FieldShape = Omit<DeskField, 'label'>

/** The values to show, and after a refusal the errors. */
export interface Attempt {
  values: Values
  /** The errors by field name. */
  errors?: ReadonlyMap<string, FieldError>
  /** The refusal of the route. */
  refusal?: ErrorBody
  /** The version that the form changes. */
  etag?: string | undefined
  /** After a 412: the values that another person has stored. */
  conflict?: Values
}
