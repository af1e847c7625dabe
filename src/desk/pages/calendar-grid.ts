import type { Static } from '@sinclair/typebox'
import type { OccupancyCalendar } from '#schemas/unit.ts'
import { html, type Html } from '#src/lib/html.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import { NOTHING } from './desk-layout.ts'
import { dayText, fill, type Desk } from './desk-page.ts'
import { counted } from './missing-words.ts'
import { calendarTexts, type CalendarTexts } from './texts/calendar-texts.ts'

/** Days of the calendar's page. */
export const SPAN = 31

type CalendarData = Static<typeof OccupancyCalendar>
type UnitLine = CalendarData['data'][number]
export type CalendarStay = UnitLine['prenotazioni'][number]

/** The days of a page, the bookings to highlight, and the pages to open. */
interface Shown {
  from: Day
  today: Day
  /** Bookings in which a person has something to do now. */
  needed: ReadonlySet<number>
  /** The page that opens when a stay is chosen. */
  stayPage: (id: number) => string
  /** The page that books a unit from a day on. */
  newPage: (unit: number, day: Day) => string
}

/** The values of a day that every row of the grid uses, computed once. */
interface Column { day: Day, place: number, className: string, label: string }

/** Units × days as a grid, in which classes place the stays. Each free night is a link to a new booking. */
export function calendarGrid (desk: Desk, { data }: CalendarData, shown: Shown): Html {
  const texts = calendarTexts[desk.language]
  const columns = Array.from({ length: SPAN }, (_, at) => columnOf(desk, shown, at))
  return html`<div class="timeline" role="region" aria-label="${texts.unitsAndDays}" tabindex="0">
<div class="days-row" aria-hidden="true"><span class="corner">${texts.units}</span>${columns.map((column) =>
    html`<span class="day${column.className}"><small>${dayText(desk, column.day, { weekday: 'short' })}</small>${
      Number(column.day.slice(8))}</span>`)}</div>
${data.map((line) => unitRow(desk, texts, line, columns, shown))}</div>
`
}

function columnOf (desk: Desk, { from, today }: Shown, at: number): Column {
  const day = addDays(from, at)
  const isWeekend = [0, 6].includes(new Date(`${day}T00:00Z`).getUTCDay())
  return {
    day,
    place: at + 1,
    className: `${isWeekend ? ' we' : ''}${day === today ? ' today' : ''}`,
    label: dayText(desk, day)
  }
}

function unitRow (
  desk: Desk, texts: CalendarTexts, { unita, prenotazioni, blocchi, liberi }: UnitLine, columns: readonly Column[],
  shown: Shown
): Html {
  const isFree = (day: Day) => liberi.some(({ dal, al }) => dal <= day && day < al)
  const cells = columns.map(({ day, place, className, label }) => isFree(day)
    ? html`<a class="cell s${place}${className}" href="${shown.newPage(unita.id, day)}" aria-label="${
      unita.nome}, ${fill(texts.free, label)}"></a>`
    : className === '' ? NOTHING : html`<span class="cell s${place}${className}"></span>`)
  const blocks = blocchi.map((block) => {
    const { motivo } = block
    return html`<span class="stay off ${placeOf(block, shown)}" title="${texts[motivo]}">${texts[motivo]}</span>`
  })
  return html`<div class="unit-row" role="group" aria-label="${unita.nome}"><span class="unit-name">${
    unita.nome}<small>${counted(unita.ospiti_massimi, texts.placesOne, texts.placesMany)}</small></span>${cells}${
    prenotazioni.map((stay) => stayBar(desk, texts, stay, shown))}${blocks}</div>
`
}

function stayBar (desk: Desk, texts: CalendarTexts, stay: CalendarStay, shown: Shown): Html {
  const { id, titolo, dal, al } = stay
  const [kind, word] = shown.needed.has(id)
    ? ['now ', texts.keyNow]
    : dal <= shown.today && shown.today < al ? ['in ', texts.keyIn] : ['', texts.keyBooked]
  return html`<a class="stay ${kind}${placeOf(stay, shown)}" href="${shown.stayPage(id)}" title="${titolo}"
  aria-label="${titolo}, ${spanText(desk, stay)}, ${word}">${titolo}</a>`
}

/** From one day to another, both with the year. */
export function spanText (desk: Desk, { dal, al }: { dal: Day, al: Day }): string {
  return fill(calendarTexts[desk.language].span, dayText(desk, dal)).replace('{m}', dayText(desk, al))
}

/** The classes of a bar: its first day and its nights. A bar never exceeds the days of the page. */
function placeOf ({ dal, al }: { dal: Day, al: Day }, { from }: Shown): string {
  const start = Math.max(daysBetween(from, dal), 0)
  const end = Math.min(daysBetween(from, al), SPAN)
  const cut = `${daysBetween(from, dal) < 0 ? ' cut' : ''}${daysBetween(from, al) >= SPAN ? ' on' : ''}`
  return `s${start + 1} n${Math.max(end - start, 1)}${cut}`
}
