import type { FastifyReply } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { buttonLink, NOTHING, showDesk } from '../desk-layout.ts'
import { dayText, fill, type Desk } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { nightCount } from '../missing-words.ts'
import { bookingTexts } from '../texts/booking-texts.ts'
import { SENT_STATES, type BookingData } from './booking-data.ts'
import { bookingAside } from './booking-aside.ts'
import { codeNames } from './code-names.ts'
import { guestErrors, guestsTag, guestValues } from './guest-fields.ts'
import { guestForm } from './guest-form.ts'
import { policePanel } from './police-panel.ts'
import type { PoliceResult } from './police-result.ts'

/** The result of a form on the page: refused guests, a result of the police, or another refusal. */
export interface Given {
  guests?: Attempt
  police?: PoliceResult
  /** A message about a refusal of another form. */
  message?: Html
  status?: number
}

/** The page of a booking. */
export async function showBooking (desk: Desk, data: BookingData, given: Given = {}): Promise<FastifyReply> {
  const { booking, guests, registration } = data
  // After a successful test all remarks are warnings. The panel lists them, and the fields show no errors.
  const refused = given.police?.passed === undefined ? given.police?.remarks : undefined
  const remarks = [...registration?.errors ?? [], ...refused ?? []]
  const stored = guestValues(guests)
  const typed = given.guests?.values ?? stored
  const proposals = remarks.map(({ proposta }) => proposta)
  const codes = await codeNames(desk, [...Object.values(stored), ...Object.values(typed), ...proposals])
  const errors = guestErrors(desk, remarks, guests.length, codes)
  const attempt = given.guests ?? { values: typed, errors, etag: guestsTag(guests) }
  const content = html`${steps(desk, data, given, errors.keys())}${given.message ?? NOTHING}
<div class="two">
<div>
${policePanel(desk, data, { codes, errors, result: given.police })}
<h2>${bookingTexts[desk.language].guests}</h2>
${guestForm(desk, data, { codes, attempt, errors })}
</div>
${bookingAside(desk, data)}
</div>
`
  return showDesk(desk, {
    title: booking.nome_cognome,
    actions: html`<span class="meta">${meta(desk, data)}</span>${
      buttonLink(`/prenotazioni/${booking.id}/modifica`, bookingTexts[desk.language].edit)}`,
    isFaulty: (given.status ?? 200) >= 400,
    ...given.status !== undefined && { status: given.status },
    content
  })
}

function meta (desk: Desk, { booking, unit }: BookingData): string {
  const texts = bookingTexts[desk.language]
  const { check_in, check_out, numero_notti: nights, canale, idf_gen } = booking
  const parts = [
    `${dayText(desk, check_in)} – ${dayText(desk, check_out)}`,
    nightCount(desk, nights), unit ?? texts.noUnit, canale, idf_gen
  ]
  return parts.filter((part) => part !== null && part !== '').join(' · ')
}

const DOCUMENT = /\.(?:tipo_documento|numero_documento|luogo_rilascio)$/

/** The steps of the registration with the police, from the data to the receipt. */
function steps (desk: Desk, data: BookingData, { police }: Given, faults: Iterable<string>): Html {
  const { booking, guests, registration, isReceived } = data
  if (registration === undefined) return NOTHING
  const texts = bookingTexts[desk.language]
  const wrong = [...faults]
  const isSent = SENT_STATES.includes(registration.stato)
  const isFull = guests.length >= booking.numero_ospiti
  const all: [string, boolean][] = [
    [texts.stepData, true],
    [fill(texts.stepGuests, `${guests.length}/${booking.numero_ospiti}`),
      isSent || (isFull && wrong.every((name) => DOCUMENT.test(name)))],
    [texts.stepIdentity, isSent || (isFull && !wrong.some((name) => DOCUMENT.test(name)))],
    [texts.stepTest, isSent || police?.passed !== undefined],
    [texts.stepSent, isSent],
    [texts.stepReceipt, isReceived]
  ]
  const here = all.findIndex(([, isDone]) => !isDone)
  const items = all.map(([name, isDone], at) => isDone
    ? html`<li class="ok">${name}<span class="sr"> ${texts.stepDone}</span></li>`
    : at === here
      ? html`<li${isSent ? NOTHING : html` class="here"`} aria-current="step">${name}</li>`
      : html`<li>${name}</li>`)
  return html`<ol class="steps" aria-label="${texts.steps}">${items}</ol>\n`
}
