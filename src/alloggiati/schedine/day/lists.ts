import type { AcceptedList } from '../../rules/validate.ts'
import { filingDeadline } from '../../deadlines.ts'
import type { DayBooking } from './look.ts'

/** Rows of one Send: what a lost reply leaves unknown is no more than that, but for a larger family or group. */
const ROWS = 50

/** A guest in a list: of which booking, and which of its guests. */
export interface Place { booking: DayBooking, ospite: number }

/** One Send of the day: guests of several bookings, their families and groups whole. */
export interface DayList extends AcceptedList { places: Place[] }

/** Guests who are not separated. */
type Unit = Place[]

/** The guests of bookings in lists of one Send each: the first deadlines first, bookings whole where they fit. */
export function listsOf (bookings: readonly DayBooking[]): DayList[] {
  const deadline = ({ ready, nights }: DayBooking) => filingDeadline(ready!.records[0]!.data_arrivo, nights).getTime()
  const inOrder = bookings.toSorted((one, other) => deadline(one) - deadline(other))
  const lists: Unit[] = []
  for (const booking of inOrder) {
    // The parts of one booking stand in the order of its guests, over all lists: so its rows are known again.
    let first = 0
    for (const unit of unitsOf(booking)) {
      const fitting = lists.findIndex((places, at) => at >= first && places.length + unit.length <= ROWS)
      first = fitting < 0 ? lists.push([]) - 1 : fitting
      lists[first]!.push(...unit)
    }
  }
  return lists.map(listOf)
}

/** A booking whole, or by its families and groups where it is larger than a list. */
function unitsOf (booking: DayBooking): Unit[] {
  const places = booking.ready!.leaders.map((leader, ospite) => ({ booking, ospite, leader }))
  return places.length <= ROWS ? [places] : [...Map.groupBy(places, ({ leader }) => leader).values()]
}

export function listOf (places: readonly Place[]): DayList {
  const list: DayList = { records: [], lines: [], leaders: [], places: [] }
  for (const { booking, ospite } of places) {
    const { records, lines, leaders } = booking.ready!
    const leader = list.places.findIndex((place) => place.booking === booking && place.ospite === leaders[ospite]!)
    list.leaders.push(leader < 0 ? list.places.length : leader)
    list.records.push(records[ospite]!)
    list.lines.push(lines[ospite]!)
    list.places.push({ booking, ospite })
  }
  return list
}
