import { savedGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { NIGHTS_OF_A_SCHEDINA } from '../deadlines.ts'
import { fillPlaces, type Places, type Prints } from './filled-places.ts'
import { fingerprint, guestAt } from './fingerprints.ts'
import { readAccounts, readOwnRows, readRowsOfNoStay, type Comparison, type SentRow } from './sent-rows.ts'

/** Stays that are looked at together: so many are in memory at a time. */
const CHUNK = 500

/** A stay, and the first of those 30 nights of it that its guests are to be communicated for. */
export interface StayFrom extends Pick<StayWithGuests, 'id' | 'check_in' | 'numero_notti' | 'numero_ospiti'> {
  from: Day
}

/** How many guests of a stay the rows stand for that are to be counted. */
export type CountGuests = (isCounted: (row: SentRow) => boolean) => number

/**
 * Compares the saved guests of stays, person by person, with the rows that were sent for them, and with rows whose
 * booking is gone, or that have none: so a booking that was entered again finds its guests. Such a row counts for one
 * stay, the first of all that are looked at with the function that this one gives.
 */
export function closerLook (comparison: Comparison) {
  const adopted = new Set<string>()

  /** @returns what `tell` makes of each stay, in their order */
  return async <Stay extends StayFrom, Told>(
    stays: readonly Stay[],
    tell: (stay: Stay, count: CountGuests) => Told
  ): Promise<Told[]> => {
    const told: Told[] = []
    for (let at = 0; at < stays.length; at += CHUNK) {
      const chunk = stays.slice(at, at + CHUNK)
      const compared = await compare(comparison, chunk, adopted)
      told.push(...chunk.map((stay, n) => {
        const { places, rows } = compared[n]!
        return tell(stay, (isCounted) => fillPlaces(places, rows.filter(isCounted)).filled)
      }))
    }
    return told
  }
}

/** The saved guests of a stay, and the rows that may be theirs. */
export interface Compared { places: Places, rows: readonly SentRow[] }

/** @param adopted rows of no stay that count for another; those that count for these are added */
export async function compare (
  comparison: Comparison,
  stays: readonly StayFrom[],
  adopted = new Set<string>()
): Promise<Compared[]> {
  const ids = stays.map(({ id }) => id)
  const saved = await savedGuests(comparison.db, ids)
  const arrivals = stays.flatMap(({ id, from }) => saved.has(id) ? from : [])
  const accounts = await readAccounts(comparison, arrivals)
  const guests = stays.map(({ id, from }) =>
    (saved.get(id) ?? []).map((guest) => printsOf(comparison, accounts.get(from) ?? [], guestAt(from, guest))))
  const own = Map.groupBy(await readOwnRows(comparison, ids), ({ prenotazione_id }) => prenotazione_id)
  const others = await readRowsOfNoStay(comparison, [...new Set([...accounts.values()].flat())], guests.flat(2))
  const byPrint = Map.groupBy(
    others.flatMap((row) => textsOf(row).map((print) => ({ print, row }))), ({ print }) => print)

  return stays.map((stay, at) => {
    const places = { numero_ospiti: stay.numero_ospiti, guests: guests[at]! }
    const theirs = places.guests.flat().flatMap(textsOf)
      .flatMap((print) => byPrint.get(print) ?? []).flatMap(({ row }) => adopted.has(row.id) ? [] : row)
    const rows = [...(own.get(stay.id) ?? []).filter((row) => isOf(stay, row)), ...new Set(theirs)]
    for (const { id } of fillPlaces(places, rows).adopted) adopted.add(id)
    return { places, rows }
  })
}

/**
 * Whether a row that was sent for a stay is of these 30 nights. One with an arrival outside of the whole stay is of an
 * arrival that was moved: it counts when the questura is asked to correct it.
 */
function isOf ({ check_in, numero_notti, from }: StayFrom, { data_arrivo, isCorrected }: SentRow): boolean {
  if (data_arrivo >= from && data_arrivo < addDays(from, NIGHTS_OF_A_SCHEDINA)) return true
  const end = addDays(check_in, Math.max(numero_notti, NIGHTS_OF_A_SCHEDINA))
  return isCorrected && from === check_in && (data_arrivo < check_in || data_arrivo >= end)
}

/** The fingerprints of a guest with each account. */
export function printsOf (
  { keys }: Comparison, accounts: readonly string[], guest: ReturnType<typeof guestAt>
): Prints[] {
  return accounts.map((account) => {
    const { identita, persona, documento } = fingerprint(keys, account, guest)
    return {
      identita: identita.toString('hex'),
      persona: persona.toString('hex'),
      documento: documento && documento.toString('hex')
    }
  })
}

export function textsOf ({ identita, persona, documento }: Prints): string[] {
  return [identita, persona, documento].flatMap((print) => print ?? [])
}
