import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { BOOKING_STATES, type Booking, type BookingDetail } from '#schemas/booking.ts'
import { IdParams } from '#schemas/common.ts'
import { addDays, isDay } from '#src/lib/time.ts'
import { formFor, submitForm } from '../desk-form.ts'
import { showDesk } from '../desk-layout.ts'
import { countryOptions, languageOptions, unitOptions } from '../desk-options.ts'
import { deskPage, deskPost, openDesk, type Desk } from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape } from '../field-types.ts'
import { valuesOf } from '../form-values.ts'
import { bookingFormTexts } from '../texts/booking-form-texts.ts'

const BOOKINGS = '/api/v1/prenotazioni'
const NEW = '/prenotazioni/nuova'
const EDIT = '/prenotazioni/:id/modifica'

/** The values that a free cell of the calendar fills in. By default the booking has one night. */
const Prefilled = {
  unita: Type.Optional(Type.String({ maxLength: 10 })),
  giorno: Type.Optional(Type.String({ maxLength: 10 }))
}

const apiOf = (id: number) => `${BOOKINGS}/${id}`
const pageOf = (id: number) => `/prenotazioni/${id}`

/** The forms that create a booking, and change or move one. */
const bookingFormScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get(NEW, deskPage('getPaginaNuovaPrenotazione', 'Il modulo di una nuova prenotazione', {
    query: Prefilled
  }), async (request, reply) => {
    const { unita = '', giorno = '' } = request.query
    const values = {
      unita_id: unita,
      check_in: giorno,
      check_out: isDay(giorno) ? addDays(giorno, 1) : '',
      lingua: 'IT',
      paese_id: '380',
      numero_ospiti: '2'
    }
    return await showNew(await openDesk(request, reply), { values })
  })

  app.post(NEW, deskPost('postPaginaNuovaPrenotazione', 'Crea una prenotazione'), async (request, reply) =>
    await submitForm<{ data: Booking }>(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'POST', url: BOOKINGS, payload }),
      redirectTo: ({ body: { data: { id } } }) => `${pageOf(id)}?esito=creato`,
      showAgain: showNew
    }))

  app.get(EDIT, deskPage('getPaginaModificaPrenotazione', 'Il modulo di una prenotazione', {
    params: IdParams
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { id } = request.params
    const { body, etag } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: apiOf(id) })
    return await showEdit(desk, id, { values: valuesOf(FIELDS, body), etag })
  })

  app.post(EDIT, deskPost('postPaginaModificaPrenotazione', 'Modifica una prenotazione', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'PUT', url: apiOf(id), payload }),
      redirectTo: `${pageOf(id)}?esito=salvato`,
      showAgain: async (desk, attempt) => await showEdit(desk, id, attempt)
    })
  })
}
export default bookingFormScreen

async function showNew (desk: Desk, attempt: Attempt): Promise<FastifyReply> {
  const texts = bookingFormTexts[desk.language]
  const fields = (await labelled(desk, attempt.values)).filter(({ name }) => name !== 'stato')
  return showDesk(desk, {
    title: desk.texts.newBooking,
    isFaulty: attempt.refusal !== undefined,
    content: formFor(desk, { action: NEW, button: texts.create, fields, attempt })
  })
}

async function showEdit (desk: Desk, id: number, attempt: Attempt): Promise<FastifyReply> {
  const texts = bookingFormTexts[desk.language]
  const { body: { data } } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: apiOf(id) })
  const fields = await labelled(desk, { ...attempt.values, own: data.unita_id })
  return showDesk(desk, {
    title: texts.editBooking,
    isFaulty: attempt.refusal !== undefined,
    content: formFor(desk, {
      action: `/prenotazioni/${id}/modifica`, button: texts.save, fields, attempt
    })
  })
}

/** The fields with their options in the person's language. */
async function labelled (desk: Desk, stay: Parameters<typeof unitOptions>[1]): Promise<DeskField[]> {
  const texts = bookingFormTexts[desk.language]
  const [units, countries] = await Promise.all([unitOptions(desk, stay), countryOptions(desk)])
  const options: Readonly<Record<string, DeskField['options']>> = {
    unita_id: units,
    paese_id: countries,
    lingua: languageOptions(desk),
    stato: BOOKING_STATES.map((value) => ({ value, label: texts[value] }))
  }
  return FIELDS.map((field) => ({
    ...field,
    label: texts[field.name],
    isOptional: field.isRequired !== true,
    ...options[field.name] && { options: options[field.name] },
    ...field.name === 'idf_gen' && { hint: texts.codeHint },
    ...field.name === 'prezzo' && { message: texts.priceFault }
  }))
}

type Named = FieldShape & { name: keyof typeof bookingFormTexts['it'] }

const FIELDS: readonly Named[] = [
  { name: 'nome_cognome', isRequired: true, isWide: true },
  { name: 'check_in', type: 'date', isRequired: true },
  { name: 'check_out', type: 'date', isRequired: true },
  { name: 'unita_id', type: 'select', as: 'integer' },
  { name: 'numero_ospiti', as: 'integer', isRequired: true },
  { name: 'paese_id', type: 'select', as: 'integer', isRequired: true },
  { name: 'lingua', type: 'select', isRequired: true },
  { name: 'email', type: 'email' },
  { name: 'telefono', type: 'tel' },
  { name: 'canale' },
  { name: 'idf_gen' },
  { name: 'prezzo', as: 'cents' },
  { name: 'stato', type: 'select', isRequired: true },
  { name: 'note', type: 'textarea', isWide: true }
]
