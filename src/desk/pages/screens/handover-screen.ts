import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { BookingDetail } from '#schemas/booking.ts'
import { Closed, Id } from '#schemas/common.ts'
import { GuestIndex } from '#schemas/scan.ts'
import { isLoopbackHost } from '#src/lib/addresses.ts'
import { html, type Html } from '#src/lib/html.ts'
import { guestsOf } from '../booking/booking-data.ts'
import { alarm, buttonLink, NOTHING, notice, showDesk } from '../desk-layout.ts'
import { deskPage, fill, openDesk, timeText, type Desk, type DeskOptions } from '../desk-page.ts'
import { livePart } from '../live.ts'
import { linkGuest } from '../phone/link-guest.ts'
import { phoneLinks } from '../phone/phone-links.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { phoneTexts } from '../texts/phone-texts.ts'
import { scanTexts } from '../texts/scan-texts.ts'

const PAGE = '/scansione/:id/:ospite/telefono'
/** The id of the part that changes by itself. */
const PART = 'arrivo'

interface Place { id: number, ospite: number }

const params = { id: Id, ospite: GuestIndex }
const pageOf = ({ id, ospite }: Place) => `/scansione/${id}/${ospite}/telefono`

/** The desk's side of the hand-over: shows a QR code for the phone. After the photo the next step replaces the code. */
const handoverScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const links = phoneLinks(app, clock)

  app.get(PAGE, deskPage('getPaginaCodiceTelefono', 'Il codice QR per il telefono', { params: Closed(params) }),
    async (request, reply) => {
      const desk = await openDesk(request, reply)
      const { id: booking, ospite: guest } = request.params
      const { id, until, url } = links.issue(desk, { booking, ...linkGuest(await guestsOf(app, booking), guest) })
      const status = `${pageOf(request.params)}/${id}?fino=${until}`
      return await show(desk, request.params, livePart(desk, {
        id: PART, page: status, booking, isPolled: true
      }, await waiting(desk, { url, until, status })))
    })

  app.get(`${PAGE}/:codice`, deskPage('getPaginaStatoTelefono', 'Se il telefono ha salvato la foto', {
    params: Closed({ ...params, codice: Type.String({ maxLength: 32 }) }), query: { fino: Type.Integer() }
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const isDone = await links.isDone(request.params.codice)
    // Only the page reads the expiry in the URL. The phone's own expiry is sealed in its link.
    const isExpired = request.query.fino <= clock.now().getTime()
    if (request.headers['hx-request'] !== undefined && (isDone || !isExpired)) {
      // The code must stay on the screen while a phone reads it.
      reply.headers(isDone ? { 'hx-redirect': request.url } : { 'hx-reswap': 'none' })
      return await reply.type('text/html; charset=utf-8').send('')
    }
    return await show(desk, request.params,
      isDone
        ? arrived(desk, request.params, await links.isOther(request.params.codice))
        : isExpired ? expired(desk, request.params) : notYet(desk, request.url, request.params))
  })
}
export default handoverScreen

async function show (desk: Desk, { id, ospite }: Place, content: Html) {
  const { body: { data } } = await desk.call<{ data: BookingDetail }>({
    method: 'GET', url: `/api/v1/prenotazioni/${id}`
  })
  const { guestN } = guestTexts[desk.language]
  return showDesk(desk, {
    title: scanTexts[desk.language].usePhone,
    actions: html`<span class="meta">${data.nome_cognome} · ${fill(guestN, String(ospite + 1))}</span>${
      buttonLink(`/scansione/${id}/${ospite}`, scanTexts[desk.language].title)}${
      buttonLink(`/prenotazioni/${id}`, scanTexts[desk.language].back)}`,
    content
  })
}

async function waiting (desk: Desk, link: { url: string, until: number, status: string }): Promise<Html> {
  const texts = phoneTexts[desk.language]
  // Loaded on demand, because the library is large.
  const { toString } = await import('qrcode')
  const svg = await toString(link.url, { type: 'svg', errorCorrectionLevel: 'M', margin: 4 })
  const { host, hostname } = new URL(link.url)
  const isReachable = !isLoopbackHost(hostname)
  return html`${isReachable ? NOTHING : alarm(fill(texts.onlyHere, host))}<p>${texts.howTo}</p>
<div class="qr" role="img" aria-label="${texts.code}">${{ html: svg }}</div>
<p class="hint">${fill(texts.until, timeText(desk, new Date(link.until)))} ${
  isReachable ? fill(texts.address, host) : ''}</p>
<div class="actions">${buttonLink(link.status, texts.refresh)}</div>
`
}

function notYet ({ language }: Desk, here: string, place: Place): Html {
  const texts = phoneTexts[language]
  return html`<p>${texts.notYet}</p>
<div class="actions">${buttonLink(here, texts.refresh, { isMain: true })}${
  buttonLink(pageOf(place), texts.newCode)}</div>
`
}

/** The message that replaces the code on the page when the code has expired. */
function expired ({ language }: Desk, place: Place): Html {
  const texts = phoneTexts[language]
  return html`<div id="${PART}"><p>${texts.expired}</p>
<div class="actions">${buttonLink(pageOf(place), texts.newCode, { isMain: true })}</div></div>
`
}

function arrived ({ language }: Desk, place: Place, isOther: boolean): Html {
  const texts = phoneTexts[language]
  return html`${notice(texts.arrived)}${isOther ? alarm(texts.otherName) : NOTHING}<div class="actions">${
    buttonLink(`/prenotazioni/${place.id}#ospite-${place.ospite + 1}`, texts.check, { isMain: true })}${
    buttonLink(pageOf(place), texts.another)}</div>
`
}
