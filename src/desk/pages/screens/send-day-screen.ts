import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { Day, Id, type ErrorBody } from '#schemas/common.ts'
import type { DayState, GiornataResponse, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { Today } from '#schemas/today.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { Day as DayText } from '#src/lib/time.ts'
import { bookingPage, bookingRows, completeText, missingField, type BookingRow } from '../booking-rows.ts'
import { actionForm, submitForm } from '../desk-form.ts'
import { alarm, buttonLink, chip, emptyState, NOTHING, notice, refusalAlarm, showDesk } from '../desk-layout.ts'
import { dayText, deskPage, deskPost, fill, openDesk, Refusal, type Desk, type DeskOptions } from '../desk-page.ts'
import { counted, guestCount, missingWords } from '../missing-words.ts'
import { refusalReasons, type RefusalReason } from '../refusal-reasons.ts'
import { sendDayTexts } from '../texts/send-day-texts.ts'
import { todayTexts } from '../texts/today-texts.ts'

/** The page that shows what would be sent, with the Send button. */
export const CHECK = '/oggi/invio'
const OUTCOME = '/oggi/esito'
const SEND_DAY = '/api/v1/invii/giornata'

const CheckQuery = {
  giorno: Type.Optional(Day),
  prenotazione: Type.Optional(Id),
  conferma: Type.Optional(Type.String({ maxLength: 1 }))
}
const OutcomeQuery = {
  giorno: Day, prenotazioni: Type.String({ pattern: '^\\d{1,10}(,\\d{1,10})*$', maxLength: 11_000 })
}

/** The check of a day's arrivals, their Send, and its outcome. */
const sendDayScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  app.get(CHECK, deskPage('getPaginaControlloGiornata', 'Che cosa si invia alla Polizia', {
    query: CheckQuery
  }), async (request, reply) => {
    const { giorno: day = clock.today(), prenotazione: booking, conferma } = request.query
    return await showCheck(await openDesk(request, reply), { day, booking, isConfirming: conferma !== undefined })
  })

  app.post(CHECK, deskPost('postPaginaInvioGiornata', 'Invia la giornata alla Polizia'), async (request, reply) => {
    const { giorno: day = '', prenotazioni = '' } = request.body
    const page = `${OUTCOME}?giorno=${encodeURIComponent(day)}&prenotazioni=${encodeURIComponent(prenotazioni)}`
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({
        method: 'POST', url: SEND_DAY, payload: { data: day, prenotazioni: prenotazioni.split(',').map(Number) }
      }),
      redirectTo: page,
      showAgain: async (desk, { refusal }) => await showCheck(desk, { day, isConfirming: false, refusal })
    })
  })

  app.get(OUTCOME, deskPage('getPaginaEsitoInvio', 'L’esito di un invio alla Polizia', {
    query: OutcomeQuery
  }), async (request, reply) => {
    const { giorno, prenotazioni } = request.query
    return await showOutcome(await openDesk(request, reply), giorno, prenotazioni.split(',').map(Number))
  })
}
export default sendDayScreen

/** States in which a person has nothing to do. */
const DONE: readonly DayState[] = ['gia_inviata', 'acquisita', 'in_corso']

interface Choice {
  day: DayText
  /** Only this booking. All bookings of the day by default. */
  booking?: number | undefined
  /** In production Send asks for a confirmation. */
  isConfirming: boolean
  /** The refusal of a Send. */
  refusal?: ErrorBody | undefined
}

/** A booking of the day, with the name of its unit. */
interface DayLine extends PrenotazioneDellaGiornata { unit: string | undefined }

/** The dry run of a day, which sends nothing. */
async function dryRun (desk: Desk, day: DayText, bookings?: readonly number[]): Promise<DayLine[]> {
  const payload = { data: day, prova: true, ...bookings && { prenotazioni: bookings } }
  const { body } = await desk.call<GiornataResponse>({ method: 'POST', url: SEND_DAY, payload })
  const { body: { data } } = await desk.call<{ data: Today }>({ method: 'GET', url: `/api/v1/oggi?giorno=${day}` })
  const units = new Map([...data.arrivi, ...data.in_casa].map(({ id, unita }) => [id, unita?.nome]))
  return body.prenotazioni.map((line) => ({ ...line, unit: units.get(line.prenotazione_id) }))
}

async function showCheck (desk: Desk, choice: Choice): Promise<FastifyReply> {
  const texts = sendDayTexts[desk.language]
  const { day, booking, refusal } = choice
  const lines = await dryRun(desk, day, booking === undefined ? undefined : [booking]).catch((err: unknown) => {
    if (err instanceof Refusal && err.body.codice === 'CREDENZIALI_MANCANTI') return null
    throw err
  })
  const content = lines === null
    ? html`${alarm(texts.noCredentials)}<p>${buttonLink('/impostazioni', texts.toSettings, { isMain: true })}</p>`
    : checkOf(desk, choice, lines)
  return showDesk(desk, {
    title: texts.title,
    actions: html`<p class="meta">${fill(texts.arrivalsOf, dayText(desk, day))}</p>${
      buttonLink(`/oggi?giorno=${day}`, texts.backToDay)}`,
    isFaulty: refusal !== undefined,
    content: html`${refusalAlarm(desk, refusal)}${content}`
  })
}

function checkOf (desk: Desk, choice: Choice, lines: readonly DayLine[]): Html {
  const texts = sendDayTexts[desk.language]
  const ready = lines.filter(({ stato }) => stato === 'pronta')
  const done = lines.filter(({ stato }) => DONE.includes(stato))
  const rest = lines.filter((line) => !ready.includes(line) && !done.includes(line))
  const list = (title: string, rows: readonly BookingRow[]) =>
    rows.length === 0 ? NOTHING : html`<h2>${title}</h2>\n${bookingRows(rows)}`
  const isSafe = desk.request.server.identity.config.ALLOGGIATI_MODE !== 'production'
  if (ready.length > 0 && choice.isConfirming && !isSafe) return confirmation(desk, choice, ready)
  const none = rest.length === 0 && done.length === 0
    ? emptyState(texts.nothingToDo, buttonLink(`/oggi?giorno=${choice.day}`, texts.backToDay))
    : html`<p>${rest.length > 0 ? texts.noneReady : texts.nothingToDo}</p>`
  const send = ready.length === 0
    ? none
    : html`${list(texts.ready, ready.map((line) => readyRow(desk, choice.day, line)))}<div class="foot">${
      isSafe ? sendForm(desk, choice, ready) : confirmLink(desk, choice, ready)}${
      rest.length > 0 ? html`<span>${texts.incompleteStay}</span>` : NOTHING}</div>\n`
  return html`${send}${list(texts.toComplete, rest.map((line) => incompleteRow(desk, choice.day, line)))}${
    list(texts.done, done.map((line) => doneRow(desk, choice.day, line)))}`
}

function guestsOf (lines: readonly DayLine[]): number {
  return lines.reduce((sum, { ospiti }) => sum + ospiti, 0)
}

/** Sends only the bookings that the page shows, even if others become ready meanwhile. */
function sendForm (desk: Desk, { day }: Choice, ready: readonly DayLine[]): Html {
  const texts = sendDayTexts[desk.language]
  return actionForm(desk, {
    action: CHECK,
    button: counted(guestsOf(ready), texts.sendOne, texts.sendMany),
    hidden: { giorno: day, prenotazioni: idsOf(ready) },
    isMain: true
  })
}

/** A booking with two lines, one for each arrival, is named once. */
function idsOf (lines: readonly DayLine[]): string {
  return [...new Set(lines.map(({ prenotazione_id: id }) => id))].join()
}

function confirmLink (desk: Desk, { day, booking }: Choice, ready: readonly DayLine[]): Html {
  const texts = sendDayTexts[desk.language]
  const only = booking === undefined ? '' : `&prenotazione=${booking}`
  const text = counted(guestsOf(ready), texts.sendOne, texts.sendMany)
  return buttonLink(`${CHECK}?giorno=${day}${only}&conferma=1`, text, { isMain: true })
}

function confirmation (desk: Desk, choice: Choice, ready: readonly DayLine[]): Html {
  const texts = sendDayTexts[desk.language]
  return html`${alarm(counted(guestsOf(ready), texts.confirmOne, texts.confirmMany))}${
    bookingRows(ready.map((line) => readyRow(desk, choice.day, line)))}<div class="foot">${
    sendForm(desk, choice, ready)}${buttonLink(`${CHECK}?giorno=${choice.day}`, texts.back)}</div>
`
}

function rowOf (desk: Desk, day: DayText, line: DayLine): Omit<BookingRow, 'chips'> {
  const texts = todayTexts[desk.language]
  const { prenotazione_id: id, nome_cognome: name, numero_ospiti: guests, dal = day, unit } = line
  return {
    first: unit ?? texts.noUnit,
    name,
    about: [guestCount(desk, guests), dal === day ? '' : dayText(desk, dal)],
    href: bookingPage(id)
  }
}

function readyRow (desk: Desk, day: DayText, line: DayLine): BookingRow {
  const texts = todayTexts[desk.language]
  return { ...rowOf(desk, day, line), chips: [chip(completeText(texts, line.ospiti, line.numero_ospiti), 'ok')] }
}

function incompleteRow (desk: Desk, day: DayText, line: DayLine): BookingRow {
  const texts = todayTexts[desk.language]
  const { prenotazione_id: id, stato, errors, numero_ospiti: guests } = line
  const isIncomplete = stato === 'incompleta'
  const words = missingWords(desk, { isIncomplete, guests, errors })
  const state = isIncomplete || stato === 'pronta' ? [] : [chip(texts[stato], 'need')]
  return {
    ...rowOf(desk, day, line),
    chips: [...state, ...words.map((text) => chip(text, 'need'))],
    next: isIncomplete
      ? { word: texts.complete, href: missingField(id, errors) }
      : { word: texts.check, href: bookingPage(id) }
  }
}

function doneRow (desk: Desk, day: DayText, line: DayLine): BookingRow {
  const texts = todayTexts[desk.language]
  const { prenotazione_id: id, stato } = line
  return {
    ...rowOf(desk, day, line),
    chips: stato === 'pronta' || stato === 'incompleta' ? [] : [chip(texts[stato], 'ok')],
    next: { word: texts.open, href: bookingPage(id) },
    isDone: true
  }
}

/** Shows the present state of each sent booking. A reload sends no booking again. */
async function showOutcome (desk: Desk, day: DayText, ids: readonly number[]): Promise<FastifyReply> {
  const texts = sendDayTexts[desk.language]
  const lines = await dryRun(desk, day, ids)
  const inState = (...states: DayState[]) => lines.filter(({ stato }) => states.includes(stato))
  const acquired = inState('gia_inviata', 'acquisita')
  const unknown = inState('sconosciuta')
  const underWay = inState('in_corso')
  const others = lines.filter((line) => ![...acquired, ...unknown, ...underWay].includes(line))
  const reasons = await refusalReasons(desk, day, others.map(({ prenotazione_id: id }) => id))
  const say = (count: number, one: string, many: string, show: (text: string) => Html) =>
    count === 0 ? NOTHING : show(counted(count, one, many))
  const outcomeRow = (line: DayLine, text: string, kind: 'ok' | 'need' | undefined) =>
    ({ ...doneRow(desk, day, line), chips: [chip(text, kind)] })
  return showDesk(desk, {
    title: texts.outcome,
    actions: html`<p class="meta">${fill(texts.arrivalsOf, dayText(desk, day))}</p>${
      underWay.length > 0 ? buttonLink(desk.request.url, texts.refresh) : NOTHING}${
      unknown.length > 0 ? buttonLink('/polizia', texts.toPolice) : NOTHING}${
      buttonLink(`/oggi?giorno=${day}`, texts.backToDay, { isMain: true })}`,
    content: html`${say(unknown.length, texts.unknownOne, texts.unknownMany, alarm)}${
      say(others.length, texts.notSentOne, texts.notSentMany, alarm)}${
      say(acquired.length, texts.acquiredOne, texts.acquiredMany, notice)}${
      say(underWay.length, texts.underWay, texts.underWay, notice)}${bookingRows([
      ...unknown.map((line) => ({ ...outcomeRow(line, texts.rowUnknown, 'need'), isDone: false })),
      ...others.map((line) => notSentRow(desk, day, line, reasons.get(line.prenotazione_id))),
      ...underWay.map((line) => outcomeRow(line, texts.rowUnderWay, undefined)),
      ...acquired.map((line) => outcomeRow(line, texts.rowAcquired, 'ok'))
    ])}`
  })
}

/** A booking that was not acquired, with the reason of the service or what it lacks. */
function notSentRow (desk: Desk, day: DayText, line: DayLine, reason: RefusalReason | undefined): BookingRow {
  const texts = sendDayTexts[desk.language]
  if (reason === undefined) {
    const row = incompleteRow(desk, day, line)
    return { ...row, chips: row.chips.length > 0 ? row.chips : [chip(texts.rowNotSent, 'need')] }
  }
  return {
    ...incompleteRow(desk, day, line),
    chips: [chip(`${reason.isRefused ? texts.rowRefused : texts.rowNotSent}: ${reason.text}`, 'need')],
    next: { word: todayTexts[desk.language].check, href: bookingPage(line.prenotazione_id) }
  }
}
