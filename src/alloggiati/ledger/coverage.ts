import { isFiled, isUnresolved } from '#schemas/submission.ts'
import { nightsOf, savedGuests, staysById } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import {
  accountsByArrival, openSubmissions, readOwnRows, readRowsOfNoStay, receiptTimes, type Comparison, type Prints,
  type SentRow
} from './coverage-rows.ts'
import { fingerprint, guestAt, type SavedGuest } from './fingerprints.ts'
import { fillPlaces, isOfGuests, isPlaceFilled } from './places.ts'
import {
  departureOf, endOf, printsOfArrival, rowsOfArrivals, unsavedGuests, type ComparedStay, type PrintsAt, type Stay
} from './stay-nights.ts'

/*
 * Compares the guests of a booking with the rows sent for the booking, and with rows that have no booking or whose
 * booking was deleted or is not confirmed. Shows which guests are acquired, or on a receipt.
 */

/** Number of stays that are compared in one batch, to limit memory. */
const CHUNK = 500

/** The saved guests of a stay, and the rows that may belong to them. `own` contains all live rows of the stay. */
interface Compared extends ComparedStay { saved: readonly SavedGuest[], own: readonly SentRow[] }

/**
 * Compares stays in chunks. A row without a booking counts for one stay only: the first one that the returned function
 * compares. So a booking that was deleted and entered again is matched with the rows of its guests.
 */
export function stayComparer (comparison: Comparison) {
  const adopted = new Set<string>()

  /** @returns the results of `report`, one per stay */
  return async <S extends Stay, Result>(
    stays: readonly S[], report: (stay: S, compared: ComparedStay) => Result
  ): Promise<Result[]> => {
    const results: Result[] = []
    for (let at = 0; at < stays.length; at += CHUNK) {
      const chunk = stays.slice(at, at + CHUNK)
      const compared = await compare(comparison, chunk, adopted)
      results.push(...chunk.map((stay, n) => report(stay, compared[n]!)))
    }
    return results
  }
}

/** Compares one stay. @see stayComparer */
export async function compareStay (comparison: Comparison, stay: Stay): Promise<ComparedStay> {
  const [compared] = await compare(comparison, [stay])
  return compared!
}

/** @param adopted rows without a booking that already count for another stay. The rows found here are added */
async function compare (
  comparison: Comparison, stays: readonly Stay[], adopted = new Set<string>()
): Promise<Compared[]> {
  const ids = stays.map(({ id }) => id)
  const saved = await savedGuests(comparison.db, ids)
  const ownOf = Map.groupBy(await readOwnRows(comparison, ids), ({ prenotazione_id }) => prenotazione_id)
  const found = stays.map((stay) => {
    const own = ownOf.get(stay.id) ?? []
    const guests = saved.get(stay.id) ?? []
    return {
      stay,
      saved: guests,
      days: guests.map(nightsOf(stay)),
      guests: guests.map((): PrintsAt[] => []),
      // Rows of a cancelled booking may be adopted by the booking that replaces it.
      rows: own.flatMap((row) => adopted.has(row.id) ? [] : inStay(stay, row)),
      own
    }
  })
  let newArrivals = found.map(({ stay, days, rows }) => new Set([
    stay.check_in, ...days.map(({ arrival }) => arrival), ...rows.map(({ data_arrivo }) => data_arrivo)
  ]))
  const known = newArrivals.map((days) => new Set(days))
  while (newArrivals.some((days) => days.size > 0)) {
    const others = await readOthers(comparison, found, newArrivals)
    newArrivals = found.map((each, at) => {
      const { stay, rows, guests } = each
      const isNew = (row: SentRow) => row.prenotazione_id !== stay.id && !adopted.has(row.id) &&
        !rows.some(({ id }) => id === row.id)
      const added = others.filter((row) => isNew(row) && isOfGuests(row, guests)).flatMap((row) => inStay(stay, row))
      rows.push(...added)
      const places = { numero_ospiti: stay.numero_ospiti, guests }
      for (const { id } of fillPlaces(places, rows).adopted) adopted.add(id)
      // A guest sent without the booking may have been sent again when the nights of that row ended.
      const ends = added.map(endOf).filter((day) => day < departureOf(stay) && !known[at]!.has(day))
      for (const day of ends) known[at]!.add(day)
      return new Set(ends)
    })
  }
  return found
}

type Found = { stay: Stay, saved: readonly SavedGuest[], guests: PrintsAt[][] }

/** Adds the fingerprints of the guests for these arrivals, and reads matching rows without a booking. */
async function readOthers (
  comparison: Comparison, found: readonly Found[], arrivals: readonly ReadonlySet<Day>[]
): Promise<SentRow[]> {
  const days = found.flatMap(({ saved }, at) => saved.length === 0 ? [] : [...arrivals[at]!])
  const accounts = await accountsByArrival(comparison, days)
  const added = found.flatMap(({ saved, guests }, at) => saved.flatMap((guest, place) => {
    const prints = [...arrivals[at]!].flatMap((day) =>
      (accounts.get(day) ?? []).map((account) => ({ ...printsOf(comparison, account, day, guest), day })))
    guests[place]!.push(...prints)
    return prints
  }))
  return readRowsOfNoStay(comparison, [...new Set([...accounts.values()].flat())], added)
}

/**
 * The row, if its arrival is within the stay, or less than 30 days after the check-in. Another arrival means that the
 * stay was moved. Such a row counts only after a host has asked the questura to correct it, and then from the check-in.
 */
function inStay ({ check_in, numero_notti }: Stay, row: SentRow): SentRow[] {
  const end = addDays(check_in, Math.max(numero_notti, MAX_DECLARED_NIGHTS))
  if (row.data_arrivo >= check_in && row.data_arrivo < end) return [row]
  return row.isCorrected ? [{ ...row, data_arrivo: check_in }] : []
}

/** The fingerprints of a saved guest at an arrival, for one account. */
function printsOf ({ keys }: Comparison, account: string, arrival: Day, guest: SavedGuest): Prints {
  const { identita, persona, documento } = fingerprint(keys, account, guestAt(arrival, guest))
  return {
    identita: identita.toString('hex'),
    persona: persona.toString('hex'),
    documento: documento && documento.toString('hex')
  }
}

function printValues ({ identita, persona, documento }: Prints): string[] {
  return [identita, persona, documento].flatMap((print) => print ?? [])
}

/**
 * Whether the police has, or may have, the guest of the row. False for an unknown outcome that an administrator
 * cancelled, because no receipt will settle it.
 */
export function isLive (row: SentRow): boolean {
  return row.isUnfinished || isFiled(row.esito) || (isUnresolved(row.esito) && row.stato !== 'annullato')
}

/** Coverage of a guest. `ricevuto`: acquired and on a stored receipt. */
type GuestStatus =
  | { stato: 'ricevuto', dal: Date }
  | { stato: 'in_attesa_di_ricevuta' | 'senza_ricevuta' | 'altro_arrivo' | 'mai_inviata' }

export interface BookingCoverage {
  /** `invio_aperto`: a submission is in progress. `esito_sconosciuto`: only unknown outcomes. Null: neither. */
  open: 'invio_aperto' | 'esito_sconosciuto' | null
  /** @param place 0-based place of the guest in the booking */
  guest (place: number): GuestStatus
}

/**
 * Returns the status of each guest of these bookings. A guest is covered by the guest's own row. All guests are covered
 * if the rows cover the booking's number of guests. For stays of more than 30 nights the first 30 count. Bookings that
 * do not exist are omitted.
 */
export async function coverageOf (
  comparison: Comparison, ids: readonly number[]
): Promise<ReadonlyMap<number, BookingCoverage>> {
  const { db } = comparison
  const stays = await staysById(db, ids)
  const compared = await compare(comparison, stays)
  const open = Map.groupBy(await openSubmissions(db, stays.map(({ id }) => id)), ({ prenotazione_id: id }) => id)
  const times = await receiptTimes(db, compared.flatMap(({ rows }) =>
    rows.flatMap(({ invio_id, isReceipted }) => isReceipted ? invio_id : [])))
  return new Map(stays.map(({ id, check_in }, at) => {
    const { saved, own } = compared[at]!
    const rows = firstRows(compared[at]!)
    const statusOf = coverageStatus(compared[at]!, rows, times)
    const moved = own.filter((row) => isFiled(row.esito) && row.data_arrivo !== check_in)
    /** Whether the guest was sent for this booking with another arrival, because the booking was moved. */
    const isMoved = (place: number) => saved[place] !== undefined && moved.some((row) => {
      const prints = printValues(printsOf(comparison, row.utente, row.data_arrivo, saved[place]!))
      return printValues(row).some((print) => prints.includes(print))
    })
    return [id, {
      open: openness((open.get(id) ?? []).map(({ isUnknown }) => isUnknown), rows),
      guest: (place) => {
        const status = statusOf(place)
        return status.stato === 'mai_inviata' && isMoved(place) ? { stato: 'altro_arrivo' } : status
      }
    }]
  }))
}

function openness (areUnknown: readonly boolean[], rows: readonly SentRow[]): BookingCoverage['open'] {
  if (areUnknown.length === 0) return rows.some(({ isUnfinished }) => isUnfinished) ? 'invio_aperto' : null
  return areUnknown.every(Boolean) ? 'esito_sconosciuto' : 'invio_aperto'
}

/** The rows that begin in the first 30 nights of the stay, or on the own arrival of a guest. */
function firstRows ({ stay: { check_in }, days, rows }: Compared): readonly SentRow[] {
  const until = addDays(check_in, MAX_DECLARED_NIGHTS)
  return rows.filter((row) => row.data_arrivo < until || days.some(({ arrival }) => arrival === row.data_arrivo))
}

function coverageStatus (
  compared: Compared, first: readonly SentRow[], times: ReadonlyMap<number, Date>
): BookingCoverage['guest'] {
  const all = [...compared.guests.keys()]
  const rows = rowsOfArrivals(compared, all, first)
  const places = {
    numero_ospiti: all.length + unsavedGuests(compared.stay.numero_ospiti, compared.days),
    guests: all.map((place) => printsOfArrival(compared, place))
  }
  const received = rows.flatMap((row) => {
    const at = row.esito === 'acquisita' && row.isReceipted ? times.get(row.invio_id)?.getTime() : undefined
    return at === undefined ? [] : { ...row, at }
  }).toSorted((one, other) => one.at - other.at)
  const moments = [...new Set(received.map(({ at }) => at))]
  return (place) => {
    const since = moments.find((moment) => isPlaceFilled(places, received.filter(({ at }) => at <= moment), place))
    if (since !== undefined) return { stato: 'ricevuto', dal: new Date(since) }
    if (isPlaceFilled(places, rows.filter(({ esito }) => esito === 'acquisita'), place)) {
      return { stato: 'in_attesa_di_ricevuta' }
    }
    const filed = rows.filter(({ esito }) => isFiled(esito))
    return { stato: isPlaceFilled(places, filed, place) ? 'senza_ricevuta' : 'mai_inviata' }
  }
}
