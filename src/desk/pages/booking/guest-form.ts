import type { FieldError } from '#schemas/common.ts'
import { html, type Html } from '#src/lib/html.ts'
import { formFor } from '../desk-form.ts'
import { buttonLink, chip, NOTHING } from '../desk-layout.ts'
import { fill, type Desk } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { scanTexts } from '../texts/scan-texts.ts'
import { OPEN_STATES, SENT_STATES, type BookingData } from './booking-data.ts'
import type { CodeNames } from './code-names.ts'
import {
  COPY, guestFieldName, guestFields, isEmptyGuest, namedValues, ownDayFields, stateList
} from './guest-fields.ts'

interface GuestFormParts {
  codes: CodeNames
  attempt: Attempt
  /** The remarks on the saved guests, by field. */
  errors: ReadonlyMap<string, FieldError>
}

/**
 * The guests as cards in the order of the police, in one form. The first card whose guest needs something is open.
 * After a refusal all cards with errors are open.
 */
export function guestForm (desk: Desk, data: BookingData, parts: GuestFormParts): Html {
  const { codes } = parts
  const { booking, guests, registration } = data
  const texts = guestTexts[desk.language]
  const values = namedValues(parts.attempt.values, codes)
  const conflict = parts.attempt.conflict && namedValues(parts.attempt.conflict, codes)
  const attempt = { ...parts.attempt, values, ...conflict && { conflict } }
  const isConfirming = registration?.stato === 'da_confermare'
  const isDone = registration !== undefined && [...SENT_STATES, ...OPEN_STATES].includes(registration.stato)
  const count = Math.max(booking.numero_ospiti, guests.length)
  const cards = Array.from({ length: count }, (_, at) =>
    [...guestFields(desk, codes, at, attempt), ...ownDayFields(desk, at)])
  const prefixes = cards.map((_, at) => guestFieldName(at, ''))
  const faultsOf = (at: number) =>
    [...attempt.errors?.keys() ?? []].filter((name) => name.startsWith(prefixes[at]!)).length
  const needs = (at: number) => faultsOf(at) > 0 || (guests[at] === undefined && !isDone)
  const firstNeed = cards.findIndex((_, at) => needs(at))
  const arrange = (shown: readonly Html[]) => html`${cards.map((fields, at) => {
    const start = cards.slice(0, at).reduce((sum, each) => sum + each.length, 0)
    const isOpen = at === firstNeed || (attempt.refusal !== undefined && faultsOf(at) > 0)
    return card(desk, data, {
      at, isOpen, faults: faultsOf(at), isConfirming, isDone, values, fields: shown.slice(start, start + fields.length)
    })
  })}${stateList(codes)}`
  return formFor(desk, {
    action: `/prenotazioni/${booking.id}/ospiti`,
    back: `/prenotazioni/${booking.id}`,
    button: texts.saveGuests,
    fields: cards.flat(),
    attempt,
    arrange,
    isQuiet: firstNeed < 0
  })
}

interface CardParts {
  at: number
  isOpen: boolean
  faults: number
  isConfirming: boolean
  isDone: boolean
  values: Attempt['values']
  fields: readonly Html[]
}

function card (desk: Desk, { booking, guests }: BookingData, parts: CardParts): Html {
  const { at, isOpen, fields, values } = parts
  const texts = guestTexts[desk.language]
  const valueOf = (field: string) => values[guestFieldName(at, field)] ?? ''
  const name = `${valueOf('nome')} ${valueOf('cognome')}`.trim()
  const title = name === '' ? fill(texts.guestN, String(at + 1)) : name
  const type = valueOf('tipo_alloggiato') as '16' | ''
  const role = type === '' ? NOTHING : chip(texts[`type${type}`])
  const hasOwnDays = ['arrivo', 'partenza'].some((field) => valueOf(field) !== '')
  const copy = at === 0 || guests[0] === undefined
    ? NOTHING
    : html`<button name="${COPY}" value="${at}">${texts.copyFirst}</button>`
  const scan = `/scansione/${booking.id}/${at}`
  return html`<details class="guest" id="ospite-${at + 1}"${isOpen ? html` open` : NOTHING}>
<summary><b>${at + 1}</b><h3${name === '' ? html` class="empty"` : NOTHING}>${title}</h3>${role}${
  state(desk, parts, isEmptyGuest(guests[at]))}</summary>
<div class="fields">
${fields.slice(0, -2)}</div>
<details${hasOwnDays ? html` open` : NOTHING}><summary>${texts.ownDays}</summary>
<div class="fields">
${fields.slice(-2)}</div>
</details>
<div class="actions">${buttonLink(scan, texts.scan, { about: title })}${
  buttonLink(`${scan}/telefono`, scanTexts[desk.language].usePhone, { about: title })}${copy}</div>
</details>
`
}

function state (desk: Desk, { faults, isConfirming, isDone }: CardParts, isEmpty: boolean): Html {
  const texts = guestTexts[desk.language]
  if (faults > 0 && isConfirming) return chip(texts.toConfirm, 'need')
  if (faults === 1) return chip(texts.missingOne, 'need')
  if (faults > 1) return chip(fill(texts.missingMany, String(faults)), 'need')
  if (isEmpty) return isDone ? NOTHING : chip(texts.toEnter, 'need')
  return chip(texts.complete, 'ok')
}
