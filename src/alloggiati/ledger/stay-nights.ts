import { peakOccupancy, type GuestDays, type StayWithGuests } from '#src/bookings/index.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Prints, SentRow } from './coverage-rows.ts'
import { fillPlaces, isOfGuests, ownersOf } from './places.ts'

/*
 * Computes which nights of a stay are declared to the police. A row declares the nights from its arrival. A guest who
 * stays longer is declared again, with the first undeclared night as arrival (guide, p. 7).
 */

export type Stay = Pick<StayWithGuests, 'id' | 'check_in' | 'numero_notti' | 'numero_ospiti'>

/** A stay with its saved guests, and the live rows that may belong to them. */
export interface ComparedStay {
  stay: Stay
  /** The nights of each saved guest. */
  days: readonly GuestDays[]
  /** The fingerprints of each saved guest, for each account and arrival that is compared. */
  guests: readonly (readonly PrintsAt[])[]
  /**
   * Rows with an arrival in the stay, or less than 30 days after its check-in. After the stay was moved, rows with a
   * requested correction count from the check-in.
   */
  rows: readonly SentRow[]
}

export interface PrintsAt extends Prints { day: Day }

type Counted = (row: SentRow) => boolean

/** The number of guests who arrive on one day, and the number of them with a row that counts. */
export interface Arrivals {
  day: Day
  guests: number
  /** The nights of the guest who departs first, because a short stay has an earlier deadline. */
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

/** Counts the places without a saved guest in any night. A guest who replaces another has the same place. */
export function unsavedGuests (numero_ospiti: number, days: readonly GuestDays[]): number {
  return Math.max(0, numero_ospiti - peakOccupancy(days))
}

/**
 * The arrivals of a stay: its check-in, and guests' arrivals on other days. A row counts for an arrival if it begins on
 * that day or less than 30 days later, or if its correction was requested.
 */
export function arrivalsOf (compared: ComparedStay): Arrivals[] {
  const { stay: { check_in, numero_ospiti }, days } = compared
  const later = days.flatMap(({ arrival }) => arrival === check_in ? [] : arrival)
  const unsaved = unsavedGuests(numero_ospiti, days)
  return [check_in, ...[...new Set(later)].toSorted()].map((day) => {
    const arriving = placesOf(days, ({ arrival }) => arrival === day)
    // Guests who are not saved yet arrive at the check-in.
    const guests = arriving.length + (day === check_in ? unsaved : 0)
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

/** The rows of the guests in these places, and the rows of unsaved guests. */
function rowsOfGuests ({ guests, rows }: ComparedStay, places: readonly number[]): readonly SentRow[] {
  if (places.length === guests.length) return rows
  const wanted = places.map((place) => guests[place]!)
  return rows.filter((row) => isOfGuests(row, wanted) || !isOfGuests(row, guests))
}

/** The fingerprints of a guest at the guest's own arrival. */
export function printsOfArrival ({ days, guests }: ComparedStay, place: number): readonly PrintsAt[] {
  return guests[place]!.filter(({ day }) => day === days[place]!.arrival)
}

/**
 * Leaves out rows of the same guests with another arrival. Such rows declare other nights, and must not fill the place
 * of another guest. Keeps such a row if its correction was requested and the guest has no row of the right arrival.
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

/** The rows of one guest. An unsaved guest has neither days nor fingerprints. */
interface GuestRows { days?: GuestDays, prints?: readonly PrintsAt[], rows: SentRow[] }

/**
 * Assigns each row to at most one guest: to the matching saved guest, else to an unsaved guest. If no guest is unsaved,
 * or a correction of the row was requested, it belongs to a saved guest without rows, whose name and document were
 * corrected. Lists, alarms and Sends all use this result.
 */
function assignRows ({ stay, days, guests, rows }: ComparedStay): { saved: GuestRows[], unsaved: GuestRows[] } {
  const saved = days.map((days, place): GuestRows => ({ days, prints: guests[place]!, rows: [] }))
  const unsaved = Array.from({ length: unsavedGuests(stay.numero_ospiti, days) }, (): GuestRows => ({ rows: [] }))
  const inOrder = rows.toSorted((one, other) => one.data_arrivo < other.data_arrivo ? -1 : 1)
  const unmatched: SentRow[] = []
  for (const row of inOrder) {
    const owners = ownersOf(row, guests).map((place) => saved[place]!)
    const owner = owners.find((guest) => isFree(guest, row)) ?? owners[0]
    if (owner !== undefined) owner.rows.push(row)
    else if (row.isOwn) unmatched.push(row)
  }
  const withoutRows = saved.filter(({ rows }) => rows.length === 0)
  for (const row of unmatched) {
    const candidates = row.isCorrected ? [...withoutRows, ...unsaved] : [...unsaved, ...withoutRows]
    candidates.find((guest) => isFree(guest, row))?.rows.push(row)
  }
  return { saved, unsaved }
}

/** Whether the guest is present at the arrival of a row, and has no other row for the same nights. */
function isFree ({ days, rows }: GuestRows, { data_arrivo, permanenza }: SentRow): boolean {
  const isPresent = days === undefined || (days.arrival <= data_arrivo && data_arrivo < days.departure)
  const end = endOf({ data_arrivo, permanenza })
  return isPresent && rows.every((row) => endOf(row) <= data_arrivo || end <= row.data_arrivo)
}

/** A night of a stay, and the number of guests for whom no row declares it. */
export interface Undeclared {
  night: Day
  guests: number
  /**
   * The arrivals of those guests who have no row, or only rows with another name, birth date and document. These
   * guests are counted here, so callers must not count them again as missing on their arrival.
   */
  withoutRow: readonly Day[]
}

/**
 * Finds the first night from one day to another, both included, that is not declared for guests who were declared
 * before. The 31st night of a guest, and every 30th night after it, is due in any case.
 */
export function firstUndeclared (
  compared: ComparedStay, { from, to }: { from: Day, to: Day }, isCounted: Counted = () => true
): Undeclared | undefined {
  const { stay, rows } = compared
  const first = from > stay.check_in ? from : addDays(stay.check_in, 1)
  const last = to < departureOf(stay) ? to : addDays(departureOf(stay), -1)
  const ends = rows.flatMap((row) => [row.data_arrivo, endOf(row)])
  const arrivals = new Set([stay.check_in, ...compared.days.map(({ arrival }) => arrival)])
  const renewals = [...arrivals].flatMap((arrival) => renewalsOf(arrival, departureOf(stay)))
  const nights = [first, ...ends, ...renewals].filter((night) => night >= first && night <= last)
  const assigned = assignRows(compared)
  for (const night of [...new Set(nights)].toSorted()) {
    const guests = undeclaredOn(assigned, stay, night, isCounted)
    if (guests.length > 0) return { night, guests: guests.length, withoutRow: arrivalsWithoutRow(guests, stay) }
  }
  return undefined
}

/** The days from which a stay of more than 30 nights is declared again, if each record declares 30 nights. */
function renewalsOf (arrival: Day, departure: Day): Day[] {
  const periods = Math.ceil(daysBetween(arrival, departure) / MAX_DECLARED_NIGHTS)
  return Array.from({ length: Math.max(0, periods - 1) }, (_, n) => addDays(arrival, (n + 1) * MAX_DECLARED_NIGHTS))
}

function undeclaredOn (
  { saved, unsaved }: ReturnType<typeof assignRows>, { check_in }: Stay, night: Day, isCounted: Counted
): GuestRows[] {
  return [...saved, ...unsaved].filter(({ days, rows }) => {
    const arrival = days?.arrival ?? check_in
    if (night <= arrival || (days !== undefined && night >= days.departure)) return false
    const isRenewal = daysBetween(arrival, night) % MAX_DECLARED_NIGHTS === 0
    // Without a row for the arrival, the guest is due for the arrival, and that record declares these nights too.
    const hasArrived = rows.some(({ data_arrivo, isCorrected }) =>
      data_arrivo < night && (data_arrivo >= arrival || isCorrected))
    return (isRenewal || hasArrived) && !rows.some((row) => declares(row, night) && isCounted(row))
  })
}

function arrivalsWithoutRow (guests: readonly GuestRows[], { check_in }: Stay): Day[] {
  return guests.flatMap(({ days, prints = [], rows }) => {
    const areOthers = rows.every((row) => days !== undefined && !row.isTrusted && !isOfGuests(row, [prints]))
    return areOthers ? days?.arrival ?? check_in : []
  })
}

/** The number of guests whose rows all begin after their first 30 nights, if one of the rows counts. */
export function guestsSentLate (compared: ComparedStay, isCounted: Counted): number {
  const { saved, unsaved } = assignRows(compared)
  return [...saved, ...unsaved].filter(({ days, rows }) => {
    const until = addDays(days?.arrival ?? compared.stay.check_in, MAX_DECLARED_NIGHTS)
    return rows.every(({ data_arrivo }) => data_arrivo >= until) && rows.some(isCounted)
  }).length
}

/** The number of guests who are present in a night, and the number of them with a row that declares it. */
export function guestsOfNight (compared: ComparedStay, night: Day): { present: number, declared: number } {
  const { saved, unsaved } = assignRows(compared)
  const present = [...saved.filter(({ days }) => days!.arrival <= night && night < days!.departure), ...unsaved]
  return {
    present: present.length,
    declared: present.filter(({ rows }) => rows.some((row) => declares(row, night))).length
  }
}

/** The nights of a guest to send next. `from` is the arrival in the new record. */
interface Period { from: Day, nights: number }

/**
 * Finds the next period of each saved guest. `from` is the first undeclared night that the service still accepts.
 * Undefined when every night is declared, or when the guest was never declared and the arrival itself is due.
 */
export function nextPeriods (compared: ComparedStay, today: Day): (Period | undefined)[] {
  const accepted = addDays(today, -1)
  return assignRows(compared).saved.map(({ days, rows }) => {
    const { arrival, departure } = days!
    if (rows.length === 0) return undefined
    let from = arrival > accepted ? arrival : accepted
    for (const row of rows) if (declares(row, from)) from = endOf(row)
    const next = rows.find(({ data_arrivo }) => data_arrivo > from)?.data_arrivo ?? departure
    const until = next < departure ? next : departure
    return from < departure ? { from, nights: daysBetween(from, until) } : undefined
  })
}

/** For each place, whether its guest has a live row with an arrival that passes `isWanted`. */
export function declaredPlaces (compared: ComparedStay, isWanted: (arrival: Day) => boolean = () => true): boolean[] {
  return assignRows(compared).saved.map(({ rows }) => rows.some(({ data_arrivo }) => isWanted(data_arrivo)))
}

/** For each place, whether its guest has a live row that begins on the guest's own arrival or later. */
export function arrivedPlaces ({ days, guests, rows }: ComparedStay): boolean[] {
  return guests.map((guest, place) =>
    rows.some((row) => row.data_arrivo >= days[place]!.arrival && isOfGuests(row, [guest])))
}
