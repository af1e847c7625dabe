import type { Keys } from '#src/lib/secrets.ts'
import type { Day } from '#src/lib/time.ts'
import { fingerprint, type Fingerprints, type Guest } from './fingerprints.ts'

/* Compares the rows of a booking with its saved guests. The arrivals of the rows may differ from the booking's. */

/** A live row, with the arrival that its fingerprints include. */
interface LiveRow extends Fingerprints { utente: string, data_arrivo: Day }

/** Whether a row may belong to a saved guest. */
export function mayBelongTo (keys: Keys, row: LiveRow, guest: Guest): boolean {
  return guestsOfRows(keys, [guest])(row).length > 0
}

/** The rows that match none of the given guests. */
export function unmatchedRows<Row extends LiveRow> (
  keys: Keys, rows: readonly Row[], guests: readonly Guest[]
): Row[] {
  const guestsOf = guestsOfRows(keys, guests)
  return rows.filter((row) => guestsOf(row).length === 0)
}

/**
 * Adds to each row an object that identifies its guest: the saved guest, or the row itself if no saved guest matches.
 * If two rows with the same arrival match one guest, only the first gets it, because a person has confirmed that the
 * second is another guest.
 */
export function assignGuests<Row extends LiveRow> (
  keys: Keys, rows: readonly Row[], guests: readonly Guest[]
): (Row & { guest: object })[] {
  const guestsOf = guestsOfRows(keys, guests)
  const taken = new Map<Day, Set<Guest>>()
  return rows.map((row) => {
    const sent = taken.get(row.data_arrivo) ?? new Set()
    const guest = guestsOf(row).find((each) => !sent.has(each))
    if (guest !== undefined) taken.set(row.data_arrivo, sent.add(guest))
    return { ...row, guest: guest ?? row }
  })
}

/** The place (index) of each row's guest. Rows that match no saved guest take the remaining places, in order. */
export function placesOfRows (keys: Keys, rows: readonly LiveRow[], guests: readonly Guest[]): number[] {
  const known = assignGuests(keys, rows, guests).map(({ guest }) => guests.indexOf(guest as Guest))
  const left = [...new Array(rows.length + guests.length).keys()].filter((place) => !known.includes(place))
  return known.map((place) => place < 0 ? left.shift()! : place)
}

/**
 * The rows of guests whose own arrival was corrected after the Send. Each of these rows begins before the corrected
 * arrival, and no row of the guest begins on it or later.
 */
export function rowsBeforeArrival<Row extends LiveRow> (
  keys: Keys, rows: readonly Row[], guests: readonly Guest[]
): ReadonlySet<Row> {
  if (!guests.some(({ arrivo }) => arrivo)) return new Set()
  const guestsOf = guestsOfRows(keys, guests)
  const isBefore = ({ data_arrivo }: Row, { arrivo }: Guest) => Boolean(arrivo) && data_arrivo < arrivo!
  const arrived = new Set(rows.flatMap((row) => guestsOf(row).filter((guest) => !isBefore(row, guest))))
  return new Set(rows.filter((row) => {
    const own = guestsOf(row)
    return own.length > 0 && own.every((guest) => isBefore(row, guest) && !arrived.has(guest))
  }))
}

/** Returns a function that finds the guests of a row. It computes fingerprints once per account and arrival. */
function guestsOfRows (keys: Keys, guests: readonly Guest[]) {
  const byAccountAndArrival = new Map<string, Map<string, Guest[]>>()
  return (row: LiveRow): Guest[] => {
    const { utente, data_arrivo } = row
    const key = `${data_arrivo} ${utente}`
    const known = byAccountAndArrival.get(key) ?? indexByPrint(keys, utente, data_arrivo, guests)
    byAccountAndArrival.set(key, known)
    return [...new Set(hexPrints(row).flatMap((print) => known.get(print) ?? []))]
  }
}

function indexByPrint (keys: Keys, account: string, data_arrivo: Day, guests: readonly Guest[]): Map<string, Guest[]> {
  const byPrint = new Map<string, Guest[]>()
  for (const guest of guests) {
    for (const print of hexPrints(fingerprint(keys, account, { ...guest, data_arrivo }))) {
      byPrint.set(print, [...byPrint.get(print) ?? [], guest])
    }
  }
  return byPrint
}

function hexPrints ({ identita, persona, documento }: Fingerprints): string[] {
  return [identita, persona, documento].flatMap((print) => print?.toString('hex') ?? [])
}
