import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { InvioResponse } from '#schemas/alloggiati.ts'
import { BOOKING_STATES, type BookingDetail } from '#schemas/booking.ts'
import { Closed, Id, IdParams, OneOf } from '#schemas/common.ts'
import { DocumentImage } from '#schemas/document.ts'
import { GuestIndex } from '#schemas/scan.ts'
import { SIDES } from '#schemas/storage.ts'
import { html } from '#src/lib/html.ts'
import { guestsOf, readBooking } from '../booking/booking-data.ts'
import { showBooking, type Given } from '../booking/booking-view.ts'
import { COPY, guestsTag, guestValues, mergedGuests, sentFields } from '../booking/guest-fields.ts'
import { searchPlaces, withCodes } from '../booking/code-names.ts'
import { passedResult, refusedResult } from '../booking/police-result.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { headersOf, submitForm } from '../desk-form.ts'
import { refusalAlarm } from '../desk-layout.ts'
import { deskPage, deskPost, openDesk, Refusal, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt, FieldShape, Values } from '../field-types.ts'

const PAGE = '/prenotazioni/:id'
const STATES = BOOKING_STATES as readonly string[]
const UNIT: FieldShape = { name: 'unita_id', as: 'integer' }

const apiOf = (id: number) => `/api/v1/prenotazioni/${id}`
const pageOf = (id: number) => `/prenotazioni/${id}`
const params = { params: IdParams }

/** Prenotazione: the page of a booking with its guests, from the data to the receipt. */
const bookingScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const show = async (desk: Desk, id: number, given?: Given) =>
    await showBooking(desk, await readBooking(desk, id, clock), given)
  /** Shows the refusal of a form without fields as a message at the top of the page. */
  const showAgain = (id: number) => async (desk: Desk, { refusal }: Attempt) => await show(desk, id, {
    status: refusal!.status, message: refusalAlarm(desk, refusal)
  })

  app.get(PAGE, deskPage('getPaginaPrenotazione', 'Una prenotazione con i suoi ospiti', params),
    async (request, reply) => await show(await openDesk(request, reply), request.params.id))

  app.post(`${PAGE}/ospiti`, deskPost('postPaginaOspiti', 'Salva gli ospiti', params), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { id } = request.params
    const saved = await guestsOf(app, id)
    const values: Values = await withCodes(desk, request.body)
    const back = async (attempt: Attempt) =>
      await show(desk, id, { guests: attempt, status: attempt.conflict ? 412 : attempt.refusal!.status })
    const etag = guestsTag(saved)
    const { versione = etag } = values
    if (versione !== etag) return await back({ values, etag, conflict: guestValues(saved) })
    request.body = values as Record<string, string>
    return await submitForm(request, reply, {
      fields: sentFields(values),
      call: (payload) => ({
        method: 'POST',
        url: '/api/saveOspiti',
        payload: { prenotazione_id: id, dati: mergedGuests(saved, payload, values[COPY]) }
      }),
      redirectTo: `${pageOf(id)}?esito=salvato`,
      showAgain: async (_desk, attempt) => await back(attempt)
    })
  })

  app.post(`${PAGE}/prova`, deskPost('postPaginaProva', 'Prova l’invio', params), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { id } = request.params
    try {
      return await show(desk, id, { police: passedResult(await send(desk, id, { testMode: true })) })
    } catch (err) {
      return await show(desk, id, refusedBy(err))
    }
  })

  app.post(`${PAGE}/invio`, deskPost('postPaginaInvio', 'Invia alla Polizia', params), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { id } = request.params
    const { conferma, motivo = '' } = request.body
    try {
      await send(desk, id, conferma === undefined ? {} : { confermo_diverso: true, motivo })
      return await reply.redirect(`${pageOf(id)}?esito=inviato`, 303)
    } catch (err) {
      return await show(desk, id, refusedBy(err))
    }
  })

  app.post(`${PAGE}/stato`, deskPost('postPaginaStato', 'Annulla o conferma una prenotazione', params),
    async (request, reply) => {
      const { id } = request.params
      const { stato = '' } = request.body
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({ method: 'PUT', url: apiOf(id), payload: STATES.includes(stato) ? { stato } : {} }),
        redirectTo: `${pageOf(id)}?esito=salvato`,
        showAgain: showAgain(id)
      })
    })

  app.post(`${PAGE}/unita`, deskPost('postPaginaUnita', 'Assegna una unità', params), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: [UNIT],
      call: (payload) => ({ method: 'PUT', url: apiOf(id), payload }),
      redirectTo: `${pageOf(id)}?esito=salvato`,
      showAgain: showAgain(id)
    })
  })

  app.post(`${PAGE}/unita/scelta`, deskPost('postPaginaUnitaScelta', 'Assegna l’unità più adatta', params),
    async (request, reply) => {
      const { id } = request.params
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({ method: 'POST', url: `${apiOf(id)}/assegna`, payload: {} }),
        redirectTo: `${pageOf(id)}?esito=salvato`,
        showAgain: showAgain(id)
      })
    })

  app.post(`${PAGE}/lettera`, deskPost('postPaginaLettera', 'Crea la lettera di benvenuto', params),
    async (request, reply) => {
      const desk = await openDesk(request, reply)
      const { id } = request.params
      const { body: { data } } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: apiOf(id) })
      const { nome_cognome: nome_ospite, lingua } = data
      if (request.body.rifai !== undefined) {
        await desk.call({ method: 'DELETE', url: `/api/lettere-benvenuto/${id}` })
      }
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({
          method: 'POST', url: '/api/lettere-benvenuto/genera', payload: { prenotazione_id: id, nome_ospite, lingua }
        }),
        redirectTo: `${pageOf(id)}?esito=creato`,
        showAgain: showAgain(id)
      })
    })

  await app.register(files)
}
export default bookingScreen

/** The files that the page links to, and the search for places while a person types. */
const files: FastifyPluginAsyncTypebox = async (app) => {
  app.get(`${PAGE}/lettera.pdf`, deskFile('getPaginaLetteraDiPrenotazione', 'Il PDF della lettera di benvenuto', {
    ...params, type: 'application/pdf'
  }), async (request, reply) => await sendFile(await openDesk(request, reply), {
    method: 'GET', url: `/api/lettere-benvenuto/${request.params.id}/pdf`
  }, { isShown: true }))

  app.get(`${PAGE}/ospiti/:ospite/:lato`, deskPage('getPaginaImmagine', 'La foto di un documento', {
    params: Closed({ id: Id, ospite: GuestIndex, lato: OneOf(SIDES) }), response: { 200: DocumentImage }
  }), async (request, reply) => {
    const { id, ospite, lato } = request.params
    const desk = await openDesk(request, reply)
    return await sendFile(desk, { method: 'GET', url: `/api/documents/${id}/${ospite}/${lato}` }, { isShown: true })
  })

  app.get('/prenotazioni/luoghi', deskPage('getPaginaLuoghi', 'I luoghi che un testo trova', {
    querystring: Type.Record(Type.String(), Type.String({ maxLength: 200 }))
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const [[field, text] = ['', '']] = Object.entries(request.query as Record<string, string>)
    const found = await searchPlaces(desk, field, text)
    return await reply.type('text/html; charset=utf-8').header('cache-control', 'private, max-age=600')
      .send(html`${found.map(({ label }) => html`<option value="${label}"></option>`)}`.html)
  })
}

/** Sends or tests the saved guests. With `mancanti` in the form, only the guests who are not sent yet. */
async function send (desk: Desk, id: number, payload: object): Promise<InvioResponse> {
  const values = desk.request.body as Values
  const { body } = await desk.call<InvioResponse>({
    method: 'POST',
    url: `${apiOf(id)}/invio`,
    payload: { ...payload, ...values.mancanti !== undefined && { solo_mancanti: true } },
    headers: headersOf(values)
  })
  return body
}

/**
 * The page's input for a refused Send.
 * @throws any error that is not a refusal, and a 404
 */
function refusedBy (err: unknown): Given {
  if (!(err instanceof Refusal) || err.body.status === 404) throw err
  return { police: refusedResult(err.body), status: err.body.status }
}
