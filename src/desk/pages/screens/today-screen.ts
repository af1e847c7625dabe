import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Day, OneOf } from '#schemas/common.ts'
import type { DayState } from '#schemas/giornata.ts'
import type { Today } from '#schemas/today.ts'
import { filingDeadline } from '#src/alloggiati/index.ts'
import { html, type Html } from '#src/lib/html.ts'
import { addDays, dayInRome, type Clock } from '#src/lib/time.ts'
import { bookingRows, needsPerson, todayRow, type BookingRow } from '../booking-rows.ts'
import { buttonLink, emptyState, figure, NOTHING, showDesk } from '../desk-layout.ts'
import { unitOptions } from '../desk-options.ts'
import { dayText, deskPage, fill, instantText, openDesk, timeText, type Desk, type DeskOptions } from '../desk-page.ts'
import { firstSteps, STEPS } from '../first-steps.ts'
import { livePart } from '../live.ts'
import { counted, guestCount } from '../missing-words.ts'
import { todayTexts, type TodayTexts } from '../texts/today-texts.ts'
import { CHECK } from './send-day-screen.ts'

const NEW = '/prenotazioni/nuova'
const TODAY = '/oggi'

/** Oggi: the work of a day, today by default. */
const todayScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  app.get(TODAY, deskPage('getPaginaOggi', 'Il lavoro di oggi', {
    query: { giorno: Type.Optional(Day), passo: Type.Optional(OneOf(STEPS)) }
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const texts = todayTexts[desk.language]
    const { giorno: day = clock.today(), passo: step } = request.query
    const { body: { data } } = await desk.call<{ data: Today }>({ method: 'GET', url: `/api/v1/oggi?giorno=${day}` })
    const title = dayText(desk, day, { weekday: 'long', day: 'numeric', month: 'long' })
    const steps = day === clock.today() ? await firstSteps(desk, { today: day, step }) : undefined
    return showDesk(desk, {
      title: title.charAt(0).toUpperCase() + title.slice(1),
      actions: html`${dayChooser(desk, day)}${buttonLink(`${NEW}?giorno=${day}`, desk.texts.newBooking)}`,
      content: html`${steps ?? NOTHING}${livePart(desk, { id: 'lavoro', page: `${TODAY}?giorno=${day}` }, isQuiet(data)
        ? steps === undefined
          ? emptyState(texts.empty, html`${buttonLink(`${NEW}?giorno=${day}`, desk.texts.newBooking)} ${
            await firstUnit(desk)}`)
          : NOTHING
        : html`${earlierAlarm(desk, data, clock)}${figures(desk, data, clock)}${listsOf(desk, data, clock)}`)}`
    })
  })
}
export default todayScreen

/** The next step of a house without units. */
async function firstUnit (desk: Desk): Promise<Html> {
  const { length } = await unitOptions(desk)
  return length > 0
    ? NOTHING
    : buttonLink('/impostazioni/unita/nuova', todayTexts[desk.language].addUnit, { isMain: true })
}

function isQuiet ({ arrivi, partenze, in_casa: inHouse, annullate }: Today): boolean {
  return [arrivi, partenze, inHouse, annullate].every(({ length }) => length === 0)
}

function dayChooser ({ texts: { today }, language }: Desk, day: string): Html {
  const texts = todayTexts[language]
  return html`<div class="days"><a href="${TODAY}?giorno=${addDays(day, -1)}" aria-label="${
    texts.dayBefore}">←</a><a href="${TODAY}">${today}</a><a href="${TODAY}?giorno=${addDays(day, 1)}" aria-label="${
    texts.dayAfter}">→</a></div>
<form class="jump" method="get" action="${TODAY}"><label class="sr" for="giorno">${texts.day}</label><input id="giorno"
  name="giorno" type="date" value="${day}" required><button>${texts.go}</button></form>
`
}

/** The bookings that arrived before today and still need a person. The counters cover only arrivals of the day. */
function earlierAlarm ({ language }: Desk, { giorno: day, partenze, in_casa: inHouse }: Today, clock: Clock): Html {
  const texts = todayTexts[language]
  const { length } = [...partenze, ...inHouse].filter((each) => each.check_in < day && needsPerson(each))
  return length === 0 || day !== clock.today()
    ? NOTHING
    : html`<p class="alarm">${counted(length, texts.earlierOne, texts.earlierMany)} <a href="/polizia">${
      texts.toPolice}</a></p>\n`
}

/** The number of guests to send, and the total. The number is amber only when a person must send them now. */
function figures (desk: Desk, { giorno: day, arrivi, contatori }: Today, clock: Clock): Html {
  const texts = todayTexts[desk.language]
  const { arrivi: arrivals, partenze, in_casa: inHouse, ospiti_da_comunicare: guests } = contatori
  const isUrgent = guests.restano > 0 && day <= clock.today()
  const toSend = guests.totale === 0
    ? texts.noneDue
    : guests.restano === 0 ? texts.allSent : counted(guests.totale, texts.toSendOne, texts.toSendMany)
  const deadline = guests.restano > 0 ? deadlineText(desk, arrivi, clock) : ''
  return html`<ul class="figures">
${figure(arrivals.restano, arrivals.totale === 0
    ? texts.arrivals
    : counted(arrivals.totale, texts.arrivalsOne, texts.arrivalsMany))}${
  figure(partenze, partenze === 1 ? texts.departuresOne : texts.departuresMany)}${
  figure(inHouse, inHouse === 1 ? texts.inHouseOne : texts.inHouseMany)}${
  figure(guests.restano, `${toSend}${deadline}`, isUrgent)}</ul>
`
}

const SENT: readonly (DayState | null)[] = ['gia_inviata', 'acquisita', 'in_corso', 'sconosciuta']

/** The earliest legal deadline of the arrivals that are not sent. */
function deadlineText (desk: Desk, arrivals: Today['arrivi'], clock: Clock): string {
  const texts = todayTexts[desk.language]
  const deadlines = arrivals
    .filter(({ registrazione: state }) => !SENT.includes(state))
    .map(({ check_in, numero_notti }) => filingDeadline(check_in, numero_notti).getTime())
  if (deadlines.length === 0) return ''
  const earliest = new Date(Math.min(...deadlines))
  const text = earliest < clock.now()
    ? fill(texts.overdue, instantText(desk, earliest.toISOString()))
    : dayInRome(earliest) === clock.today()
      ? fill(texts.byTime, timeText(desk, earliest))
      : fill(texts.byDay, instantText(desk, earliest.toISOString()))
  return `, ${text}`
}

function listsOf (desk: Desk, data: Today, clock: Clock): Html {
  const texts = todayTexts[desk.language]
  const { giorno: day, arrivi, partenze, in_casa, annullate, contatori: { ospiti_da_comunicare: guests } } = data
  // Guests who arrive on the day are in the first list.
  const stays = in_casa.filter(({ check_in }) => check_in !== day)
  const today = clock.today()
  const canSend = day === today || day === addDays(today, -1)
  const sendPage = `${CHECK}?giorno=${day}`
  const rowOf = (isArrival: boolean) => (booking: Today['arrivi'][number]) =>
    todayRow(desk, booking, { day, isNow: day <= today, ...canSend && isArrival ? { sendPage } : {} })
  const ready = arrivi.filter(({ registrazione: state }) => state === 'pronta')
    .reduce((sum, { numero_ospiti }) => sum + numero_ospiti, 0)
  const count = ready === 0 ? '' : ` (${guestCount(desk, ready)})`
  const foot = canSend && guests.restano > 0
    ? html`<div class="foot">${buttonLink(sendPage, `${texts.checkAndSend}${count}`, { isMain: true })}<span>${
      texts.firstTry}</span></div>\n`
    : NOTHING
  return html`${arrivi.length === 0
    ? html`<h2>${texts.arrivals}</h2><p class="hint">${texts.noArrivals}</p>`
    : section(texts, 'arrivals', arrivi.map(rowOf(true)))}${foot}${
    section(texts, 'departures', partenze.map(rowOf(false)))}${
    section(texts, 'stays', stays.map(rowOf(false)))}${
    section(texts, 'cancelled', annullate.map(rowOf(false)))}`
}

function section (texts: TodayTexts, key: keyof TodayTexts, rows: readonly BookingRow[]): Html {
  return rows.length === 0 ? NOTHING : html`<h2>${texts[key]}</h2>\n${bookingRows(rows)}`
}
