import type { FastifyReply } from 'fastify'
import type { Booking, BookingDetail } from '#schemas/booking.ts'
import type { PhotoData, PhotoField } from '#schemas/photo.ts'
import type { Side } from '#schemas/storage.ts'
import type { TodayBooking } from '#schemas/today.ts'
import type { SavedGuest } from '#src/bookings/index.ts'
import { html, type Html } from '#src/lib/html.ts'
import { bookingPage, bookingRows, type BookingRow } from '../booking-rows.ts'
import { formFor, formSecrets } from '../desk-form.ts'
import { alarm, buttonLink, chip, emptyState, faultCode, notice, NOTHING, showDesk } from '../desk-layout.ts'
import { dayText, fill, type Desk, type Frame } from '../desk-page.ts'
import { guestCount } from '../missing-words.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { scanTexts } from '../texts/scan-texts.ts'
import { imageUrl } from './booking-aside.ts'
import { codeNames, plainMessage } from './code-names.ts'
import {
  guestErrors, guestFields, guestsTag, guestValues, namedValues, stateList, type Sources
} from './guest-fields.ts'

const SCAN = '/scansione'

/** The guest whose document is photographed. `at` is the place in the booking. */
export interface ScanPlace { booking: BookingDetail, guests: readonly SavedGuest[], at: number }

interface Choice { q: string, bookings: readonly (Booking | TodayBooking)[] }

/** The page that asks whose document it is. */
export function showChoice (desk: Desk, { q, bookings }: Choice): FastifyReply {
  const texts = scanTexts[desk.language]
  const isSearch = q.trim() !== ''
  const rows = bookings.map((booking): BookingRow => {
    const { id, nome_cognome: name, check_in, check_out, numero_ospiti: guests } = booking
    const unit = 'unita' in booking ? booking.unita?.nome : undefined
    return {
      first: unit ?? '–',
      name,
      about: [`${dayText(desk, check_in)} – ${dayText(desk, check_out)}`],
      href: bookingPage(id),
      chips: [chip(guestCount(desk, guests))],
      next: { word: texts.scan, href: `${SCAN}/${id}/0` }
    }
  })
  const empty = emptyState(
    isSearch ? texts.notFound : texts.noArrivals, buttonLink('/prenotazioni/nuova', desk.texts.newBooking)
  )
  return showDesk(desk, {
    title: texts.title,
    content: html`<form class="find" method="get" action="${SCAN}"><div class="field"><label for="f-q">${
      texts.find}</label><input id="f-q" name="q" type="search" value="${q}" autocomplete="off"></div><button>${
      texts.findButton}</button></form>
<h2>${isSearch ? texts.found : texts.arrivals}</h2>
${rows.length === 0 ? empty : html`<p class="hint">${texts.choose}</p>${bookingRows(rows)}`}`
  })
}

interface UploadState { message?: string, side?: Side, status?: number, requestId?: string }

/** The page that takes or chooses a photo for a guest. */
export function showUpload (desk: Desk, place: ScanPlace, state: UploadState = {}): FastifyReply {
  const texts = scanTexts[desk.language]
  const { booking: { id, nome_cognome }, at } = place
  const { message, side = 'front', status, requestId } = state
  const code = requestId === undefined || status === undefined ? NOTHING : faultCode(desk, { status, requestId })
  const content = html`${message === undefined ? NOTHING : html`${alarm(message)}${code}`}${guestLinks(desk, place)}
${photoForm(desk, { action: `${SCAN}/${id}/${at}`, side, secrets: formSecrets(desk) })}`
  return showDesk(desk, {
    title: texts.title,
    actions: html`<span class="meta">${nome_cognome}</span>${
      buttonLink(`${SCAN}/${id}/${at}/telefono`, texts.usePhone)}${buttonLink(`/prenotazioni/${id}`, texts.back)}`,
    isFaulty: message !== undefined,
    ...status !== undefined && { status },
    content
  })
}

interface PhotoForm { action: string, side: Side, secrets?: readonly Html[] }

/** The form for a photo, with the camera of a phone. */
export function photoForm ({ language }: Frame, { action, side, secrets = [] }: PhotoForm): Html {
  const texts = scanTexts[language]
  const box = (value: Side, label: string) => html`<label class="radio"><input type="radio" name="lato" value="${
    value}"${value === side ? html` checked` : NOTHING}>${label}</label>`
  return html`<form class="form" enctype="multipart/form-data" method="post" action="${action}">
${secrets}<div class="fields">
<div class="field wide"><label for="f-file">${texts.photo}</label><input id="f-file" name="file" type="file" accept="${
  'image/*,application/pdf'}" capture="environment" aria-describedby="f-file-hint">
<span class="hint" id="f-file-hint">${texts.photoHint}</span></div>
<img class="preview wide" alt="${texts.preview}" hidden>
<fieldset><legend>${texts.side}</legend>${box('front', texts.front)}${box('back', texts.reverse)}</fieldset>
</div>
<div class="actions"><button class="primary">${texts.read}</button><button name="solo" value="1">${
  texts.only}</button></div>
</form>
`
}

/** The guests of the booking, up to the first free place. */
function guestLinks (desk: Desk, { booking, guests, at }: ScanPlace): Html {
  const { guestN } = guestTexts[desk.language]
  const count = Math.max(Math.min(booking.numero_ospiti, guests.length + 1), at + 1)
  const links = Array.from({ length: count }, (_, place) => {
    const { nome = '', cognome = '' } = guests[place] ?? {}
    const name = `${nome} ${cognome}`.trim()
    return html`<a href="${SCAN}/${booking.id}/${place}"${place === at ? html` aria-current="page"` : NOTHING}>${
      place + 1}. ${name === '' ? fill(guestN, String(place + 1)) : name}</a>`
  })
  return html`<nav class="days" aria-label="${scanTexts[desk.language].whichGuest}">${links}</nav>`
}

/** The fields that were read, beside the photo, to check and save. */
export async function showRead (
  desk: Desk, { booking, guests, at }: ScanPlace, { photo, side }: { photo: PhotoData, side: Side }
): Promise<FastifyReply> {
  const texts = scanTexts[desk.language]
  const { errors, warnings, avvisi, letti, proposti, da_completare: open, valid } = photo
  const values = guestValues(guests)
  const remarks = errors.map((each) => ({ ...each, ospite: at }))
  const codes = await codeNames(desk, [...Object.values(values), ...remarks.map(({ proposta }) => proposta)])
  const attempt = {
    values: namedValues(values, codes),
    errors: guestErrors(desk, remarks, guests.length, codes),
    etag: guestsTag(guests)
  }
  const sources: Sources = new Map([
    ...mapped(open, 'toComplete' as const), ...mapped(letti, 'read' as const), ...mapped(proposti, 'proposed' as const)
  ])
  const notes = [...avvisi, ...warnings].map(({ messaggio }) => html`<li>${plainMessage(messaggio, codes)}</li>`)
  const { id } = booking
  const form = formFor(desk, {
    action: `/prenotazioni/${id}/ospiti`,
    button: texts.save,
    fields: guestFields(desk, codes, at, attempt, sources),
    attempt
  })
  const hasNext = at + 1 < booking.numero_ospiti
  return showDesk(desk, {
    title: texts.checkData,
    actions: html`<span class="meta">${booking.nome_cognome}</span>${
      hasNext ? buttonLink(`${SCAN}/${id}/${at + 1}`, texts.nextGuest) : NOTHING}${
      buttonLink(`/prenotazioni/${id}`, texts.back)}`,
    content: html`${valid === true ? notice(texts.valid) : alarm(texts.doubtful)}${
      notes.length === 0 ? NOTHING : html`<ul>${notes}</ul>`}
<div class="two"><div>${form}${stateList(codes)}</div><aside><img class="preview" src="${
  imageUrl(id, at, side)}" alt="${texts.picture}"></aside></div>
`
  })
}

function mapped<S> (fields: readonly PhotoField[], source: S): [string, S][] {
  return fields.map((field) => [field, source])
}
