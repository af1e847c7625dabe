import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { IMAGE_BODY_MAX, IMAGE_BYTES_MAX } from '#schemas/image.ts'
import type { PhotoData } from '#schemas/photo.ts'
import type { Side } from '#schemas/storage.ts'
import type { BookingDetail } from '#schemas/booking.ts'
import type { SavedGuest } from '#src/bookings/index.ts'
import { languageOf, RedirectError } from '#src/identity/index.ts'
import { html } from '#src/lib/html.ts'
import { guestsOf } from '../booking/booking-data.ts'
import { photoForm } from '../booking/scan-view.ts'
import { photoFault, sendPhoto, sideOf } from '../booking/send-photo.ts'
import { showDeskError } from '../desk-errors.ts'
import { alarm, NOTHING, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, fill, openFrame, Refusal, type Desk, type DeskOptions, type Frame } from '../desk-page.ts'
import { acceptUploads, uploadedFile } from '../desk-upload.ts'
import { hasSameGuest } from '../phone/link-guest.ts'
import { PHONE, phoneLinks, type PhoneLink } from '../phone/phone-links.ts'
import { guestTexts } from '../texts/guest-texts.ts'
import { phoneTexts } from '../texts/phone-texts.ts'
import { scanTexts } from '../texts/scan-texts.ts'

class LinkEnded extends Error {}
/** The place belongs to another guest, or the booking was deleted. */
class GuestGone extends Error {}

/** The page on a phone without a sign-in, which sends the photo of one guest's document. It shows no names. */
const phoneScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const links = phoneLinks(app, clock)
  const open = async (request: FastifyRequest, reply: FastifyReply) => {
    const opened = await links.open(request, reply)
    if (opened === undefined) throw new LinkEnded()
    return opened
  }
  /** The version of the booking in which the link still has its guest, and the guest. @throws GuestGone */
  const findGuest = async ({ link, desk }: Awaited<ReturnType<typeof open>>) => {
    // The version is read first, so that a change between the two reads refuses the photo.
    const version = await readVersion(desk, link)
    const guests = await guestsOf(app, link.booking)
    if (version === undefined || !hasSameGuest(link, guests)) throw new GuestGone()
    return { version, saved: guests[link.guest] }
  }
  await acceptUploads(app, IMAGE_BYTES_MAX, async (request, reply) => (await open(request, reply)).desk.visitor)
  app.setErrorHandler<FastifyError>((err, request, reply) =>
    // The session of the person who made the link may end at any time.
    err instanceof LinkEnded || err instanceof RedirectError
      ? showEnded(openFrame(request, reply), 'ended')
      : err instanceof GuestGone
        ? showEnded(openFrame(request, reply), 'gone')
        : showDeskError(err, request, reply, { href: PHONE, text: scanTexts[languageOf(request)].photo }))

  app.get(PHONE, deskPage('getPaginaTelefono', 'La foto di un documento dal telefono', {
    query: { codice: Type.Optional(Type.String({ maxLength: 1000 })) }
  }), async (request, reply) => {
    const { codice, esito } = request.query
    if (esito === 'salvato') return showSaved(openFrame(request, reply))
    if (codice === undefined) {
      const opened = await open(request, reply)
      await findGuest(opened)
      return showForm(openFrame(request, reply), opened.link)
    }
    if (!links.enter(reply, codice)) throw new LinkEnded()
    return await reply.redirect(PHONE, 303)
  })

  app.post(PHONE, { bodyLimit: IMAGE_BODY_MAX, ...deskPost('postPaginaTelefono', 'Salva la foto dal telefono') },
    async (request, reply) => {
      const opened = await open(request, reply)
      const { link, desk } = opened
      const { lato, solo } = request.body
      const file = uploadedFile(request)
      const side = sideOf(lato)
      if (file === undefined) {
        return showForm(desk, link, { side, message: scanTexts[desk.language].noPhoto, status: 400 })
      }
      const { version, saved } = await findGuest(opened)
      if (!await links.take(link)) throw new LinkEnded()
      const { booking, guest } = link
      let photo: PhotoData | undefined
      try {
        photo = await sendPhoto(desk, {
          booking, guest, side, file, isOnly: solo !== undefined, headers: { 'if-match': version }
        })
      } catch (err) {
        if (!(err instanceof Refusal) || err.body.status === 404) throw err
        links.renew(reply, link)
        return showForm(desk, link, { side, message: photoFault(desk, err.body), status: err.body.status })
      }
      await links.finish(reply, link, hasOtherName(photo, saved))
      return await reply.redirect(`${PHONE}?esito=salvato`, 303)
    })
}
export default phoneScreen

/** Whether a document has another name than the saved guest. A name that is not proven replaces none. */
function hasOtherName (photo: PhotoData | undefined, saved: SavedGuest | undefined): boolean {
  if (photo === undefined || saved === undefined) return false
  const { ospite: { cognome, nome }, avvisi } = photo
  const isReplaced = `${cognome}|${nome}`.toUpperCase() !== `${saved.cognome}|${saved.nome}`.toUpperCase()
  return isReplaced || avvisi.some(({ campo }) => campo === 'cognome')
}

interface FormState { side?: Side, message?: string, status?: number }

function showForm (frame: Frame, { guest }: PhoneLink, { side = 'front', message, status }: FormState = {}) {
  return showDesk(frame, {
    title: scanTexts[frame.language].photo,
    isAlone: true,
    isFaulty: message !== undefined,
    ...status !== undefined && { status },
    actions: html`<span class="meta">${fill(guestTexts[frame.language].guestN, String(guest + 1))}</span>`,
    content: html`${message === undefined ? NOTHING : alarm(message)}${photoForm(frame, { action: PHONE, side })}`
  })
}

function showSaved (frame: Frame) {
  const texts = phoneTexts[frame.language]
  return showDesk(frame, { title: texts.saved, isAlone: true, content: html`<p>${texts.savedText}</p>` })
}

function showEnded (frame: Frame, reason: 'ended' | 'gone') {
  const texts = phoneTexts[frame.language]
  return showDesk(frame, {
    title: texts[reason], isAlone: true, isFaulty: true, status: 410, content: alarm(texts[`${reason}Text`])
  })
}

/** The version of the booking. Undefined when the booking was deleted. */
async function readVersion (desk: Desk, { booking }: PhoneLink): Promise<string | undefined> {
  try {
    return (await desk.call<{ data: BookingDetail }>({ method: 'GET', url: `/api/v1/prenotazioni/${booking}` })).etag
  } catch (err) {
    if (err instanceof Refusal && err.body.status === 404) return undefined
    throw err
  }
}
