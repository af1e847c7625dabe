import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Booking } from '#schemas/booking.ts'
import type { Codice, Codici } from '#schemas/codici.ts'
import { html, type Html } from '#src/lib/html.ts'
import { bookingPage, bookingRows, type BookingRow } from '../booking-rows.ts'
import { buttonLink, chip, emptyState, NOTHING, showDesk } from '../desk-layout.ts'
import { dayText, deskPage, fill, openDesk, type Desk } from '../desk-page.ts'
import { guestCount } from '../missing-words.ts'
import { searchTexts } from '../texts/search-texts.ts'

/** Maximum bookings, and maximum codes of each table. */
const BOOKINGS = 20
const CODES = 5
/** Minimum characters. Fewer of them would match nearly every booking. */
const MIN_QUERY_LENGTH = 2

/** The tables of the police in the order of use. */
const TABLES = ['comuni', 'paesi', 'tipi_documento', 'province', 'tipi_alloggiato'] as const

/** Ricerca: bookings by guest, document or code, and codes of the police tables. */
const searchScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get('/ricerca', deskPage('getPaginaRicerca', 'Cerca ospiti, documenti e codici', {
    query: { q: Type.Optional(Type.String({ maxLength: 100 })) }
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const texts = searchTexts[desk.language]
    const q = request.query.q?.trim() ?? ''
    const results = q.length < MIN_QUERY_LENGTH ? emptyState(texts.start) : await found(desk, q)
    return showDesk(desk, {
      title: q === '' ? texts.title : fill(texts.titleOf, q),
      content: html`<div id="trovati">${results}</div>`
    })
  })
}
export default searchScreen

async function found (desk: Desk, q: string): Promise<Html> {
  const texts = searchTexts[desk.language]
  const query = new URLSearchParams({ q, limit: String(BOOKINGS), sort: '-check_in' })
  const [{ body: { data: bookings } }, { body: codes }] = await Promise.all([
    desk.call<{ data: Booking[] }>({ method: 'GET', url: `/api/v1/prenotazioni?${query}` }),
    desk.call<Codici>({
      method: 'GET', url: `/api/alloggiati/codici?${new URLSearchParams({ q, limit: String(CODES) })}`
    })
  ])
  const tables = TABLES.filter((name) => codes[name].length > 0)
  if (bookings.length === 0 && tables.length === 0) {
    return emptyState(fill(texts.none, q), buttonLink('/prenotazioni/nuova', desk.texts.newBooking))
  }
  return html`${bookings.length === 0
? NOTHING
: html`<section aria-labelledby="prenotazioni">
<h2 id="prenotazioni">${texts.bookings}</h2>
${bookingRows(bookings.map((each) => rowOf(desk, each)))}${
  bookings.length === BOOKINGS ? html`<p class="hint">${fill(texts.more, BOOKINGS)}</p>` : NOTHING}</section>`}
${tables.length === 0
? NOTHING
: html`<section aria-labelledby="codici"><h2 id="codici">${texts.codes}</h2>
<table><thead><tr><th scope="col">${texts.code}</th><th scope="col">${texts.meaning}</th><th scope="col">${
  texts.table}</th></tr></thead>
<tbody>${tables.flatMap((name) => codes[name].map((code) => codeRow(code, texts[name])))}</tbody></table></section>`}`
}

function rowOf (desk: Desk, booking: Booking): BookingRow {
  const texts = searchTexts[desk.language]
  const { id, nome_cognome: name, check_in: from, check_out: to, numero_ospiti: guests, idf_gen: code, stato } = booking
  return {
    first: dayText(desk, from),
    name,
    about: [fill(texts.until, dayText(desk, to)), guestCount(desk, guests), code ?? ''],
    href: bookingPage(id),
    chips: stato === 'confermata' ? [] : [chip(texts[stato])],
    next: { word: texts.open, href: bookingPage(id) }
  }
}

function codeRow ({ codice, descrizione }: Codice, table: string): Html {
  return html`<tr><th scope="row">${codice}</th><td>${descrizione}</td><td>${table}</td></tr>\n`
}
