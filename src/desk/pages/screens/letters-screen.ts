import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Booking, BookingDetail } from '#schemas/booking.ts'
import { IdParams } from '#schemas/common.ts'
import type { Letter } from '#schemas/letter.ts'
import { bookingsWithLetter } from '#src/letters/index.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { actionForm, submitForm } from '../desk-form.ts'
import { buttonLink, chip, emptyState, nextLink, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { languageName } from '../desk-options.ts'
import { dayText, deskPage, deskPost, fill, shortInstant, openDesk, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { nightCount } from '../missing-words.ts'
import { letterTexts } from '../texts/letter-texts.ts'

const PAGE = '/lettere'
const API = '/api/lettere-benvenuto'
/** Number of days after today whose arrivals the page lists, besides those of today. */
const DAYS = 7
const LATEST = 20

/** Lettere: arrivals of the next days without a letter, and the letters that exist. */
const lettersScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  app.get(PAGE, deskPage('getPaginaLettere', 'Le lettere di benvenuto'), async (request, reply) =>
    await show(await openDesk(request, reply), clock))

  app.get(`${PAGE}/:id/pdf`, deskFile('getPaginaPdfLettera', 'Il PDF di una lettera di benvenuto', {
    type: 'application/pdf', params: IdParams
  }), async (request, reply) => await sendFile(await openDesk(request, reply), {
    method: 'GET', url: `${API}/${request.params.id}/pdf`
  }, { isShown: true }))

  app.post(`${PAGE}/:id`, deskPost('postPaginaLettera', 'Crea una lettera di benvenuto', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    const desk = await openDesk(request, reply)
    const { body: { data: { nome_cognome, lingua } } } = await desk.call<{ data: BookingDetail }>({
      method: 'GET', url: `/api/v1/prenotazioni/${id}`
    })
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({
        method: 'POST', url: `${API}/genera`, payload: { prenotazione_id: id, nome_ospite: nome_cognome, lingua }
      }),
      redirectTo: `${PAGE}?esito=creato`,
      showAgain: (desk, attempt) => show(desk, clock, attempt)
    })
  })

  app.post(`${PAGE}/:id/elimina`, deskPost('postPaginaEliminaLettera', 'Elimina una lettera di benvenuto', {
    params: IdParams
  }), async (request, reply) => await submitForm(request, reply, {
    fields: [],
    call: () => ({ method: 'DELETE', url: `${API}/${request.params.id}` }),
    redirectTo: `${PAGE}?esito=eliminato`,
    showAgain: (desk, attempt) => show(desk, clock, attempt)
  }))
}
export default lettersScreen

async function show (desk: Desk, clock: Clock, attempt?: Attempt): Promise<FastifyReply> {
  const texts = letterTexts[desk.language]
  const today = clock.today()
  const query = new URLSearchParams({
    check_in_da: today, check_in_a: addDays(today, DAYS), stato: 'confermata', sort: 'check_in', limit: '200'
  })
  const [{ body: { data: bookings } }, { body: { data: letters } }] = await Promise.all([
    desk.call<{ data: Booking[] }>({ method: 'GET', url: `/api/v1/prenotazioni?${query}` }),
    desk.call<{ data: Letter[] }>({ method: 'GET', url: `${API}?limit=${LATEST}` })
  ])
  const done = await bookingsWithLetter(desk.request.server.db, bookings.map(({ id }) => id))
  const left = bookings.filter(({ id }) => !done.has(id))
  const refusal = attempt?.refusal
  const arriving = left.length > 0
    ? html`<ol class="rows timed">${left.map((each) => bookingRow(desk, each))}</ol>`
    : bookings.length > 0
      ? emptyState(texts.allMade)
      : emptyState(texts.noArrivals, buttonLink('/prenotazioni/nuova', desk.texts.newBooking))
  return showDesk(desk, {
    title: texts.title,
    isFaulty: refusal !== undefined,
    content: html`${refusalAlarm(desk, refusal)}${newLetter(desk, letters)}
<section aria-labelledby="arrivi"><h2 id="arrivi">${fill(texts.arriving, DAYS)}</h2>
${arriving}</section>
${letters.length === 0
? NOTHING
: html`<section aria-labelledby="fatte"><h2 id="fatte">${texts.made}</h2>
<ol class="rows timed">${letters.map((each) => letterRow(desk, each))}</ol></section>`}`
  })
}

/** The link to the new letter, at the top of the page because the letter's row is below all arrivals. */
function newLetter (desk: Desk, [newest]: readonly Letter[]): Html {
  const { esito } = desk.request.query as { esito?: string }
  if (esito !== 'creato' || newest === undefined) return NOTHING
  const { prenotazione_id: id, nome_ospite: name } = newest
  const text = fill(letterTexts[desk.language].openNew, name)
  return html`<p>${buttonLink(`${PAGE}/${id}/pdf`, text, { isMain: true })}</p>\n`
}

function bookingRow (desk: Desk, booking: Booking): Html {
  const texts = letterTexts[desk.language]
  const { id, nome_cognome: name, check_in: day, lingua, numero_notti: nights } = booking
  return html`<li>
<span class="unit">${dayText(desk, day, { weekday: 'short', day: '2-digit', month: '2-digit' })}</span>
<a class="who" href="/prenotazioni/${id}">${name}<small>${
  nightCount(desk, nights)}</small></a>
<span class="chips">${chip(languageName(desk, lingua))}</span>
${actionForm(desk, { action: `${PAGE}/${id}`, button: texts.make, about: name })}</li>
`
}

function letterRow (desk: Desk, { prenotazione_id: id, nome_ospite: name, lingua, created_at: at }: Letter): Html {
  const texts = letterTexts[desk.language]
  return html`<li class="done">
<span class="unit">${shortInstant(desk, at)}</span>
<a class="who" href="/prenotazioni/${id}">${name}</a>
<span class="chips">${chip(languageName(desk, lingua))}${
  actionForm(desk, { action: `${PAGE}/${id}/elimina`, button: texts.remove, about: name })}</span>
${nextLink(`${PAGE}/${id}/pdf`, texts.open, name)}</li>
`
}
