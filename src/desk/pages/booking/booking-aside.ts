import { BOOKING_STATES } from '#schemas/booking.ts'
import type { Event } from '#schemas/event.ts'
import { html, type Html } from '#src/lib/html.ts'
import { actionForm, formFor } from '../desk-form.ts'
import { buttonLink, NOTHING } from '../desk-layout.ts'
import { fill, instantText, type Desk } from '../desk-page.ts'
import { bookingLogTexts } from '../texts/booking-log-texts.ts'
import { bookingTexts } from '../texts/booking-texts.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import type { BookingData } from './booking-data.ts'

/** Maximum entries of the log. The API lists older events. */
const LOG_MAX = 12

/** The column beside the guests: unit, photos, letter, state and log. */
export function bookingAside (desk: Desk, data: BookingData): Html {
  return html`<aside>
${unitPart(desk, data)}${photoPart(desk, data)}${letterPart(desk, data)}${logPart(desk, data)}${statePart(desk, data)}
</aside>`
}

function unitPart (desk: Desk, { booking, etag, freeUnits }: BookingData): Html {
  if (booking.unita_id !== null || booking.stato !== 'confermata') return NOTHING
  const texts = bookingTexts[desk.language]
  const action = `/prenotazioni/${booking.id}/unita`
  const options = freeUnits.map(({ id, nome }) => ({ value: String(id), label: nome }))
  if (options.length === 0) {
    return html`<h2>${texts.unit}</h2><p class="hint">${texts.noFreeUnit}</p><p>${
      buttonLink(`/calendario?da=${booking.check_in}`, texts.toCalendar)}</p>`
  }
  const form = formFor(desk, {
    action,
    button: texts.assign,
    fields: [{ name: 'unita_id', label: texts.unit, type: 'select', options, isWide: true }],
    attempt: { values: {}, etag },
    isQuiet: true
  })
  return html`<h2>${texts.unit}</h2>${form}${
    actionForm(desk, { action: `${action}/scelta`, button: texts.assignBest })}`
}

function photoPart (desk: Desk, { booking, images }: BookingData): Html {
  const texts = bookingTexts[desk.language]
  const { guestN } = guestTexts[desk.language]
  const links = images.map(({ ospite, lato }) => html`<a href="${imageUrl(booking.id, ospite ?? 0, lato ?? 'front')}">${
    fill(guestN, String((ospite ?? 0) + 1))}, ${texts[lato ?? 'front']}</a>`)
  return html`<h2>${texts.documents}</h2>${links.length === 0
    ? html`<p class="hint">${texts.noDocuments}</p>`
    : html`<div class="thumbs">${links}</div>`}`
}

/** The page with the photo of a document. */
export function imageUrl (booking: number, guest: number, side: string): string {
  return `/prenotazioni/${booking}/ospiti/${guest}/${side}`
}

function letterPart (desk: Desk, { booking: { id }, letter }: BookingData): Html {
  const texts = bookingTexts[desk.language]
  const action = `/prenotazioni/${id}/lettera`
  return html`<h2>${texts.letter}</h2>${letter === null
    ? html`<p class="hint">${texts.noLetter}</p>${actionForm(desk, { action, button: texts.makeLetter })}`
    : html`<p class="actions">${buttonLink(`${action}.pdf`, texts.openLetter)}</p>${
      actionForm(desk, { action, button: texts.remakeLetter, hidden: { rifai: '1' } })}`}`
}

function statePart (desk: Desk, { booking: { id, stato }, etag }: BookingData): Html {
  if (stato !== 'confermata') return NOTHING
  const texts = bookingTexts[desk.language]
  const labels = { annullata: texts.cancel, non_presentato: texts.noShow }
  const forms = BOOKING_STATES.map((state) => state === 'confermata'
    ? NOTHING
    : actionForm(desk, {
      action: `/prenotazioni/${id}/stato`, button: labels[state], hidden: { stato: state }, etag
    }))
  return html`<h2>${texts.status}</h2><div class="actions">${forms}</div>`
}

function logPart (desk: Desk, { events }: BookingData): Html {
  const texts: Readonly<Record<string, string>> = bookingLogTexts[desk.language]
  const wordOf = ({ tipo, dettaglio }: Event) => (
    texts[tipo === 'prenotazione.modificata' && dettaglio !== null ? dettaglio : tipo.replace('.', '_')])
  const shown = events.filter((event) => wordOf(event) !== undefined)
    // Several saves in a row become one entry, the last.
    .filter((event, at, all) => at === 0 || wordOf(event) !== wordOf(all[at - 1]!))
    .slice(0, LOG_MAX)
  if (shown.length === 0) return NOTHING
  return html`<h2>${bookingTexts[desk.language].log}</h2><ol class="log">${shown.map((event) => (
    html`<li><time datetime="${event.quando}">${instantText(desk, event.quando)}</time>${wordOf(event)!}</li>\n`
  ))}</ol>`
}
