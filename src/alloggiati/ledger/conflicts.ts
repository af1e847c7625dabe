import { and, asc, eq, gt, inArray, lt, or } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { Duplicato } from '#schemas/alloggiati.ts'
import { LIVE_ROW_OUTCOMES, type RowOutcome } from '#schemas/submission.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { decode } from '../codec/codec.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Excess } from '../sent-errors.ts'
import { fingerprint, type Fingerprints, type Guest } from './fingerprints.ts'
import { accountsByArrival } from './coverage-rows.ts'
import type { WatchContext } from './ledger-context.ts'
import { maskLine, scopeOf } from './read-ledger.ts'
import { assignGuests, mayBelongTo, rowsBeforeArrival, unmatchedRows } from './sent-guests.ts'
import { endOf } from './stay-nights.ts'
import { unsealLine } from './submission-rows.ts'

type Mode = WatchContext['mode']

/** A guest of a list who was or may have been sent before, or a duplicate within the list. */
export interface Conflict {
  duplicate: Duplicato
  /** Outcome and booking of the earlier row. Null for a duplicate within the list. */
  earlier: { esito: RowOutcome, prenotazione_id: number | null } | null
  /** Certainly the same person. No confirmation lifts this conflict, so that the person is not sent twice. */
  certain: boolean
  /**
   * The other arrival with which the guest was sent: for this booking, before it was moved, or, without a booking, for
   * overlapping nights.
   */
  movedFrom?: Day
}

/**
 * Finds conflicts for guests of one arrival: live rows with the same person or document. Rows of any account count,
 * because a guest does not arrive in two places on one day. Also finds duplicates within the list. The caller holds the
 * chain's lock, so no row can appear before the caller writes.
 */
export async function findConflicts (
  db: Executor, keys: Keys, mode: Mode, guests: readonly Guest[]
): Promise<Conflict[]> {
  const { data_arrivo: arrival } = guests[0]!
  const accountNames = (await accountsByArrival({ db, mode }, [arrival])).get(arrival) ?? []
  const printsOf = (account: string) => guests.map((guest) => fingerprint(keys, account, guest))
  const accounts = accountNames.map((account) => ({ account, prints: printsOf(account) }))
  const live = await readLive(db, arrival, accounts)
  const earlier = accounts.flatMap(({ account, prints }) =>
    earlierConflicts(prints, live.filter(({ utente }) => utente === account)))
  return [
    ...earlier.toSorted((one, other) => one.duplicate.ospite - other.duplicate.ospite),
    ...withinList(accounts[0]?.prints ?? printsOf(''))
  ]
}

type LiveRow = Awaited<ReturnType<typeof readLive>>[number]

/** The conflicts of guests with the live rows of one account. */
function earlierConflicts (prints: readonly Fingerprints[], live: readonly LiveRow[]): Conflict[] {
  const byPrint = Map.groupBy(
    live.flatMap((row) => [row.identita, row.persona, row.documento].flatMap((print) => print ? { print, row } : [])),
    ({ print }) => print.toString('hex')
  )
  const rowsWith = (print: Buffer | null) => (print && byPrint.get(print.toString('hex')))?.map(({ row }) => row) ?? []
  return prints.flatMap(({ identita, persona, documento }, ospite) => {
    const samePerson = new Set([...rowsWith(identita), ...rowsWith(persona)])
    return [...new Set([...samePerson, ...rowsWith(documento)])].map((row): Conflict => ({
      duplicate: {
        ospite,
        ricevuta: row.ricevuta,
        stato: row.stato,
        motivo: samePerson.has(row) ? 'stessa_persona' : 'stesso_documento'
      },
      earlier: { esito: row.esito, prenotazione_id: row.prenotazione_id },
      certain: isCertain(row, { identita, persona, documento }, samePerson.has(row))
    }))
  })
}

/**
 * Whether the person is certainly the same: same names, birth date and document. If one of the two has no document,
 * exactly the same names and birth date.
 */
function isCertain (row: Fingerprints, { identita, documento }: Fingerprints, samePerson: boolean): boolean {
  if (row.documento === null || documento === null) return row.identita.equals(identita)
  return samePerson && row.documento.equals(documento)
}

function withinList (prints: readonly Fingerprints[]): Conflict[] {
  const first = new Map<string, number>()
  return prints.flatMap((guest, ospite): Conflict | [] => {
    const { persona, documento } = guest
    const seen = [persona, documento].flatMap((print) => (print === null ? [] : print.toString('hex')))
    const before = seen.findIndex((print) => first.has(print))
    const altro_ospite = before < 0 ? undefined : first.get(seen[before]!)
    for (const print of seen) if (!first.has(print)) first.set(print, ospite)
    if (altro_ospite === undefined) return []
    const samePerson = before === 0
    const motivo = samePerson ? 'stessa_persona' : 'stesso_documento'
    const certain = isCertain(prints[altro_ospite]!, guest, samePerson)
    return { duplicate: { ospite, ricevuta: null, stato: null, motivo, altro_ospite }, earlier: null, certain }
  })
}

/**
 * The live rows that may conflict, including confirmed rows, which the unique indexes leave out. The query filters by
 * arrival, because every fingerprint includes the arrival.
 */
async function readLive (
  db: Executor, arrival: Day, accounts: readonly { account: string, prints: readonly Fingerprints[] }[]
) {
  if (accounts.length === 0) return []
  const { impronta_identita: identita, impronta_persona: persona, impronta_documento: documento } = schedine
  return db
    .select({
      utente: invii.utente,
      ricevuta: invii.ricevuta,
      stato: invii.stato,
      esito: schedine.esito,
      prenotazione_id: schedine.prenotazione_id,
      identita,
      persona,
      documento
    })
    .from(invii)
    .innerJoin(schedine, eq(schedine.invio_id, invii.id))
    .where(and(
      eq(invii.data_arrivo, arrival),
      inArray(schedine.esito, LIVE_ROW_OUTCOMES),
      or(...accounts.map(({ account, prints }) => and(eq(invii.utente, account), or(
        inArray(identita, prints.map((each) => each.identita)),
        inArray(persona, prints.map((each) => each.persona)),
        inArray(documento, prints.flatMap((each) => each.documento ?? []))
      ))))
    ))
    .orderBy(asc(invii.id), asc(schedine.indice))
}

function recordOf (keys: Keys, { id, indice, riga }: { id: number, indice: number, riga: Buffer | null }) {
  const decoded = riga === null ? undefined : decode(unsealLine(keys, id, indice, riga))
  return decoded !== undefined && 'record' in decoded ? decoded.record : undefined
}

/**
 * Finds guests who were sent for their booking with another arrival, before the booking was moved. Fingerprints include
 * the arrival, so the fingerprints of these rows are recomputed with the new arrival. The police has the other arrival,
 * so a Send needs a confirmation. Another period of the same stay is not a conflict, because the guest stays longer. A
 * row before the guest's own arrival is a conflict, because the arrival was corrected.
 * @param saved the saved guests of each booking
 */
export async function findMoved (
  db: Executor,
  keys: Keys,
  { account, mode }: { account: string, mode: Mode },
  guests: readonly (Guest & { prenotazione_id: number | null, permanenza: number })[],
  { stays, saved }: { stays: ReadonlyMap<number, StayDays>, saved: ReadonlyMap<number, readonly Guest[]> }
): Promise<Conflict[]> {
  const { data_arrivo } = guests[0]!
  const bookings = new Set(guests.flatMap(({ prenotazione_id }) => prenotazione_id ?? []))
  const rows = await readBookingRows(db, mode, data_arrivo, [...bookings])
  const beforeArrival = new Set([...saved].flatMap(([id, own]) =>
    [...rowsBeforeArrival(keys, rows.filter((row) => row.prenotazione_id === id), own)]))
  const sent = rows.filter((row) => row.data_arrivo !== data_arrivo).flatMap((row) => {
    const record = recordOf(keys, row)
    const prints = record && fingerprint(keys, account, { ...record, data_arrivo })
    return prints === undefined ? [] : { ...row, ...prints, isBeforeArrival: beforeArrival.has(row) }
  })
  return guests.flatMap((guest, ospite) => {
    const { persona, documento } = fingerprint(keys, account, guest)
    const own = sent.filter((row) => row.prenotazione_id === guest.prenotazione_id &&
      (row.isBeforeArrival || !isOtherPeriod(row, guest, stays.get(row.prenotazione_id!))))
    return own.flatMap((row): Conflict[] => {
      const samePerson = row.persona.equals(persona)
      if (!samePerson && (documento === null || row.documento?.equals(documento) !== true)) return []
      const { ricevuta, stato, esito, prenotazione_id, data_arrivo: movedFrom } = row
      const motivo = samePerson ? 'stessa_persona' : 'stesso_documento'
      const duplicate: Duplicato = { ospite, ricevuta, stato, motivo }
      return [{ duplicate, earlier: { esito, prenotazione_id }, certain: false, movedFrom }]
    })
  })
}

/** The first and last day of a booking. */
export interface StayDays { check_in: Day, check_out: Day }

/** The arrival and the nights of a record. */
type Nights = Pick<BookingRow, 'data_arrivo' | 'permanenza'>

/**
 * Whether a row declares other nights of the stay than a new record. A row with an arrival outside the stay was sent
 * before the booking was moved, and declares none of its nights.
 */
export function isOtherPeriod (row: Nights, record: Nights, stay: StayDays | undefined): boolean {
  const isInside = ({ data_arrivo }: Nights) =>
    stay !== undefined && data_arrivo >= stay.check_in && data_arrivo < stay.check_out
  return isInside(row) && isInside(record) && (endOf(row) <= record.data_arrivo || endOf(record) <= row.data_arrivo)
}

/** The guests to send for a booking, and the booking's number of guests. */
export interface Addition {
  prenotazione_id: number
  stay: StayDays
  /** The nights of each guest to send. */
  nights: readonly number[]
  numero_ospiti: number
  /** All saved guests of the booking, if the list consists of saved guests. */
  saved?: readonly Guest[]
}

/**
 * Finds bookings whose live rows and guests to send together exceed their number of guests in one night. Rows of a
 * moved booking count in every night. Also finds bookings with a sent guest who is no longer saved: a guest corrected
 * after the Send has new fingerprints, and could be sent twice.
 */
export async function findExcess (
  db: Executor, keys: Keys, mode: Mode, arrival: Day, additions: readonly Addition[]
): Promise<Excess[]> {
  const rows = await readBookingRows(db, mode, arrival, additions.map(({ prenotazione_id }) => prenotazione_id))
  return additions.flatMap(({ prenotazione_id, stay, nights, numero_ospiti, saved = undefined }) => {
    const record = { data_arrivo: arrival, permanenza: Math.max(...nights) }
    const sent = rows.filter((row) => row.prenotazione_id === prenotazione_id)
      .map((row) => ({ ...row, permanenza: nightsStayed(keys, row, saved ?? []) }))
      .filter((row) => !isOtherPeriod(row, record, stay))
    const adding = nights.map((permanenza) => ({ data_arrivo: arrival, permanenza, guest: {} }))
    const isTooMany = peakOfRows([...assignGuests(keys, sent, saved ?? []), ...adding], arrival, stay) > numero_ospiti
    const reported = isTooMany || saved === undefined ? sent : unmatchedRows(keys, sent, saved)
    if (!isTooMany && (saved === undefined || reported.length === 0)) return []
    const gia_inviati = reported.map(({ id, indice, ricevuta, stato, esito, riga }) =>
      ({ ricevuta, stato, esito, ospite: riga && maskLine(unsealLine(keys, id, indice, riga)) }))
    return { prenotazione_id, numero_ospiti, gia_inviati, changed: !isTooMany }
  })
}

/** A booking with live rows of another account for the same nights, and the reference of one such submission. */
export interface Elsewhere { prenotazione_id: number, ricevuta: string }

/** Finds the first booking with guests who were sent with another account, for the same nights. */
export async function findElsewhere (
  db: Executor, { account, mode }: { account: string, mode: Mode }, arrival: Day, additions: readonly Addition[]
): Promise<Elsewhere | undefined> {
  const ids = additions.map(({ prenotazione_id }) => prenotazione_id)
  const others = (await readBookingRows(db, mode, arrival, ids)).filter(({ utente }) => utente !== account)
  for (const { prenotazione_id, stay, nights } of additions) {
    const record = { data_arrivo: arrival, permanenza: Math.max(...nights) }
    const row = others.find((each) => each.prenotazione_id === prenotazione_id && !isOtherPeriod(each, record, stay))
    if (row) return { prenotazione_id, ricevuta: row.ricevuta }
  }
  return undefined
}

/** The nights of a row until the departure of its guest, who may leave earlier than declared. */
function nightsStayed (keys: Keys, row: BookingRow, saved: readonly Guest[]): number {
  const departure = saved.find((guest) => guest.partenza && mayBelongTo(keys, row, guest))?.partenza
  return departure ? Math.min(row.permanenza, Math.max(0, daysBetween(row.data_arrivo, departure))) : row.permanenza
}

/** The largest number of guests in one night from the arrival on. Rows of a moved booking count in every night. */
export function peakOfRows (rows: readonly (Nights & { guest: object })[], arrival: Day, stay: StayDays): number {
  const isOfStay = ({ data_arrivo }: Nights) => data_arrivo >= stay.check_in && data_arrivo < stay.check_out
  const later = rows.flatMap(({ data_arrivo }) => data_arrivo > arrival ? data_arrivo : [])
  return Math.max(...[arrival, ...later].map((night) => new Set(rows.flatMap((row) =>
    !isOfStay(row) || (row.data_arrivo <= night && night < endOf(row)) ? row.guest : [])).size))
}

export type BookingRow = Awaited<ReturnType<typeof readBookingRows>>[number]

/** The live rows of bookings, of every account, that arrive less than 30 days before or after an arrival. */
export async function readBookingRows (db: Executor, mode: Mode, arrival: Day, bookings: readonly number[]) {
  if (bookings.length === 0) return []
  return db
    .select({
      id: invii.id,
      utente: invii.utente,
      indice: schedine.indice,
      ricevuta: invii.ricevuta,
      stato: invii.stato,
      esito: schedine.esito,
      prenotazione_id: schedine.prenotazione_id,
      data_arrivo: invii.data_arrivo,
      permanenza: schedine.permanenza,
      riga: schedine.riga,
      identita: schedine.impronta_identita,
      persona: schedine.impronta_persona,
      documento: schedine.impronta_documento
    })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(
      inArray(schedine.prenotazione_id, [...bookings]),
      inArray(schedine.esito, LIVE_ROW_OUTCOMES),
      scopeOf(mode),
      gt(invii.data_arrivo, addDays(arrival, -MAX_DECLARED_NIGHTS)),
      lt(invii.data_arrivo, addDays(arrival, MAX_DECLARED_NIGHTS))
    ))
    .orderBy(asc(invii.id), asc(schedine.indice))
}
