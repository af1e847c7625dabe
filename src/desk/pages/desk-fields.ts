import type { FieldError } from '#schemas/common.ts'
import { html, type Html } from '#src/lib/html.ts'
import { fill } from '#src/identity/index.ts'
import { NOTHING } from './desk-layout.ts'
import type { Frame } from './desk-page.ts'
import type { Attempt, DeskField, Values } from './field-types.ts'
import { CHECKED, textOf } from './form-values.ts'
import { fieldRefusalTexts } from './texts/field-refusal-texts.ts'

/** Name of the button that fills a field with the proposed value. The button's value is `<field>=<value>`. */
export const PUT = 'metti'

/** The language of a page. */
type Words = Pick<Frame, 'language' | 'texts'>

/** The id of a field's input. */
export function fieldId ({ name }: Pick<DeskField, 'name'>, prefix = ''): string {
  return `${prefix}f-${name.replaceAll(/\W+/g, '-')}`
}

/** The fields of a form. Use it alone only for a form that `formFor` cannot make. */
export function fieldsHtml (fields: readonly DeskField[], attempt: Attempt, words: Words, prefix = ''): Html[] {
  // Only a refused form sets the focus. Other pages begin at the top.
  const firstWrong = attempt.refusal && fields.find(({ name }) => attempt.errors?.has(name))
  return fields.map((field) => oneField(field, {
    id: fieldId(field, prefix),
    value: attempt.values[field.name] ?? '',
    error: worded(words, attempt.errors?.get(field.name), field, fields),
    hasFocus: field === firstWrong
  }, words))
}

/** The fields with their values as a table, for a person who may not change them. */
export function fieldTable (fields: readonly DeskField[], values: Values, words: Words): Html {
  const rows = fields.map((field) => html`<tr><th scope="row">${field.label}</th><td>${
    textOf(field, values[field.name], words)}</td></tr>\n`)
  return html`<table><tbody>${rows}</tbody></table>\n`
}

/**
 * A message of the API for a person: in the person's language if the table has it, with the labels of other fields, and
 * without the value, which the field shows.
 */
export function inWords (
  { language }: Pick<Words, 'language'>, messaggio: string, fields: readonly DeskField[]
): string {
  const text = fields
    .reduce((all, { name, label }) => /[_[]/.test(name)
      ? all.replaceAll(name, `«${label}»`)
      // A name that is an Italian word is certainly a name only in this place.
      : all.replace(new RegExp(`(?<=(?:dopo|prima di) )${name}$`), `«${label}»`), messaggio)
    .replace(/ \(ricevuto [^()]*\)$/, '')
  const [pattern, texts] = fieldRefusalTexts.find(([each]) => each.test(text)) ?? []
  if (language === 'it' || pattern === undefined) return text
  return fill(texts![language], pattern.exec(text)?.[1] ?? '')
}

function worded (
  words: Words, error: FieldError | undefined, { message }: DeskField, fields: readonly DeskField[]
): FieldError | undefined {
  return error && { ...error, messaggio: message ?? inWords(words, error.messaggio, fields) }
}

interface Shown { id: string, value: string, error: FieldError | undefined, hasFocus: boolean }

function oneField (field: DeskField, shown: Shown, words: Words): Html {
  const { label, type, isWide = false, isOptional = false, hint, source, after = NOTHING } = field
  const { id, error } = shown
  const classes = ['field', ...isWide ? ['wide'] : [], ...error ? ['bad'] : [], ...type === 'checkbox' ? [type] : []]
  const optional = isOptional ? html` <small>${words.texts.optional}</small>` : NOTHING
  const name = html`<label for="${id}">${label}${optional}</label>`
  const input = inputOf(field, shown, attributesOf(field, shown), words.texts)
  return html`<div class="${classes.join(' ')}">
${type === 'checkbox' ? html`${input}${name}` : html`${name}\n${input}`}${after}
${note('hint', id, hint)}${note('source', id, source)}${
  error === undefined ? NOTHING : errorOf(field, error, id, words)}</div>
`
}

/** A remark below a field. Its class is its kind. */
function note (kind: 'hint' | 'source', id: string, text: string | undefined): Html {
  return text === undefined ? NOTHING : html`<span class="${kind}" id="${id}-${kind}">${text}</span>\n`
}

function attributesOf (field: DeskField, { id, error, hasFocus }: Shown): Html[] {
  const described = (['error', 'hint', 'source'] as const)
    .filter((kind) => (kind === 'error' ? error : field[kind]) !== undefined)
    .map((kind) => `${id}-${kind}`)
  return [
    described.length > 0 ? html` aria-describedby="${described.join(' ')}"` : NOTHING,
    error === undefined ? NOTHING : html` aria-invalid="true"`,
    hasFocus ? html` autofocus` : NOTHING,
    field.isRequired === true ? html` required` : NOTHING,
    field.attributes ?? NOTHING
  ]
}

function errorOf (field: DeskField, { messaggio, proposta }: FieldError, id: string, words: Words): Html {
  const put = proposta === undefined
    ? NOTHING
    : html`<button class="fix" name="${PUT}" value="${field.name}=${proposta}" formnovalidate>${
      fill(words.texts.put, textOf(field, proposta, words))}</button>`
  return html`<span class="error" id="${id}-error">${messaggio}</span>${put}\n`
}

function inputOf (field: DeskField, { id, value }: Shown, attributes: Html[], texts: Words['texts']): Html {
  const { name, type = 'text', options = [], autocomplete = 'off', as } = field
  if (type === 'textarea') {
    return html`<textarea id="${id}" name="${name}" rows="3"${attributes}>\n${value}</textarea>`
  }
  if (type === 'checkbox') {
    return html`<input id="${id}" name="${name}" type="checkbox" value="${CHECKED}"${
      value === CHECKED ? html` checked` : NOTHING}${attributes}>`
  }
  if (type === 'select') {
    const isKnown = value === '' || options.some((option) => option.value === value)
    const all = [
      ...field.isRequired === true && value !== '' ? [] : [{ value: '', label: field.none ?? texts.choose }],
      ...options, ...isKnown ? [] : [{ value, label: value }]
    ]
    return html`<select id="${id}" name="${name}"${attributes}>
${all.map((option) => html`<option value="${option.value}"${
  option.value === value ? html` selected` : NOTHING}>${option.label}</option>\n`)}</select>`
  }
  const mode = as === 'integer' ? html` inputmode="numeric"` : as === 'cents' ? html` inputmode="decimal"` : NOTHING
  return html`<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${
    autocomplete}"${mode}${attributes}>`
}
