import { sql } from 'drizzle-orm'
import { isUnresolved } from '#schemas/submission.ts'
import { savedGuests, staysById, staysDuring, type StayWithGuests } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import { filingDeadline } from '../deadlines.ts'
import {
  openSubmissions, readAccounts, readOwnRows, readRowsOfNoStay, receiptTimes, type Candidate, type Comparison,
  type Prints, type SentRow
} from './coverage-rows.ts'
import { fingerprint, guestAt, type SavedGuest } from './fingerprints.ts'

/*
 * Counts the guests of a booking who are acquired, or on a receipt. Each guest is compared with the rows sent for the
 * booking, and with rows that have no booking or whose booking was deleted.
 */

/** Stays compared at a time, to bound memory. */
const CHUNK = 500

/** Strongest match first: exact names, then sorted letters, then document number. */
const KINDS = ['identita', 'persona', 'documento'] as const

/** A stay, and the first night of the 30-night period to report. */
interface StayFrom extends Pick<StayWithGuests, 'id' | 'check_in' | 'numero_notti' | 'numero_ospiti'> {
  from: Day
}

/** A booking with its saved guests: the fingerprints of each, one per account that may have sent it. */
interface Places { numero_ospiti: number, guests: readonly (readonly Prints[])[] }

/** The saved guests of a stay, and the rows that may be theirs; `own` holds all rows sent for the stay. */
interface Compared { places: Places, rows: readonly SentRow[], saved: readonly SavedGuest[], own: readonly SentRow[] }

/**
 * Counts the places of a booking that rows fill, one row per place, and returns the rows adopted from no booking. A
 * saved guest's row fills that guest's place. A row of an unsaved guest fills a place without a saved guest. If it is
 * trusted, it may also fill the place of a saved guest without a row.
 */
export function fillPlaces<Row extends Candidate> (
  { numero_ospiti, guests }: Places, rows: readonly Row[]
): { filled: number, adopted: Row[] } {
  const taken = matchGuests(guests, rows)
  const isSaved = (row: Row) => guests.some((guest) => KINDS.some((kind) => is(row, guest, kind)))
  const strangers = rows.filter((row) => row.isOwn && !isSaved(row))
  const trusted = strangers.filter(({ isTrusted }) => isTrusted).length
  const withoutRow = guests.length - taken.size
  const vacant = Math.max(0, numero_ospiti - guests.length - Math.max(0, trusted - withoutRow))
  return {
    filled: taken.size + trusted + Math.min(strangers.length - trusted, vacant),
    adopted: [...taken.values()].filter(({ isOwn }) => !isOwn)
  }
}

/**
 * Whether a guest's place (0-based) is filled: by the guest's own row, or because all places are. Saved guests count as
 * places even above `numero_ospiti`.
 */
function isPlaceFilled (places: Places, rows: readonly Candidate[], place: number): boolean {
  const all = Math.max(places.numero_ospiti, places.guests.length)
  return matchGuests(places.guests, rows).has(place) || fillPlaces(places, rows).filled >= all
}

/** Matches each saved guest with at most one row, by place. */
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

/**
 * Compares stays in chunks. A row without a booking counts for one stay only, the first that the returned function
 * sees. So a booking that was deleted and entered again finds its guests.
 */
export function coverageCounter (comparison: Comparison) {
  const adopted = new Set<string>()

  /** @returns what `report` says of each stay; its `count` counts guests covered by rows that pass `isCounted` */
  return async <Stay extends StayFrom, Told>(
    stays: readonly Stay[],
    report: (stay: Stay, count: (isCounted: (row: SentRow) => boolean) => number, rows: readonly SentRow[]) => Told
  ): Promise<Told[]> => {
    const told: Told[] = []
    for (let at = 0; at < stays.length; at += CHUNK) {
      const chunk = stays.slice(at, at + CHUNK)
      const compared = await compare(comparison, chunk, adopted)
      told.push(...chunk.map((stay, n) => {
        const { places, rows } = compared[n]!
        return report(stay, (isCounted) => fillPlaces(places, rows.filter(isCounted)).filled, rows)
      }))
    }
    return told
  }
}

/** @param adopted rows without a stay that another stay has adopted; adds those adopted here */
async function compare (
  comparison: Comparison, stays: readonly StayFrom[], adopted = new Set<string>()
): Promise<Compared[]> {
  const ids = stays.map(({ id }) => id)
  const saved = await savedGuests(comparison.db, ids)
  const accounts = await readAccounts(comparison, stays.flatMap(({ id, from }) => saved.has(id) ? from : []))
  const guests = stays.map(({ id, from }) => (saved.get(id) ?? []).map((guest) =>
    (accounts.get(from) ?? []).map((account) => printsOf(comparison, account, from, guest))))
  const ownOf = Map.groupBy(await readOwnRows(comparison, ids), ({ prenotazione_id }) => prenotazione_id)
  const others = await readRowsOfNoStay(comparison, [...new Set([...accounts.values()].flat())], guests.flat(2))
  const byPrint = Map.groupBy(
    others.flatMap((row) => textsOf(row).map((print) => ({ print, row }))), ({ print }) => print)

  return stays.map((stay, at) => {
    const places = { numero_ospiti: stay.numero_ospiti, guests: guests[at]! }
    const theirs = places.guests.flat().flatMap(textsOf)
      .flatMap((print) => byPrint.get(print) ?? [])
      .flatMap(({ row }) => adopted.has(row.id) || row.prenotazione_id === stay.id ? [] : row)
    const own = ownOf.get(stay.id) ?? []
    const rows = [...own.filter((row) => isOf(stay, row)), ...new Set(theirs)]
    for (const { id } of fillPlaces(places, rows).adopted) adopted.add(id)
    return { places, rows, saved: saved.get(stay.id) ?? [], own }
  })
}

/**
 * Whether a row sent for a stay belongs to this 30-night period. A row with an arrival outside the whole stay means
 * that the stay was moved: it counts once the questura is asked to correct it.
 */
function isOf ({ check_in, numero_notti, from }: StayFrom, { data_arrivo, isCorrected }: SentRow): boolean {
  if (data_arrivo >= from && data_arrivo < addDays(from, MAX_DECLARED_NIGHTS)) return true
  const end = addDays(check_in, Math.max(numero_notti, MAX_DECLARED_NIGHTS))
  return isCorrected && from === check_in && (data_arrivo < check_in || data_arrivo >= end)
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

function textsOf ({ identita, persona, documento }: Prints): string[] {
  return [identita, persona, documento].flatMap((print) => print ?? [])
}

/**
 * Whether the row's guest is, or may be, with the police. An unknown outcome that an administrator gave up is not:
 * nothing will settle it.
 */
export function isLive (row: SentRow): boolean {
  return row.isUnfinished || isFiled(row) || (isUnresolved(row.esito) && row.stato !== 'annullato')
}

/** Whether the row's guest was acquired, or filed elsewhere. */
function isFiled ({ esito }: SentRow): boolean {
  return esito === 'acquisita' || esito === 'depositata'
}

/** A booking that has arrived and has guests who are not with the police yet. */
interface UnfiledBooking {
  bookingId: number
  /** The reporting day: the arrival, or a later period's first day of a long stay. */
  arrival: Day
  deadline: Date
  /** Guests neither acquired nor filed elsewhere. */
  missing: number
  /** Those of them who are in no unfinished submission. */
  unsent: number
}

/**
 * Finds bookings that are due today or yesterday and have fewer guests with the police than `numero_ospiti`. A stay of
 * more than 30 nights is due again every 30 nights, because a schedina covers 30 at most.
 */
export async function unfiledBookings (comparison: Comparison): Promise<UnfiledBooking[]> {
  const { db, today } = comparison
  const yesterday = addDays(today, -1)
  const stays = staysDuring(db, { from: yesterday, to: today }).as('p')
  const due = await db.execute<StayFrom & Record<string, unknown>>(sql`
    select p.id, p.check_in::text as check_in, d.arrivo::text as "from", p.numero_notti, p.numero_ospiti
    from ${stays}
    join (values (${yesterday}::date), (${today}::date)) d (arrivo)
      on d.arrivo >= p.check_in and d.arrivo < p.check_in + p.numero_notti
        and (d.arrivo - p.check_in) % ${MAX_DECLARED_NIGHTS}::int = 0
    order by d.arrivo, p.id`)
  const looked = await coverageCounter(comparison)(due, ({ id, from, numero_notti, numero_ospiti }, count) => ({
    bookingId: id,
    arrival: from,
    deadline: filingDeadline(from, numero_notti),
    missing: numero_ospiti - count((row) => !row.isUnfinished && isFiled(row)),
    unsent: numero_ospiti - count((row) => row.isUnfinished || isFiled(row))
  }))
  return looked.filter(({ missing }) => missing > 0)
}

/** Coverage of a guest. `ricevuto`: acquired and on a stored receipt. The other values are those of document images. */
type GuestStatus =
  | { stato: 'ricevuto', dal: Date }
  | { stato: 'in_attesa_di_ricevuta' | 'senza_ricevuta' | 'altro_arrivo' | 'mai_inviata' }

export interface BookingCoverage {
  /** A guest of the booking may still be acquired, or the outcome is unknown. */
  open: 'invio_aperto' | 'esito_sconosciuto' | null
  /** @param place of the guest, 0-based */
  guest (place: number): GuestStatus
}

/**
 * Returns since when each guest is covered by a receipt. A guest is covered by a row of their own, or when as many
 * guests as the booking has are covered. For stays of more than 30 nights the first 30 count. Bookings that do not
 * exist are omitted.
 */
export async function coverageOf (
  comparison: Comparison, ids: readonly number[]
): Promise<ReadonlyMap<number, BookingCoverage>> {
  const { db } = comparison
  const stays = (await staysById(db, ids)).map((stay) => ({ ...stay, from: stay.check_in }))
  const compared = await compare(comparison, stays)
  const open = Map.groupBy(await openSubmissions(db, stays.map(({ id }) => id)), ({ prenotazione_id: id }) => id)
  const times = await receiptTimes(db, compared.flatMap(({ rows }) =>
    rows.flatMap(({ invio_id, isReceipted }) => isReceipted ? invio_id : [])))
  return new Map(stays.map(({ id, check_in }, at) => {
    const { rows, saved, own } = compared[at]!
    const statusOf = coverageStatus(compared[at]!, times)
    const moved = own.filter((row) => isFiled(row) && row.data_arrivo !== check_in)
    /** Whether the guest was sent for this booking with another arrival: the booking was moved since. */
    const isMoved = (place: number) => saved[place] !== undefined && moved.some((row) => {
      const prints = textsOf(printsOf(comparison, row.utente, row.data_arrivo, saved[place]!))
      return textsOf(row).some((print) => prints.includes(print))
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

function coverageStatus ({ places, rows }: Compared, times: ReadonlyMap<number, Date>): BookingCoverage['guest'] {
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
    return { stato: isPlaceFilled(places, rows.filter(isFiled), place) ? 'senza_ricevuta' : 'mai_inviata' }
  }
}
