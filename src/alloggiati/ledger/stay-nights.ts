import type { GuestDays, StayWithGuests } from '#src/bookings/index.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Prints, SentRow } from './coverage-rows.ts'
import { fillPlaces, isOfGuests, matchGuests, type Places } from './places.ts'

/*
 * Computes which nights of a stay are declared to the police. A row declares the nights from its arrival. A guest who
 * stays longer arrives again on the first night that no row declares (guide, p. 7).
 */

export type Stay = Pick<StayWithGuests, 'id' | 'check_in' | 'numero_notti' | 'numero_ospiti'>

/** A stay with its saved guests, and the live rows that may be theirs. */
export interface ComparedStay {
  stay: Stay
  /** The nights of each saved guest. */
  days: readonly GuestDays[]
  /** The fingerprints of each saved guest, with their arrival day. */
  guests: readonly (readonly PrintsAt[])[]
  /** Rows with an arrival in the stay. A row of a moved stay that is being corrected counts from the arrival. */
  rows: readonly SentRow[]
}

export interface PrintsAt extends Prints { day: Day }

type Counted = (row: SentRow) => boolean

/** Guests who arrive on one day: how many there are, and how many of them the counted rows cover. */
export interface Arrivals {
  day: Day
  guests: number
  /** The nights of the guest who departs first, because a short stay has the earlier deadline. */
  nights: number
  count (isCounted: Counted): number
}

/** The nights that a row declares. */
type Declared = Pick<SentRow, 'data_arrivo' | 'permanenza'>

export function endOf ({ data_arrivo, permanenza }: Declared): Day {
  return addDays(data_arrivo, permanenza)
}

function declares (row: Declared, night: Day): boolean {
  return row.data_arrivo <= night && night < endOf(row)
}

export function departureOf ({ check_in, numero_notti }: Pick<Stay, 'check_in' | 'numero_notti'>): Day {
  return addDays(check_in, numero_notti)
}

/** The arrivals of a stay: the check-in, and own arrivals of guests. Rows of the 30 nights from an arrival count. */
export function arrivalsOf (compared: ComparedStay): Arrivals[] {
  const { stay: { check_in, numero_ospiti }, days } = compared
  const later = days.flatMap(({ arrival }) => arrival === check_in ? [] : arrival)
  return [check_in, ...[...new Set(later)].toSorted()].map((day) => {
    const arriving = placesOf(days, ({ arrival }) => arrival === day)
    // Guests who arrive later leave their places free until then. A guest who replaces another has the same place.
    const guests = day !== check_in
      ? arriving.length
      : later.length === 0
        ? numero_ospiti
        : Math.max(arriving.length, numero_ospiti - later.length)
    const until = addDays(day, MAX_DECLARED_NIGHTS)
    const own = arriving.map((place) => compared.guests[place]!)
    const candidates = rowsOfArrivals(compared, arriving, rowsOfGuests(compared, arriving)).filter((row) =>
      (row.data_arrivo >= day && row.data_arrivo < until) || (row.isCorrected && isOfGuests(row, own)))
    const places = { numero_ospiti: guests, guests: arriving.map((place) => printsOfArrival(compared, place)) }
    const departures = [departureOf(compared.stay), ...arriving.map((place) => days[place]!.departure)]
    const nights = Math.min(...departures.map((departure) => daysBetween(day, departure)))
    return { day, guests, nights, count: (isCounted) => fillPlaces(places, candidates.filter(isCounted)).filled }
  })
}

function placesOf (days: readonly GuestDays[], isIncluded: (days: GuestDays) => boolean): number[] {
  return days.flatMap((each, place) => isIncluded(each) ? place : [])
}

/** The rows of the guests in these places, and those of unsaved guests. */
function rowsOfGuests ({ guests, rows }: ComparedStay, places: readonly number[]): readonly SentRow[] {
  if (places.length === guests.length) return rows
  const wanted = places.map((place) => guests[place]!)
  return rows.filter((row) => isOfGuests(row, wanted) || !isOfGuests(row, guests))
}

/** The fingerprints of a guest at his own arrival. */
export function printsOfArrival ({ days, guests }: ComparedStay, place: number): readonly PrintsAt[] {
  return guests[place]!.filter(({ day }) => day === days[place]!.arrival)
}

/**
 * Leaves out rows of the same guests with another arrival: they declare other nights, and fill no other guest's place.
 * Keeps such a row if the questura is asked to correct it, and the guest has none of his arrival.
 */
export function rowsOfArrivals (
  compared: ComparedStay, places: readonly number[], rows: readonly SentRow[]
): readonly SentRow[] {
  const { guests } = compared
  const prints = places.map((place) => printsOfArrival(compared, place))
  const hasArrived = (row: SentRow) => places.some((place, at) =>
    isOfGuests(row, [guests[place]!]) && rows.some((each) => isOfGuests(each, [prints[at]!])))
  return rows.filter((row) =>
    isOfGuests(row, prints) || !isOfGuests(row, guests) || (row.isCorrected && !hasArrived(row)))
}

/** A night of a stay, and the guests for whom no counted row declares it. */
export interface Undeclared { night: Day, guests: number }

/**
 * Finds the first night from one day to another, both included, that is not declared for guests who were declared
 * before. The 31st night of a stay, and every 30th after it, is due for all guests.
 */
export function firstUndeclared (
  compared: ComparedStay, { from, to }: { from: Day, to: Day }, isCounted: Counted = () => true
): Undeclared | undefined {
  const { stay, rows } = compared
  const first = from > stay.check_in ? from : addDays(stay.check_in, 1)
  const last = to < departureOf(stay) ? to : addDays(departureOf(stay), -1)
  const ends = rows.flatMap((row) => [row.data_arrivo, endOf(row)])
  const nights = [first, ...ends, ...renewalsOf(stay)].filter((night) => night >= first && night <= last)
  for (const night of [...new Set(nights)].toSorted()) {
    const guests = undeclaredOn(compared, night, isCounted)
    if (guests > 0) return { night, guests }
  }
  return undefined
}

/** The arrivals of a stay of more than 30 nights after the first, if each one declares 30. */
function renewalsOf ({ check_in, numero_notti }: Stay): Day[] {
  return Array.from({ length: Math.ceil(numero_notti / MAX_DECLARED_NIGHTS) - 1 }, (_, n) =>
    addDays(check_in, (n + 1) * MAX_DECLARED_NIGHTS))
}

function undeclaredOn (compared: ComparedStay, night: Day, isCounted: Counted): number {
  const { stay: { check_in, numero_ospiti }, days, guests } = compared
  const present = placesOf(days, ({ arrival, departure }) => arrival < night && night < departure)
  const unsaved = Math.max(0, numero_ospiti - days.length)
  const places = { numero_ospiti: present.length + unsaved, guests: present.map((place) => guests[place]!) }
  const rows = rowsOfGuests(compared, present)
  const covered = fillPlaces(places, rows.filter((row) => declares(row, night) && isCounted(row))).filled
  const isRenewal = daysBetween(check_in, night) % MAX_DECLARED_NIGHTS === 0
  const declared = isRenewal
    ? Math.min(places.numero_ospiti, numero_ospiti)
    : declaredBefore(places, rows.filter(({ data_arrivo }) => data_arrivo < night))
  return Math.max(0, Math.min(declared, places.numero_ospiti) - covered)
}

/** Counts guests who have a row. Unsaved guests have no name, so the largest number of their rows in a night counts. */
function declaredBefore ({ guests }: Places, rows: readonly SentRow[]): number {
  const unsavedRows = rows.filter((row) => row.isOwn && !isOfGuests(row, guests))
  const maxUnsaved = Math.max(0, ...unsavedRows.map(({ data_arrivo }) =>
    unsavedRows.filter((row) => declares(row, data_arrivo)).length))
  return matchGuests(guests, rows).size + maxUnsaved
}

/** The nights of a guest to send next: from the day that the record names as arrival. */
interface Period { from: Day, nights: number }

/**
 * Finds the next period of each saved guest. `from` is the first undeclared night that the service still accepts.
 * Undefined: every night is declared, or the guest was never declared and the arrival is due.
 */
export function nextPeriods ({ days, guests, rows }: ComparedStay, today: Day): (Period | undefined)[] {
  const accepted = addDays(today, -1)
  return days.map(({ arrival, departure }, place) => {
    const own = rows.filter((row) => isOfGuests(row, [guests[place]!]))
      .toSorted((one, other) => one.data_arrivo < other.data_arrivo ? -1 : 1)
    if (own.length === 0) return undefined
    let from = arrival > accepted ? arrival : accepted
    for (const row of own) if (declares(row, from)) from = endOf(row)
    const next = own.find(({ data_arrivo }) => data_arrivo > from)?.data_arrivo ?? departure
    const until = next < departure ? next : departure
    return from < departure ? { from, nights: daysBetween(from, until) } : undefined
  })
}

/** Whether the guest of each place has a live row whose arrival passes `isWanted`. */
export function declaredPlaces (
  { guests, rows }: ComparedStay, isWanted: (arrival: Day) => boolean = () => true
): boolean[] {
  const wanted = rows.filter(({ data_arrivo }) => isWanted(data_arrivo))
  return guests.map((guest) => wanted.some((row) => isOfGuests(row, [guest])))
}

/** Whether the guest of each place has a live row that begins on the own arrival, or later. */
export function arrivedPlaces ({ days, guests, rows }: ComparedStay): boolean[] {
  return guests.map((guest, place) =>
    rows.some((row) => row.data_arrivo >= days[place]!.arrival && isOfGuests(row, [guest])))
}
