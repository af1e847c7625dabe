import { and, asc, eq, gt, inArray, lt, or } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { Duplicato } from '#schemas/alloggiati.ts'
import { LIVE_ROW_OUTCOMES, type RowOutcome } from '#schemas/submission.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { decode } from '../codec/codec.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Excess } from '../sent-errors.ts'
import { fingerprint, type Fingerprints, type Guest } from './fingerprints.ts'
import { maskLine, scopeOf } from './read-ledger.ts'
import { unsealLine } from './submission-rows.ts'

/** A guest of a list who was sent before, or may have been, or who comes twice in the list. */
export interface Conflict {
  told: Duplicato
  /** What became of the earlier row, and of which booking it is; null for a guest of the same list. */
  earlier: { esito: RowOutcome, prenotazione_id: number | null } | null
  /** The very same person: a confirmation does not let them pass, so that one that is repeated sends no guest twice. */
  certain: boolean
  /** They were sent for this booking with this other arrival: the booking was moved since. */
  movedFrom?: Day
}

/**
 * What stands against a list of guests of one arrival: live rows of the account with the same person or document, and
 * guests of the list itself. Under the chain's lock nothing can come between the look and what is written after it.
 */
export async function findConflicts (
  db: Executor, keys: Keys, account: string, guests: readonly Guest[]
): Promise<Conflict[]> {
  const prints = guests.map((guest) => fingerprint(keys, account, guest))
  const live = await readLive(db, account, guests[0]!.data_arrivo, prints)
  const byPrint = Map.groupBy(
    live.flatMap((row) => [row.identita, row.persona, row.documento].flatMap((print) => print ? { print, row } : [])),
    ({ print }) => print.toString('hex')
  )
  const rowsWith = (print: Buffer | null) => (print && byPrint.get(print.toString('hex')))?.map(({ row }) => row) ?? []
  const earlier = prints.flatMap(({ identita, persona, documento }, ospite) => {
    const samePerson = new Set([...rowsWith(identita), ...rowsWith(persona)])
    return [...new Set([...samePerson, ...rowsWith(documento)])].map((row): Conflict => ({
      told: {
        ospite,
        ricevuta: row.ricevuta,
        stato: row.stato,
        motivo: samePerson.has(row) ? 'stessa_persona' : 'stesso_documento'
      },
      earlier: { esito: row.esito, prenotazione_id: row.prenotazione_id },
      certain: isCertain(row, { identita, persona, documento }, samePerson.has(row))
    }))
  })
  return [...earlier, ...withinList(prints)]
}

/** The same names letter by letter, unless two documents tell two guests apart; or the same names and one document. */
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
    return { told: { ospite, ricevuta: null, stato: null, motivo, altro_ospite }, earlier: null, certain }
  })
}

/**
 * The rows that may stand against a list, confirmed ones too: the unique indexes leave those out. By the arrival, which
 * is part of every fingerprint.
 */
async function readLive (db: Executor, account: string, arrival: Day, prints: readonly Fingerprints[]) {
  const { impronta_identita: identita, impronta_persona: persona, impronta_documento: documento } = schedine
  const numbers = prints.flatMap(({ documento }) => documento ?? [])
  return db
    .select({
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
      eq(invii.utente, account),
      eq(invii.data_arrivo, arrival),
      inArray(schedine.esito, LIVE_ROW_OUTCOMES),
      or(
        inArray(identita, prints.map(({ identita }) => identita)),
        inArray(persona, prints.map(({ persona }) => persona)),
        numbers.length === 0 ? undefined : inArray(documento, numbers)
      )
    ))
    .orderBy(asc(invii.id), asc(schedine.indice))
}

function recordOf (keys: Keys, { id, indice, riga }: { id: number, indice: number, riga: Buffer | null }) {
  const decoded = riga === null ? undefined : decode(unsealLine(keys, id, indice, riga))
  return decoded !== undefined && 'record' in decoded ? decoded.record : undefined
}

/**
 * Guests of a booking who were sent for it with another arrival: the booking was moved after it was sent. The arrival
 * is in every fingerprint, so here they are compared as if they had come with these. It stands in the way of a Send
 * until a person confirms: the police has the other day.
 */
export async function findMoved (
  db: Executor, keys: Keys, account: string, guests: readonly (Guest & { prenotazione_id: number | null })[]
): Promise<Conflict[]> {
  const { data_arrivo } = guests[0]!
  const bookings = new Set(guests.flatMap(({ prenotazione_id }) => prenotazione_id ?? []))
  const rows = await readBookingRows(db, account, data_arrivo, [...bookings])
  const sent = rows.filter((row) => row.data_arrivo !== data_arrivo).flatMap((row) => {
    const record = recordOf(keys, row)
    return record === undefined ? [] : { ...row, ...fingerprint(keys, account, { ...record, data_arrivo }) }
  })
  return guests.flatMap((guest, ospite) => {
    const { persona, documento } = fingerprint(keys, account, guest)
    return sent.filter((row) => row.prenotazione_id === guest.prenotazione_id).flatMap((row): Conflict[] => {
      const samePerson = row.persona.equals(persona)
      if (!samePerson && (documento === null || row.documento?.equals(documento) !== true)) return []
      const { ricevuta, stato, esito, prenotazione_id, data_arrivo: movedFrom } = row
      const motivo = samePerson ? 'stessa_persona' : 'stesso_documento'
      const told: Duplicato = { ospite, ricevuta, stato, motivo }
      return [{ told, earlier: { esito, prenotazione_id }, certain: false, movedFrom }]
    })
  })
}

/** What is to be sent of a booking, and how many guests it is for. */
export interface Addition {
  prenotazione_id: number
  ospiti: number
  numero_ospiti: number
  /** All its guests as they are saved, where it is them that are sent. */
  saved?: readonly Guest[]
}

/**
 * The bookings whose live rows would become more than their guests: those of the same stretch of 30 nights, since the
 * guests of a longer stay are communicated again for each. Also those of which a guest was sent who is not saved any
 * more: a guest who was corrected after the Send looks like another one, and would be sent twice.
 */
export async function findExcess (
  db: Executor, keys: Keys, account: string, arrival: Day, additions: readonly Addition[]
): Promise<Excess[]> {
  const rows = await readBookingRows(db, account, arrival, additions.map(({ prenotazione_id }) => prenotazione_id))
  return additions.flatMap(({ prenotazione_id, ospiti, numero_ospiti, saved }) => {
    const sent = rows.filter((row) => row.prenotazione_id === prenotazione_id)
    const isTooMany = sent.length + ospiti > numero_ospiti
    const meant = isTooMany || saved === undefined ? sent : strangersAmong(keys, sent, saved)
    if (!isTooMany && (saved === undefined || meant.length === 0)) return []
    const gia_inviati = meant.map(({ id, indice, ricevuta, stato, esito, riga }) =>
      ({ ricevuta, stato, esito, ospite: riga && maskLine(unsealLine(keys, id, indice, riga)) }))
    return { prenotazione_id, numero_ospiti, gia_inviati, changed: !isTooMany }
  })
}

export type BookingRow = Awaited<ReturnType<typeof readBookingRows>>[number]

/** The rows of the guests' arrival that are of none of them. */
export function strangersAmong (keys: Keys, rows: readonly BookingRow[], guests: readonly Guest[]): BookingRow[] {
  const ofArrival = rows.filter(({ data_arrivo }) => data_arrivo === guests[0]?.data_arrivo)
  return [...Map.groupBy(ofArrival, ({ utente }) => utente)].flatMap(([account, own]) => {
    const known = new Set(guests.flatMap((guest) => textsOf(fingerprint(keys, account, guest))))
    return own.filter((row) => !textsOf(row).some((print) => known.has(print)))
  })
}

function textsOf ({ identita, persona, documento }: Fingerprints): string[] {
  return [identita, persona, documento].flatMap((print) => print?.toString('hex') ?? [])
}

/** The live rows of bookings in the stretch of 30 nights around an arrival, whichever account they were sent with. */
export async function readBookingRows (db: Executor, account: string, arrival: Day, bookings: readonly number[]) {
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
      scopeOf(account.startsWith('sandbox:') ? 'sandbox' : 'production'),
      gt(invii.data_arrivo, addDays(arrival, -MAX_DECLARED_NIGHTS)),
      lt(invii.data_arrivo, addDays(arrival, MAX_DECLARED_NIGHTS))
    ))
    .orderBy(asc(invii.id), asc(schedine.indice))
}
