/** The fingerprints of a guest, as text; null where there is none. */
export interface Prints { identita: string, persona: string | null, documento: string | null }

/** A row that may be of a guest of a booking. */
export interface Candidate extends Prints {
  /** It was sent for this booking. Another counts only for a saved guest. */
  isOwn: boolean
  /** It counts even when its guest is not saved: it was sent for the booking as it is, or is being corrected. */
  isTrusted: boolean
}

/** A booking with its saved guests: the fingerprints of each with every account that may have sent them. */
export interface Places { numero_ospiti: number, guests: readonly (readonly Prints[])[] }

/** The surest first: so a row goes to the guest whose name it has, before one whose letters or number it has. */
const KINDS = ['identita', 'persona', 'documento'] as const

/**
 * How many places of a booking rows fill, each row one place and each place one row, and which rows of others it took
 * for that. A saved guest fills a place with a row of theirs. A row of a guest who is not saved fills a place for which
 * no guest is saved; when it is trusted, also that of a saved guest who has no row.
 */
export function fillPlaces<Row extends Candidate> (
  { numero_ospiti, guests }: Places,
  rows: readonly Row[]
): { filled: number, adopted: Row[] } {
  const taken = matchGuests(guests, rows)
  const strangers = rows.filter((row) =>
    row.isOwn && !guests.some((guest) => KINDS.some((kind) => is(row, guest, kind))))
  const trusted = strangers.filter(({ isTrusted }) => isTrusted).length
  const withoutRow = guests.length - taken.size
  const vacant = Math.max(0, numero_ospiti - guests.length - Math.max(0, trusted - withoutRow))
  return {
    filled: taken.size + trusted + Math.min(strangers.length - trusted, vacant),
    adopted: [...taken.values()].filter(({ isOwn }) => !isOwn)
  }
}

/**
 * Whether the place of a guest, 0-based, is filled: by a row of theirs, or because every place is. A saved guest has a
 * place, also where the booking is for fewer.
 */
export function isPlaceFilled (places: Places, rows: readonly Candidate[], place: number): boolean {
  const all = Math.max(places.numero_ospiti, places.guests.length)
  return matchGuests(places.guests, rows).has(place) || fillPlaces(places, rows).filled >= all
}

/** The rows of saved guests by their place, one for each who has any. */
function matchGuests<Row extends Candidate> (guests: Places['guests'], rows: readonly Row[]): ReadonlyMap<number, Row> {
  const taken = new Map<number, Row>()
  const left = new Set(rows)
  for (const kind of KINDS) {
    for (const [place, guest] of guests.entries()) {
      if (taken.has(place)) continue
      const row = rows.find((each) => left.has(each) && is(each, guest, kind))
      if (row === undefined) continue
      taken.set(place, row)
      left.delete(row)
    }
  }
  return taken
}

function is (row: Prints, guest: readonly Prints[], kind: typeof KINDS[number]): boolean {
  return row[kind] !== null && guest.some((prints) => prints[kind] === row[kind])
}
