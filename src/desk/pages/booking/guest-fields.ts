import { hash } from 'node:crypto'
import type { FieldError } from '#schemas/common.ts'
import { GUEST_TYPES, WITHOUT_DOCUMENT } from '#schemas/guest-types.ts'
import { GuestFields } from '#schemas/guest.ts'
import { DOCUMENT_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import type { SavedGuest } from '#src/bookings/index.ts'
import { html } from '#src/lib/html.ts'
import { fieldId } from '../desk-fields.ts'
import type { Desk } from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape, Values } from '../field-types.ts'
import type { Payload } from '../form-values.ts'
import { isMissing } from '../missing-words.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { plainMessage, type CodeNames } from './code-names.ts'

/** The name of the button that copies a family's fields from the first guest. Its value is the guest's place. */
export const COPY = 'copia'

const COPIED = ['cognome', 'cittadinanza', 'stato_nascita', 'arrivo', 'partenza'] as const
const PERSON = [
  'cognome', 'nome', 'sesso', 'data_nascita', 'stato_nascita', 'comune_nascita', 'provincia_nascita', 'cittadinanza'
] as const
const OWN_DAYS = ['arrivo', 'partenza'] as const
const DAYS: readonly string[] = ['data_nascita', ...OWN_DAYS]

type GuestField = keyof typeof guestTexts['it'] & (typeof GuestFields)[number]

/** The name of a guest’s field in the form, which is also its name in an error of the API. */
export function guestFieldName (guest: number, field: string): string {
  return `dati[${guest}].${field}`
}

/** Whether a guest has no value. Such guests at the end of the list are not saved. */
export function isEmptyGuest (guest: object | undefined): boolean {
  return Object.values(guest ?? {}).every((value) => value === undefined || value === null || value === '')
}

/** The stored fields of a guest as texts. */
function storedFields (guest: SavedGuest | undefined): Record<string, string> {
  if (guest === undefined) return {}
  return Object.fromEntries(GuestFields.map((name) => [name, guest[name] ?? '']))
}

/** Changes when the guests change, which detects a form with outdated guests. */
export function guestsTag (guests: readonly SavedGuest[]): string {
  return `"${hash('sha256', JSON.stringify(guests.map(storedFields))).slice(0, 16)}"`
}

/** The values of a form with all guests. */
export function guestValues (guests: readonly SavedGuest[]): Values {
  return Object.fromEntries(guests.flatMap((guest, at) =>
    Object.entries(storedFields(guest)).map(([name, value]) => [guestFieldName(at, name), value])))
}

/** The fields that a form has sent. */
export function sentFields (values: Values): FieldShape[] {
  return Object.keys(values).flatMap((name) => {
    const [, field = ''] = /^dati\[\d{1,3}\]\.(\w+)$/.exec(name) ?? []
    return GuestFields.some((each) => each === field) ? [{ name }] : []
  })
}

/**
 * The list of guests to save: the saved ones, with the fields that a form has sent. Empty guests at the end are left
 * out.
 * @param copyTo the place of a guest whose empty fields are copied from the first one
 */
export function mergedGuests (saved: readonly SavedGuest[], payload: Payload, copyTo?: string): Payload[] {
  const sent = (payload.dati ?? []) as (Record<string, string> | undefined)[]
  const guests = Array.from({ length: Math.max(saved.length, sent.length) }, (_, at): Record<string, string> => {
    const before = storedFields(saved[at])
    const change = sent[at] ?? {}
    // The province belongs to the comune.
    const isMoved = change.comune_nascita !== undefined && change.comune_nascita !== before.comune_nascita
    return { ...before, ...isMoved && { provincia_nascita: '' }, ...change }
  })
  const [first] = guests
  const copy = copyTo === undefined ? undefined : guests[Number(copyTo)]
  if (copy && first) for (const name of COPIED) copy[name] ||= first[name] ?? ''
  while (guests.length > 0 && isEmptyGuest(guests.at(-1))) guests.pop()
  return guests
}

/**
 * The remarks of the police rules by field of the form. The errors of empty guests are left out. Messages of the rules
 * are Italian. In other languages the desk replaces the message about a missing value.
 */
export function guestErrors (
  { language }: Pick<Desk, 'language'>, remarks: readonly Segnalazione[], saved: number, codes: CodeNames
): Map<string, FieldError> {
  const found = remarks.filter(({ ospite, campo }) => ospite < saved && GuestFields.some((each) => each === campo))
  return new Map(found.map((remark) => {
    const { ospite, campo, proposta } = remark
    const name = guestFieldName(ospite, campo)
    const messaggio = language !== 'it' && isMissing(remark)
      ? guestTexts[language].required
      : plainMessage(remark.messaggio, codes)
    return [name, { campo: name, messaggio, ...proposta !== undefined && { proposta } }]
  }))
}

/** The source of a value, by the name of the guest's field. */
export type Sources = ReadonlyMap<string, 'read' | 'proposed' | 'toComplete'>

/** The fields of one guest. Codes are shown as names. */
export function guestFields (
  desk: Desk, codes: CodeNames, at: number, attempt: Attempt, sources: Sources = new Map()
): DeskField[] {
  const { values, errors } = attempt
  const valueOf = (field: string) => values[guestFieldName(at, field)] ?? ''
  const isWrong = (field: string) => errors?.has(guestFieldName(at, field)) ?? false
  const needs = (field: string) => isWrong(field) || (field !== 'provincia_nascita' && valueOf(field) !== '')
  const type = valueOf('tipo_alloggiato') || (at === 0 ? '' : WITHOUT_DOCUMENT[0]!)
  const needsDocument = !WITHOUT_DOCUMENT.includes(type)
  const documents: readonly string[] = needsDocument ? DOCUMENT_FIELDS : DOCUMENT_FIELDS.filter(needs)
  const shown = [...PERSON, ...documents, 'tipo_alloggiato'] as GuestField[]
  // The rules know the province from the comune, so it is shown only with an error.
  return shown.filter((field) => field !== 'provincia_nascita' || needs(field)).map((field) => {
    const source = sources.get(field)
    const { options, ...rest } = fieldOf(desk, codes, field, at)
    const { proposta } = errors?.get(guestFieldName(at, field)) ?? {}
    // The button with the proposal shows its name.
    const proposed = proposta === undefined || rest.type === 'select'
      ? []
      : [{ value: proposta, label: codes.nameOf(proposta) }]
    // A document may lack the day and the month of a birth, which a date input cannot show.
    const isDay = DAYS.includes(field) && !valueOf(field).includes('-00')
    return {
      ...rest,
      ...isDay && { type: 'date' as const },
      ...!needsDocument && documents.includes(field) && { isOptional: !isWrong(field) },
      options: [...options ?? [], ...proposed],
      ...source === 'toComplete' && isWrong(field) && { hint: guestTexts[desk.language][source] },
      ...source !== undefined && source !== 'toComplete' && { source: guestTexts[desk.language][source] }
    }
  })
}

/** The days of a guest who does not stay all nights of the booking. */
export function ownDayFields ({ language }: Desk, at: number): DeskField[] {
  const texts = guestTexts[language]
  return OWN_DAYS.map((field) => ({
    name: guestFieldName(at, field), label: texts[field], type: 'date', isOptional: true
  }))
}

function fieldOf (desk: Desk, codes: CodeNames, field: GuestField, at: number): DeskField {
  const texts = guestTexts[desk.language]
  const name = guestFieldName(at, field)
  const base = { name, label: texts[field] }
  if (field === 'tipo_alloggiato') {
    const options = GUEST_TYPES.map(({ codice }) => ({ value: codice, label: texts[`type${codice}`] }))
    return { ...base, type: 'select', options, hint: texts.typeHint, isOptional: true }
  }
  if (field === 'sesso') {
    return { ...base, type: 'select', options: [{ value: 'F', label: texts.sexF }, { value: 'M', label: texts.sexM }] }
  }
  if (field === 'tipo_documento') return { ...base, type: 'select', options: codes.documents }
  if (field === 'stato_nascita' || field === 'cittadinanza') {
    return { ...base, options: codes.states, attributes: html` list="${STATES}"` }
  }
  if (field === 'comune_nascita') return place(base, texts.comuneHint)
  if (field === 'luogo_rilascio') return place(base, texts.issueHint)
  return field === 'numero_documento'
    ? { ...base, attributes: html` autocapitalize="characters" spellcheck="false"` }
    : base
}

const STATES = 'stati'

/** A field for a place, which htmx searches while the person types. `withCodes` replaces a typed name with its code. */
function place ({ name, label }: DeskField, hint: string): DeskField {
  const list = `${fieldId({ name })}-elenco`
  return {
    name,
    label,
    hint,
    attributes: html` list="${list}" hx-get="/prenotazioni/luoghi" hx-trigger="input changed delay:200ms" hx-target="#${
      list}"`,
    after: html`<datalist id="${list}"></datalist>`
  }
}

/** The list of the states, which all fields of a page share. */
export function stateList ({ states }: CodeNames) {
  return html`<datalist id="${STATES}">${states.map(({ label }) => html`<option value="${label}"></option>`)}</datalist>
`
}

/** The values as a form shows them: names instead of codes in the fields that are typed. */
export function namedValues (values: Values, { nameOf }: CodeNames): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => (
    [name, value === undefined || name.endsWith('.tipo_documento') ? value : nameOf(value)])))
}
