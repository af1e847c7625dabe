import type { Candidate, Prints } from './coverage-rows.ts'

/* Matches rows with the guests of a booking. */

/** Strongest match first: exact names, then sorted letters, then document number. */
const KINDS = ['identita', 'persona', 'documento'] as const

/** The number of guests of a booking, and the fingerprints of each saved guest, by account and arrival. */
export interface Places { numero_ospiti: number, guests: readonly (readonly Prints[])[] }

/**
 * Counts the filled places of a booking. Each row fills one place. Also returns the matched rows without a booking. A
 * saved guest's row fills that guest's place. A row of an unsaved guest fills a place without a saved guest. If it is
 * trusted, it may also fill the place of a saved guest without a row.
 */
export function fillPlaces<Row extends Candidate> (
  { numero_ospiti, guests }: Places, rows: readonly Row[]
): { filled: number, adopted: Row[] } {
  const matched = matchGuests(guests, rows)
  const unsavedRows = rows.filter((row) => row.isOwn && !isOfGuests(row, guests))
  const trusted = unsavedRows.filter(({ isTrusted }) => isTrusted).length
  const withoutRow = guests.length - matched.size
  const vacant = Math.max(0, numero_ospiti - guests.length - Math.max(0, trusted - withoutRow))
  return {
    filled: matched.size + trusted + Math.min(unsavedRows.length - trusted, vacant),
    adopted: [...matched.values()].filter(({ isOwn }) => !isOwn)
  }
}

/**
 * Whether a guest's place (0-based) is filled, by the guest's own row or because all places are filled. Every saved
 * guest has a place, even if there are more than `numero_ospiti`.
 */
export function isPlaceFilled (places: Places, rows: readonly Candidate[], place: number): boolean {
  const all = Math.max(places.numero_ospiti, places.guests.length)
  return matchGuests(places.guests, rows).has(place) || fillPlaces(places, rows).filled >= all
}

/** Matches each saved guest with at most one row. The result has the places of the guests with a row. */
function matchGuests<Row extends Candidate> (
  guests: Places['guests'], rows: readonly Row[]
): ReadonlyMap<number, Row> {
  const matched = new Map<number, Row>()
  const unmatched = new Set(rows)
  for (const kind of KINDS) {
    for (const [place, guest] of guests.entries()) {
      if (matched.has(place)) continue
      const row = rows.find((each) => unmatched.has(each) && isPrint(each, guest, kind))
      if (row === undefined) continue
      matched.set(place, row)
      unmatched.delete(row)
    }
  }
  return matched
}

function isPrint (row: Prints, guest: readonly Prints[], kind: typeof KINDS[number]): boolean {
  return row[kind] !== null && guest.some((prints) => prints[kind] === row[kind])
}

/** The places of the guests with the strongest match for the row. */
export function ownersOf (row: Prints, guests: Places['guests']): number[] {
  const owners = KINDS.map((kind) => guests.flatMap((guest, place) => isPrint(row, guest, kind) ? place : []))
  return owners.find(({ length }) => length > 0) ?? []
}

/** Whether a row may belong to one of these guests. */
export function isOfGuests (row: Prints, guests: Places['guests']): boolean {
  return guests.some((guest) => KINDS.some((kind) => isPrint(row, guest, kind)))
}
