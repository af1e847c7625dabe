import type { FieldError } from '#schemas/common.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { html, type Html } from '#src/lib/html.ts'
import { actionForm, formFor } from '../desk-form.ts'
import { alarm, buttonLink, faultCode, notice, NOTHING, refusalText } from '../desk-layout.ts'
import { fill, instantText, type Desk } from '../desk-page.ts'
import { missingWords } from '../missing-words.ts'
import { bookingTexts } from '../texts/booking-texts.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { OPEN_STATES, SENT_STATES, stayRemarks, type BookingData } from './booking-data.ts'
import { plainMessage, type CodeNames } from './code-names.ts'
import { hasOthersLeft, isConfirmable, type PoliceResult } from './police-result.ts'

/** Maximum sentences about missing details. The fields show all of them. */
const WORDS = 5

interface PanelParts {
  codes: CodeNames
  errors: ReadonlyMap<string, FieldError>
  result: PoliceResult | undefined
}

/** The state of the booking with the police, and the next step: check, send, confirm or wait. */
export function policePanel (desk: Desk, data: BookingData, parts: PanelParts): Html {
  const { booking, registration } = data
  const texts = bookingTexts[desk.language]
  if (booking.stato !== 'confermata') {
    const { id, stato } = booking
    const restore = actionForm(desk, {
      action: `/prenotazioni/${id}/stato`, button: texts.restore, hidden: { stato: 'confermata' }, etag: data.etag
    })
    return html`<div class="panel"><p>${texts[stato]}</p>${restore}</div>\n`
  }
  if (registration === undefined) return NOTHING
  const { result } = parts
  if (result?.passed) return passed(desk, data, parts, result.passed.dettagli.schedine_inviate)
  return html`<div class="panel">${result?.refusal ? refused(desk, data, parts, result) : NOTHING}${
    nextStep(desk, data, parts)}</div>\n`
}

/** The hidden field that limits a Send to the guests who are not sent yet. */
function partHidden ({ registration }: BookingData): Record<string, string> {
  return registration?.stato === 'parziale' ? { mancanti: '1' } : {}
}

function passed (desk: Desk, data: BookingData, { codes, result }: PanelParts, guests: number): Html {
  const texts = bookingTexts[desk.language]
  const remarks = result?.remarks ?? []
  const send = actionForm(desk, {
    action: `/prenotazioni/${data.booking.id}/invio`,
    button: guests === 1 ? texts.sendOne : fill(texts.sendMany, String(guests)),
    hidden: partHidden(data),
    isMain: true
  })
  const list = remarks.length === 0
    ? NOTHING
    : html`<p>${texts.toCheck}:</p>${remarkList(desk, remarks, codes)}`
  return html`<div class="panel">${notice(texts.testPassed)}${list}<div class="foot">${send}<span>${
    texts.noUndo}</span></div></div>\n`
}

function refused (desk: Desk, data: BookingData, { codes }: PanelParts, result: PoliceResult): Html {
  const texts = bookingTexts[desk.language]
  const { refusal, remarks, fields } = result
  const action = `/prenotazioni/${data.booking.id}/invio`
  const others = hasOthersLeft(result)
    ? actionForm(desk, { action, button: texts.sendMissing, hidden: { mancanti: '1' } })
    : NOTHING
  const confirm = isConfirmable(result)
    ? formFor(desk, {
      action,
      button: texts.sendAnyway,
      fields: [{ name: 'motivo', label: texts.reason, isRequired: true, isWide: true }],
      attempt: { values: {}, errors: new Map(fields.map((each) => [each.campo, each])) },
      hidden: { conferma: '1', ...partHidden(data) },
      isQuiet: true
    })
    : NOTHING
  return html`${alarm(plainMessage(refusalText(desk, refusal!), codes))}${remarkList(desk, remarks, codes)}${
    faultCode(desk, refusal!)}${others}${confirm}`
}

function remarkList (desk: Desk, remarks: readonly Segnalazione[], codes: CodeNames): Html {
  if (remarks.length === 0) return NOTHING
  const { guestN } = guestTexts[desk.language]
  return html`<ul>${remarks.map(({ ospite, messaggio }) =>
    html`<li>${fill(guestN, String(ospite + 1))}: ${plainMessage(messaggio, codes)}</li>`)}</ul>\n`
}

function nextStep (desk: Desk, data: BookingData, { errors, codes, result }: PanelParts): Html {
  const texts = bookingTexts[desk.language]
  const { registration, booking: { id, numero_ospiti: places }, guests, isReceived } = data
  const { stato } = registration!
  if (SENT_STATES.includes(stato)) return html`<p>${isReceived ? texts.received : texts.gia_inviata}</p>`
  if (OPEN_STATES.includes(stato)) return openOutcome(desk, stato === 'sconosciuta')
  // To confirm other people, a person sends this booking alone, with a reason.
  const missing = stato === 'da_confermare' ? 0 : errors.size + Math.max(0, places - guests.length)
  const stay = stayRemarks(data)
  const state = stato === 'pronta' || stato === 'incompleta' ? NOTHING : html`<p>${texts[stato as 'parziale']}</p>`
  const button = missing > 0
    ? NOTHING
    : actionForm(desk, {
      action: `/prenotazioni/${id}/prova`,
      button: result?.refusal ? texts.again : texts.check,
      hidden: partHidden(data),
      isMain: stay.length === 0
    })
  const sentence = missing === 0 && stato === 'pronta' ? texts.allReady : ''
  const words = missing === 0
    ? []
    : missingWords(desk, { isIncomplete: true, guests: places, errors: registration!.errors }).slice(0, WORDS)
  const remarks = missing > 0 ? [] : stay.map(({ messaggio }) => plainMessage(messaggio, codes))
  return html`${state}${[...words.map(capitalized), ...remarks].map((each) => html`<p>${each}</p>`)}<div class="foot">${
    button}<span>${sentence} ${deadlineText(desk, data)}</span></div>`
}

function openOutcome (desk: Desk, isUnknown: boolean): Html {
  const texts = bookingTexts[desk.language]
  return html`${isUnknown ? alarm(texts.sconosciuta) : html`<p>${texts.in_corso}</p>`}<p>${
    buttonLink('/polizia', texts.toPolice)}</p>`
}

function capitalized (text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function deadlineText (desk: Desk, { deadline, isLate }: BookingData): string {
  const texts = bookingTexts[desk.language]
  return fill(isLate ? texts.late : texts.until, instantText(desk, deadline.toISOString()))
}
