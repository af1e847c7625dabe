import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { BookingDetail } from '#schemas/booking.ts'
import { Day, IdParams } from '#schemas/common.ts'
import type { Today } from '#schemas/today.ts'
import type { OccupancyCalendar } from '#schemas/unit.ts'
import { html, type Html } from '#src/lib/html.ts'
import { addDays, type Day as DayText } from '#src/lib/time.ts'
import { bookingPage, needsPerson } from '../booking-rows.ts'
import { calendarGrid, SPAN, spanText, type CalendarStay } from '../calendar-grid.ts'
import { actionForm, formFor, submitForm } from '../desk-form.ts'
import { buttonLink, emptyState, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { unitOptions } from '../desk-options.ts'
import { dayText, deskPage, deskPost, fill, openDesk, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt, FieldShape } from '../field-types.ts'
import { valuesOf } from '../form-values.ts'
import { guestCount } from '../missing-words.ts'
import { calendarTexts } from '../texts/calendar-texts.ts'

const CALENDAR = '/calendario'
const MOVE = '/calendario/prenotazioni/:id'
const ASSIGN = '/calendario/prenotazioni/:id/assegna'
const BOOKINGS = '/api/v1/prenotazioni'
const NEW = '/prenotazioni/nuova'

const CalendarQuery = { da: Type.Optional(Day) }

/** Calendario: units and days, the bookings without a unit, and the form that moves a booking. */
const calendarScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  /** By default the calendar begins yesterday, so that it shows the departures of today. */
  const firstDay = (da?: DayText) => da ?? addDays(clock.today(), -1)

  app.get(CALENDAR, deskPage('getPaginaCalendario', 'Le unità e i giorni', {
    query: CalendarQuery
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    return await showCalendar(desk, { from: firstDay(request.query.da), today: clock.today() })
  })

  app.post(ASSIGN, deskPost('postPaginaAssegna', 'Assegna una unità', { params: IdParams }), async (request, reply) => {
    const { da = '' } = request.body
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'POST', url: `${BOOKINGS}/${request.params.id}/assegna`, payload: {} }),
      redirectTo: `${calendarFrom(da)}&esito=salvato`,
      showAgain: async (desk, { refusal }) => await showCalendar(desk, { from: da, today: clock.today(), refusal })
    })
  })

  app.get(MOVE, deskPage('getPaginaSposta', 'Sposta una prenotazione', {
    params: IdParams, query: CalendarQuery
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { params: { id }, query: { da } } = request
    const { body, etag } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: `${BOOKINGS}/${id}` })
    return await showMove(desk, id, firstDay(da), { values: valuesOf(FIELDS, body), etag })
  })

  app.post(MOVE, deskPost('postPaginaSposta', 'Sposta una prenotazione', {
    params: IdParams
  }), async (request, reply) => {
    const { params: { id }, body: { da = '' } } = request
    return await submitForm(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'PUT', url: `${BOOKINGS}/${id}`, payload }),
      redirectTo: `${calendarFrom(da)}&esito=salvato`,
      showAgain: async (desk, attempt) => await showMove(desk, id, da, attempt)
    })
  })
}
export default calendarScreen

const calendarFrom = (from: string) => `${CALENDAR}?da=${encodeURIComponent(from)}`
const movePage = (id: number, from: string) => `${CALENDAR}/prenotazioni/${id}?da=${from}`

type CalendarData = Static<typeof OccupancyCalendar>

interface CalendarView { from: DayText, today: DayText, refusal?: Attempt['refusal'] }

async function showCalendar (desk: Desk, { from, today, refusal }: CalendarView): Promise<FastifyReply> {
  const texts = calendarTexts[desk.language]
  const end = addDays(from, SPAN)
  const [{ body }, needed] = await Promise.all([
    desk.call<CalendarData>({ method: 'GET', url: `/api/v1/calendario?da=${from}&a=${end}` }),
    from <= today && today < end ? neededToday(desk) : new Set<number>()
  ])
  const shown = {
    from,
    today,
    needed,
    stayPage: (id: number) => movePage(id, from),
    newPage: (unit: number, day: DayText) => `${NEW}?unita=${unit}&giorno=${day}`
  }
  const day = { day: 'numeric', month: 'long' } as const
  return showDesk(desk, {
    title: `${dayText(desk, from, day)} – ${dayText(desk, addDays(end, -1), day)}`,
    isWide: true,
    isFaulty: refusal !== undefined,
    actions: html`${spanChooser(desk, from)}${buttonLink(NEW, desk.texts.newBooking)}`,
    content: html`${refusalAlarm(desk, refusal)}${
      unassigned(desk, body.da_assegnare, from)}${body.data.length === 0
      ? emptyState(texts.noUnits, buttonLink('/impostazioni/unita/nuova', texts.addUnit, { isMain: true }))
      : html`${colourKey(desk)}${calendarGrid(desk, body, shown)}`}`
  })
}

/** The bookings of today in which a person has something to do. */
async function neededToday (desk: Desk): Promise<Set<number>> {
  const { body: { data } } = await desk.call<{ data: Today }>({ method: 'GET', url: '/api/v1/oggi' })
  return new Set([...data.arrivi, ...data.partenze, ...data.in_casa].filter(needsPerson).map(({ id }) => id))
}

function spanChooser ({ texts: { today }, language }: Desk, from: DayText): Html {
  const texts = calendarTexts[language]
  return html`<div class="days"><a href="${calendarFrom(addDays(from, -SPAN))}" aria-label="${
    texts.before}">←</a><a href="${CALENDAR}">${today}</a><a href="${
    calendarFrom(addDays(from, SPAN))}" aria-label="${texts.after}">→</a></div>
<form class="jump" method="get" action="${CALENDAR}"><label class="sr" for="da">${texts.firstDay}</label><input id="da"
  name="da" type="date" value="${from}" required><button>${texts.go}</button></form>
`
}

function colourKey ({ language }: Desk): Html {
  const texts = calendarTexts[language]
  return html`<ul class="key"><li class="now">${texts.keyNow}</li><li class="in">${texts.keyIn}</li><li>${
    texts.keyBooked}</li><li class="off">${texts.keyOff}</li></ul>
`
}

/** Bookings without a unit above the grid. The list of bookings shows the others. */
const UNASSIGNED_ROWS = 10
const UNASSIGNED = '/prenotazioni?unita_id=nessuna&stato=confermata'

/** The bookings without a unit. One click assigns the smallest free unit, two clicks another one. */
function unassigned (desk: Desk, stays: readonly CalendarStay[], from: DayText): Html {
  if (stays.length === 0) return NOTHING
  const texts = calendarTexts[desk.language]
  const others = stays.length - UNASSIGNED_ROWS
  return html`<h2>${texts.unassigned}</h2>
<ul class="rows assign">
${stays.slice(0, UNASSIGNED_ROWS).map((stay) => html`<li><a class="who" href="${bookingPage(stay.id)}">${
    stay.titolo}<small>${spanText(desk, stay)} · ${guestCount(desk, stay.ospiti)}</small></a><span
  class="actions">${
    buttonLink(movePage(stay.id, from), texts.choose, { about: stay.titolo })}${actionForm(desk, {
    action: ASSIGN.replace(':id', String(stay.id)),
    button: texts.assign,
    about: stay.titolo,
    hidden: { da: from },
    isMain: true
  })}</span></li>
`)}</ul>
${others > 0
    ? html`<p>${buttonLink(`${UNASSIGNED}&check_in_da=${from}`, fill(texts.moreUnassigned, others))}</p>\n`
    : NOTHING}`
}

const FIELDS: readonly FieldShape[] = [
  { name: 'check_in', type: 'date', isRequired: true },
  { name: 'check_out', type: 'date', isRequired: true },
  { name: 'unita_id', type: 'select', as: 'integer', isWide: true }
]

async function showMove (desk: Desk, id: number, from: string, attempt: Attempt): Promise<FastifyReply> {
  const texts = calendarTexts[desk.language]
  const { body: { data } } = await desk.call<{ data: BookingDetail }>({ method: 'GET', url: `${BOOKINGS}/${id}` })
  const units = await unitOptions(desk, { ...attempt.values, own: data.unita_id })
  const labels: Readonly<Record<string, string>> = texts
  const fields = FIELDS.map((field) => ({
    ...field, label: labels[field.name] ?? field.name, ...field.name === 'unita_id' && { options: units }
  }))
  const { nome_cognome: name, check_in: dal, check_out: al, numero_ospiti: guests } = data
  return showDesk(desk, {
    title: name,
    isFaulty: attempt.refusal !== undefined,
    actions: html`<p class="meta">${spanText(desk, { dal, al })} · ${
      guestCount(desk, guests)}</p>${buttonLink(bookingPage(id), texts.openBooking)}${
      buttonLink(calendarFrom(from), texts.calendar)}`,
    content: html`<h2>${texts.move}</h2>${formFor(desk, {
      action: `${CALENDAR}/prenotazioni/${id}`,
      button: texts.save,
      fields,
      attempt,
      hidden: { da: from },
      back: movePage(id, from)
    })}`
  })
}
