import type { DayState } from '#schemas/giornata.ts'
import { SCHEDINA_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import type { TodayBooking } from '#schemas/today.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { Day } from '#src/lib/time.ts'
import { chip, nextLink, NOTHING } from './desk-layout.ts'
import { fill, type Desk } from './desk-page.ts'
import { counted, guestCount, missingWords, nightCount } from './missing-words.ts'
import { todayTexts, type TodayTexts } from './texts/today-texts.ts'

/** Maximum remarks of a row. The booking's own page shows all of them. */
const REMARKS = 2

/** One row of a list of bookings, with one next step at its right edge. */
export interface BookingRow {
  /** The text before the name, e.g. the unit. */
  first: string
  name: string
  about: readonly string[]
  /** The page of the booking. */
  href: string
  chips: readonly Html[]
  next?: NextStep
  /** Shown in a lighter colour. */
  isDone?: boolean
}

interface NextStep { word: string, href: string, isMain?: boolean }

/** A list of bookings. */
export function bookingRows (rows: readonly BookingRow[]): Html {
  return html`<ol class="rows">
${rows.map(oneRow)}</ol>
`
}

function oneRow ({ first, name, about, href, chips, next, isDone = false }: BookingRow): Html {
  const step = next === undefined ? NOTHING : nextLink(next.href, next.word, name, next.isMain)
  return html`<li${isDone ? html` class="done"` : NOTHING}><span class="unit">${first}</span><a class="who" href="${
    href}">${name}<small>${about.filter((part) => part !== '').join(' · ')}</small></a><span class="chips">${
    chips}</span>${step}</li>
`
}

/** The page of a booking. */
export const bookingPage = (id: number) => `/prenotazioni/${id}`

/** The URL of a booking's page, at the first missing field of a guest if there is one. */
export function missingField (id: number, errors: readonly Segnalazione[]): string {
  const first = errors.find(({ campo }) => SCHEDINA_FIELDS.some((name) => name === campo))
  return first === undefined ? bookingPage(id) : `${bookingPage(id)}#f-dati-${first.ospite}-${first.campo}`
}

/** The states in which a person has nothing to do. */
const DONE: readonly (DayState | null)[] = ['gia_inviata', 'acquisita', 'in_corso', null]

/** Whether a person has something to do in a booking. */
export function needsPerson ({ registrazione: state }: TodayBooking): boolean {
  return !DONE.includes(state)
}

interface RowOptions {
  day: Day
  /** Whether a person must act now. If so, missing data is amber. */
  isNow: boolean
  /** The page that sends a booking of the day. */
  sendPage?: string
}

/** The row of a booking of the day, with its next step in one word. */
export function todayRow (desk: Desk, booking: TodayBooking, options: RowOptions): BookingRow {
  const texts = todayTexts[desk.language]
  const { id, nome_cognome: name, numero_notti: nights, numero_ospiti: guests, unita, registrazione: state } = booking
  return {
    first: unita?.nome ?? texts.noUnit,
    name,
    about: [nightCount(desk, nights), guestCount(desk, guests)],
    href: bookingPage(id),
    chips: chipsOf(desk, booking, options.isNow),
    next: nextStep(texts, booking, options),
    isDone: DONE.includes(state)
  }
}

function nextStep (
  texts: TodayTexts, { id, registrazione: state, mancano }: TodayBooking, { sendPage, isNow }: RowOptions
): NextStep {
  const href = bookingPage(id)
  if (state === 'pronta' && sendPage !== undefined) {
    return { word: texts.send, href: `${sendPage}&prenotazione=${id}`, isMain: isNow }
  }
  if (state === 'incompleta') {
    const hasNoGuest = mancano.some(({ campo, ospite }) => campo === 'ospiti' && ospite === 0)
    return hasNoGuest
      ? { word: texts.scan, href: `/scansione/${id}/0` }
      : { word: texts.complete, href: missingField(id, mancano) }
  }
  return { word: DONE.includes(state) || state === 'pronta' ? texts.open : texts.check, href }
}

function chipsOf (desk: Desk, booking: TodayBooking, isNow: boolean): Html[] {
  const texts = todayTexts[desk.language]
  const { stato, registrazione: state, numero_ospiti: guests, ospiti_completi: complete, lettera } = booking
  if (state === null) return stato === 'confermata' ? [] : [chip(texts[stato])]
  const missing = missingWords(desk, { isIncomplete: state === 'incompleta', guests, errors: booking.mancano })
  const left = missing.length - REMARKS
  const stateChip = state === 'pronta' || state === 'incompleta'
    ? []
    : [chip(texts[state], DONE.includes(state) ? 'ok' : 'need')]
  return [
    ...stateChip,
    ...state === 'pronta' || (state === 'incompleta' && complete > 0)
      ? [chip(completeText(texts, complete, guests), complete >= guests ? 'ok' : undefined)]
      : [],
    ...missing.slice(0, REMARKS).map((text) => chip(text, isNow ? 'need' : undefined)),
    ...left > 0 ? [chip(counted(left, texts.moreOne, texts.moreMany))] : [],
    ...lettera ? [chip(texts.letter)] : []
  ]
}

/** The number of guests with all data: `2 di 3 ospiti`. */
export function completeText (texts: TodayTexts, complete: number, guests: number): string {
  return fill(guests === 1 ? texts.completeOne : texts.completeMany.replace('{m}', String(guests)), complete)
}
