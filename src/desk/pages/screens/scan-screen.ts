import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Booking, BookingDetail } from '#schemas/booking.ts'
import { Closed, Id } from '#schemas/common.ts'
import { IMAGE_BODY_MAX, IMAGE_BYTES_MAX } from '#schemas/image.ts'
import { GuestIndex } from '#schemas/scan.ts'
import type { Today } from '#schemas/today.ts'
import { guestsOf } from '../booking/booking-data.ts'
import { showChoice, showRead, showUpload, type ScanPlace } from '../booking/scan-view.ts'
import { photoFault, sendPhoto, sideOf } from '../booking/send-photo.ts'
import { headersOf } from '../desk-form.ts'
import { deskPage, deskPost, openDesk, Refusal, type Desk } from '../desk-page.ts'
import { acceptUploads, uploadedFile } from '../desk-upload.ts'
import { scanTexts } from '../texts/scan-texts.ts'

const PAGE = '/scansione/:id/:ospite'
const FOUND = 20
const place = Closed({ id: Id, ospite: GuestIndex })

/** Scansione: the photo of a document becomes a guest. */
const scanScreen: FastifyPluginAsyncTypebox = async (app) => {
  await acceptUploads(app, IMAGE_BYTES_MAX)
  const placeOf = async (desk: Desk, { id, ospite }: { id: number, ospite: number }): Promise<ScanPlace> => {
    const { body } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: `/api/v1/prenotazioni/${id}` })
    return { booking: body.data, guests: await guestsOf(app, id), at: ospite }
  }

  app.get('/scansione', deskPage('getPaginaScansione', 'Di chi è il documento da fotografare', {
    query: { q: Type.Optional(Type.String({ maxLength: 100 })) }
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { q = '' } = request.query
    if (q.trim() === '') {
      const { body: { data } } = await desk.call<{ data: Today }>({ method: 'GET', url: '/api/v1/oggi' })
      return showChoice(desk, { q, bookings: data.arrivi })
    }
    const url = `/api/v1/prenotazioni?limit=${FOUND}&q=${encodeURIComponent(q)}`
    const { body: { data } } = await desk.call<{ data: Booking[] }>({ method: 'GET', url })
    return showChoice(desk, { q, bookings: data })
  })

  app.get(PAGE, deskPage('getPaginaFotografia', 'La fotografia di un documento', { params: place }),
    async (request, reply) => {
      const desk = await openDesk(request, reply)
      return showUpload(desk, await placeOf(desk, request.params))
    })

  app.post(PAGE, {
    bodyLimit: IMAGE_BODY_MAX,
    ...deskPost('postPaginaFotografia', 'Legge o salva la fotografia di un documento', { params: place })
  }, async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { id, ospite } = request.params
    const { lato, solo, ...values } = request.body
    const file = uploadedFile(request)
    const where = await placeOf(desk, request.params)
    const side = sideOf(lato)
    if (file === undefined) {
      return showUpload(desk, where, { message: scanTexts[desk.language].noPhoto, side, status: 400 })
    }
    try {
      const photo = await sendPhoto(desk, {
        booking: id, guest: ospite, side, file, isOnly: solo !== undefined, headers: headersOf(values)
      })
      if (photo === undefined) return await reply.redirect(`/prenotazioni/${id}?esito=salvato`, 303)
      return await showRead(desk, await placeOf(desk, request.params), { photo, side })
    } catch (err) {
      if (!(err instanceof Refusal) || err.body.status === 404) throw err
      const { status, requestId } = err.body
      return showUpload(desk, where, { message: photoFault(desk, err.body), side, status, requestId })
    }
  })
}
export default scanScreen
