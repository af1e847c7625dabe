import type { Author } from '#src/services/audit/log.ts'
import {
  InviataConAltroAccount, OspitiOltreLaPrenotazione, PrenotazioneCambiata, SchedineGiaInviate, SchedineInCorso
} from '../../sent-errors.ts'
import type { AccountsInUse } from '../../accounts/police-accounts.ts'
import { announce, type LedgerContext } from '../../ledger/ledger-context.ts'
import type { Reserved } from '../../ledger/reserve.ts'
import { readResult, type RowResult } from '../../ledger/sending/carry-out.ts'
import { methodFor } from '../../service/calls.ts'
import { follow, type Requester, reserveInTime } from '../requester.ts'
import { serviceTexts } from '../submission.ts'
import { placeIn, type DayBooking } from './day-booking.ts'
import { conflictRemark, remark } from './day-remarks.ts'
import type { AcceptedList } from '../../rules/validate.ts'
import { filingDeadline } from '../../deadlines.ts'
import type { SchedinaDellaGiornata } from '#schemas/giornata.ts'
import { isUnderWay, type State } from '#schemas/submission.ts'
import { InvioFallito, type Cause } from '../../errors.ts'

interface Order { author: Author, requester: Requester }

interface SentList extends Reserved { list: DayList }

/**
 * Sends the ready bookings of a day. A booking with errors is left out and reported, and does not block the others.
 * @returns the bookings, when all have a result or the time limit expires. Unfinished submissions then continue in the
 * background
 */
export async function sendDay (
  inUse: AccountsInUse, bookings: readonly DayBooking[], order: Order
): Promise<DayBooking[]> {
  const report = new Map(bookings.map((booking) => [booking, { ...booking }]))
  const ready = bookings.filter((booking) => booking.ready !== null)
  const sent: (SentList & { ledger: LedgerContext })[] = []
  for (const list of apartmentLists(ready)) {
    const { ledger } = inUse.named(list.places[0]!.booking.ready!.account)!
    try {
      const reserved = await reserveList(ledger, list, order, report)
      if (reserved) sent.push({ ...reserved, ledger })
    } catch (err) {
      // If no submission was created, the request fails. Otherwise the created ones continue, and are reported.
      if (sent.length === 0) throw err
      ledger.log.error({ err }, 'a list of the day could not be recorded')
      for (const { booking } of list.places) notSent(report.get(booking)!, 'errore interno')
    }
  }
  await Promise.all(sent.map(async ({ id, ricevuta, list, ledger }) => {
    const result = await follow(ledger, { id, ricevuta }, order.requester) ?? await readResult(ledger.db, id)
    if (isUnderWay(result.stato)) order.requester.confirmAsync()
    for (const [booking, rows] of Map.groupBy(result.schedine, ({ indice }) => list.places[indice]!.booking)) {
      const numbered = rows.map((row) => ({ ...row, ospite: placeIn(booking, list.places[row.indice]!.ospite) }))
      addOutcome(report.get(booking)!, { ...result, ricevuta, rows: numbered })
    }
  }))
  return bookings.map((booking) => report.get(booking)!)
}

/**
 * Inserts a list without the bookings that now have conflicts.
 * @returns undefined when no booking is left
 */
async function reserveList (
  ledger: LedgerContext,
  list: DayList,
  { author: { actor: operatore, ip }, requester }: Order,
  report: ReadonlyMap<DayBooking, DayBooking>
): Promise<SentList | undefined> {
  for (let rest = list; rest.places.length > 0;) {
    const { id_appartamento } = rest.places[0]!.booking.ready!
    const bookings = rest.places.map(({ booking }) => booking.prenotazione_id)
    try {
      const reserved = await reserveInTime(ledger, {
        account: ledger.service.account,
        operatore,
        ip,
        metodo: methodFor(false, id_appartamento),
        records: rest.records,
        lines: rest.lines,
        leaders: rest.leaders,
        id_appartamento,
        prenotazione_id: new Set(bookings).size === 1 ? bookings[0]! : null,
        bookings,
        versions: new Map(rest.places.map(({ booking }) => [booking.prenotazione_id, booking.ready!.versione]))
      }, requester)
      announce('reserved', reserved.id)
      return { ...reserved, list: rest }
    } catch (err) {
      const out = leftOut(err, rest, report)
      if (out.size === 0) throw err
      rest = listOf(rest.places.filter(({ booking }) => !out.has(booking)))
    }
  }
  return undefined
}

/** Whether an error names one booking, which a person must confirm or wait for. */
function isAboutBooking (
  err: unknown
): err is OspitiOltreLaPrenotazione | InviataConAltroAccount | (SchedineInCorso & { prenotazione_id: number }) {
  return err instanceof OspitiOltreLaPrenotazione || err instanceof InviataConAltroAccount ||
    (err instanceof SchedineInCorso && err.prenotazione_id !== undefined)
}

/** Finds the bookings that an error names, and adds its text to them. */
function leftOut (err: unknown, { places }: DayList, report: ReadonlyMap<DayBooking, DayBooking>): Set<DayBooking> {
  const out = new Set<DayBooking>()
  if (err instanceof PrenotazioneCambiata) {
    for (const { booking } of places.filter(({ booking }) => err.prenotazioni.includes(booking.prenotazione_id))) {
      notSent(report.get(booking)!, err.message)
      out.add(booking)
    }
  } else if (isAboutBooking(err)) {
    const { booking } = places.find(({ booking }) => booking.prenotazione_id === err.prenotazione_id)!
    Object.assign(report.get(booking)!, { stato: 'da_confermare', errors: [remark(0, 'ospiti', err.message)] })
    out.add(booking)
  } else if (err instanceof SchedineGiaInviate || err instanceof SchedineInCorso) {
    const confirmable = err instanceof SchedineGiaInviate && err.confirmable
    for (const duplicato of err.duplicati) {
      const { booking, ospite } = places[duplicato.ospite]!
      const reported = report.get(booking)!
      reported.stato = err instanceof SchedineInCorso ? 'in_corso' : 'da_confermare'
      if (duplicato.ricevuta !== null) reported.ricevute = [...new Set([...reported.ricevute, duplicato.ricevuta])]
      if (reported.stato === 'da_confermare') {
        const { altro_ospite: other } = duplicato
        const twinOf = other === undefined ? undefined : places[other]!.booking.prenotazione_id
        const named = { ...duplicato, ospite: placeIn(booking, ospite) }
        reported.errors = [...reported.errors, conflictRemark(named, confirmable, twinOf)]
      }
      out.add(booking)
    }
  }
  return out
}

/** Maximum rows of one Send, unless a family or group is larger. Limits how many rows a lost reply leaves unknown. */
const ROWS = 50

/** A guest in a list: the booking, and the guest's index in it. */
interface Place { booking: DayBooking, ospite: number }

/** One Send of the day with guests of several bookings. Families and groups are not split. */
interface DayList extends AcceptedList { places: Place[] }

/** Guests who must stay together. */
type Unit = Place[]

/** Makes a separate list for each account and apartment, because a submission has only one of each. */
function apartmentLists (bookings: readonly DayBooking[]): DayList[] {
  const keyOf = ({ ready }: DayBooking) => JSON.stringify([ready!.account, ready!.id_appartamento])
  return [...Map.groupBy(bookings, keyOf).values()].flatMap(listsOf)
}

/** Distributes guests to lists, one per Send. Earliest deadlines come first, and bookings stay whole if they fit. */
export function listsOf (bookings: readonly DayBooking[]): DayList[] {
  const deadline = ({ ready, nights }: DayBooking) => filingDeadline(ready!.records[0]!.data_arrivo, nights).getTime()
  const inOrder = bookings.toSorted((one, other) => deadline(one) - deadline(other))
  const lists: Unit[] = []
  for (const booking of inOrder) {
    // The parts of a booking keep the order of its guests across lists, so that rows can be matched with guests.
    let first = 0
    for (const unit of unitsOf(booking)) {
      const fitting = lists.findIndex((places, at) => at >= first && places.length + unit.length <= ROWS)
      first = fitting < 0 ? lists.push([]) - 1 : fitting
      lists[first]!.push(...unit)
    }
  }
  return lists.map(listOf)
}

/** A booking as one unit. A booking that exceeds a list is split by family and group. */
function unitsOf (booking: DayBooking): Unit[] {
  const places = booking.ready!.leaders.map((leader, ospite) => ({ booking, ospite, leader }))
  return places.length <= ROWS ? [places] : [...Map.groupBy(places, ({ leader }) => leader).values()]
}

function listOf (places: readonly Place[]): DayList {
  const list: DayList = { records: [], lines: [], leaders: [], places: [] }
  for (const { booking, ospite } of places) {
    const { records, lines, leaders } = booking.ready!
    const leader = list.places.findIndex((place) => place.booking === booking && place.ospite === leaders[ospite]!)
    list.leaders.push(leader < 0 ? list.places.length : leader)
    list.records.push(records[ospite]!)
    list.lines.push(lines[ospite]!)
    list.places.push({ booking, ospite })
  }
  return list
}

/** The outcome of a booking's guests in one submission. `ospite` is the index in the booking. */
interface Outcome {
  ricevuta: string
  stato: State
  causa?: Cause
  rows: readonly (Omit<RowResult, 'indice'> & { ospite: number })[]
}

export function addOutcome (booking: DayBooking, { ricevuta, stato, causa, rows }: Outcome): void {
  const underWay = isUnderWay(stato) || booking.stato === 'in_corso'
  booking.ricevute = [...booking.ricevute, ricevuta]
  const report = rows.map((row) => ({ ospite: row.ospite, esito: row.esito, ...serviceTexts(row) }))
  booking.schedine = [...booking.schedine, ...report]
  // A repeated request reads the outcome from the ledger, which has no warnings.
  booking.warnings = []
  booking.stato = stateOf(booking.schedine, underWay)
  const isCancelled = stato === 'annullato'
  const why = new InvioFallito(causa ?? (isCancelled ? 'INVIO_ANNULLATO' : 'NON_INVIATO')).message
  if (booking.stato === 'non_inviata') notSent(booking, why)
  // A cancelled submission leaves the outcome of its guests unknown.
  else if (isCancelled) booking.errors = [...booking.errors, remark(0, 'ospiti', why)]
}

/** The state of a booking according to its sent rows. */
function stateOf (rows: readonly SchedinaDellaGiornata[], underWay: boolean): DayBooking['stato'] {
  const some = (...outcomes: SchedinaDellaGiornata['esito'][]) => rows.some(({ esito }) => outcomes.includes(esito))
  if (some('in_corso') && underWay) return 'in_corso'
  // The outcome is unknown and no call is in progress, so an administrator has to decide.
  if (some('in_corso', 'sconosciuta')) return 'sconosciuta'
  if (!some('rifiutata', 'non_inviata', 'annullata')) return 'acquisita'
  if (some('acquisita', 'depositata')) return 'parziale'
  return some('rifiutata') ? 'rifiutata' : 'non_inviata'
}

function notSent (booking: DayBooking, why: string): void {
  booking.stato = 'non_inviata'
  booking.errors = [remark(0, 'ospiti', why)]
}
