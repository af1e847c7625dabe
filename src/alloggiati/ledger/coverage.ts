import { sql } from 'drizzle-orm'
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
 * How many guests of a booking are acquired, or on a receipt: guests are compared person by person with the rows that
 * were sent for their booking, and with rows whose booking is gone or that have none.
 */

/** Stays that are looked at together: so many are in memory at a time. */
const CHUNK = 500

/** The surest first: so a row goes to the guest whose name it has, before one whose letters or number it has. */
const KINDS = ['identita', 'persona', 'documento'] as const

/** A stay, and the first of those 30 nights of it that its guests are to be communicated for. */
interface StayFrom extends Pick<StayWithGuests, 'id' | 'check_in' | 'numero_notti' | 'numero_ospiti'> {
  from: Day
}

/** A booking with its saved guests: the fingerprints of each with every account that may have sent them. */
interface Places { numero_ospiti: number, guests: readonly (readonly Prints[])[] }

/** The saved guests of a stay, and the rows that may be theirs; `own` are all that were sent for it. */
interface Compared { places: Places, rows: readonly SentRow[], saved: readonly SavedGuest[], own: readonly SentRow[] }

/**
 * How many places of a booking rows fill, each row one place and each place one row, and which rows of others it took
 * for that. A saved guest fills a place with a row of theirs. A row of a guest who is not saved fills a place for which
 * no guest is saved; when it is trusted, also that of a saved guest who has no row.
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
 * Whether the place of a guest, 0-based, is filled: by a row of theirs, or because every place is. A saved guest has a
 * place, also where the booking is for fewer.
 */
function isPlaceFilled (places: Places, rows: readonly Candidate[], place: number): boolean {
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

/**
 * Compares stays, some at a time. A row of no booking counts for one stay, the first of all that are looked at with the
 * function that this one gives: so a booking that was entered again finds its guests.
 */
export function closerLook (comparison: Comparison) {
  const adopted = new Set<string>()

  /** @returns for each stay, in their order, how many of its guests the rows stand for that are to be counted */
  return async <Stay extends StayFrom, Told>(
    stays: readonly Stay[], tell: (stay: Stay, count: (isCounted: (row: SentRow) => boolean) => number) => Told
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

/** @param adopted rows of no stay that count for another; those that count for these are added */
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
      .flatMap((print) => byPrint.get(print) ?? []).flatMap(({ row }) => adopted.has(row.id) ? [] : row)
    const own = ownOf.get(stay.id) ?? []
    const rows = [...own.filter((row) => isOf(stay, row)), ...new Set(theirs)]
    for (const { id } of fillPlaces(places, rows).adopted) adopted.add(id)
    return { places, rows, saved: saved.get(stay.id) ?? [], own }
  })
}

/**
 * Whether a row that was sent for a stay is of these 30 nights. One with an arrival outside of the whole stay is of an
 * arrival that was moved: it counts when the questura is asked to correct it.
 */
function isOf ({ check_in, numero_notti, from }: StayFrom, { data_arrivo, isCorrected }: SentRow): boolean {
  if (data_arrivo >= from && data_arrivo < addDays(from, MAX_DECLARED_NIGHTS)) return true
  const end = addDays(check_in, Math.max(numero_notti, MAX_DECLARED_NIGHTS))
  return isCorrected && from === check_in && (data_arrivo < check_in || data_arrivo >= end)
}

/** The fingerprints that a saved guest has at an arrival, when the account sends them. */
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

/** The row's guest was acquired, or filed by another way. */
function isFiled ({ esito }: SentRow): boolean {
  return esito === 'acquisita' || esito === 'depositata'
}

/** A booking whose guests should have arrived, and of whom some are not with the police yet. */
interface UnfiledBooking {
  bookingId: number
  /** The day that they are due for: the arrival, or the day from which a long stay is due again. */
  arrival: Day
  deadline: Date
  /** Guests who are not acquired, nor filed by another way. */
  missing: number
  /** Some of them are in no submission that may still be acquired. */
  isUnattended: boolean
}

/**
 * The bookings with arrival today or yesterday of which fewer guests are with the police than the booking says. A stay
 * of more than 30 nights is due again on its 31st day, and so on: a schedina says 30 nights at most.
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
  const looked = await closerLook(comparison)(due, ({ id, from, numero_notti, numero_ospiti }, count) => ({
    bookingId: id,
    arrival: from,
    deadline: filingDeadline(from, numero_notti),
    missing: numero_ospiti - count((row) => !row.isUnfinished && isFiled(row)),
    isUnattended: count((row) => row.isUnfinished || isFiled(row)) < numero_ospiti
  }))
  return looked.filter(({ missing }) => missing > 0)
}

/** How a guest stands: `ricevuto` acquired and on a receipt that is kept, the others as the image of a document. */
type GuestStanding =
  | { stato: 'ricevuto', dal: Date }
  | { stato: 'in_attesa_di_ricevuta' | 'senza_ricevuta' | 'altro_arrivo' | 'mai_inviata' }

export interface BookingCoverage {
  /** Something of the booking may still be acquired, or is not known. */
  open: 'invio_aperto' | 'esito_sconosciuto' | null
  /** @param place of the guest, 0-based */
  guest (place: number): GuestStanding
}

/**
 * Since when each guest of bookings is covered by a receipt, by the same comparison of persons as the check of the
 * receipts: a guest is covered when a row of theirs is, or when as many guests are as the booking is for. Of a stay of
 * more than 30 nights the first 30 count. Bookings that do not exist are not in the answer.
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
    const standingOf = standings(compared[at]!, times)
    const moved = own.filter((row) => isFiled(row) && row.data_arrivo !== check_in)
    /** The guest was sent for the booking with another arrival: the booking was moved since. */
    const isMoved = (place: number) => saved[place] !== undefined && moved.some((row) => {
      const prints = textsOf(printsOf(comparison, row.utente, row.data_arrivo, saved[place]!))
      return textsOf(row).some((print) => prints.includes(print))
    })
    return [id, {
      open: openness((open.get(id) ?? []).map(({ isUnknown }) => isUnknown), rows),
      guest: (place) => {
        const standing = standingOf(place)
        return standing.stato === 'mai_inviata' && isMoved(place) ? { stato: 'altro_arrivo' } : standing
      }
    }]
  }))
}

function openness (areUnknown: readonly boolean[], rows: readonly SentRow[]): BookingCoverage['open'] {
  if (areUnknown.length === 0) return rows.some(({ isUnfinished }) => isUnfinished) ? 'invio_aperto' : null
  return areUnknown.every(Boolean) ? 'esito_sconosciuto' : 'invio_aperto'
}

function standings ({ places, rows }: Compared, times: ReadonlyMap<number, Date>): BookingCoverage['guest'] {
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
