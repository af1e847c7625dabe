import type { Author } from '#src/services/audit/log.ts'
import {
  OspitiOltreLaPrenotazione, PrenotazioneCambiata, SchedineGiaInviate, SchedineInCorso
} from '../../sent-errors.ts'
import { announce, type LedgerContext } from '../../ledger/context.ts'
import type { Reserved } from '../../ledger/reserve.ts'
import { readResult } from '../../ledger/sending/worker.ts'
import { methodFor } from '../../service/calls.ts'
import { follow } from '../follow.ts'
import type { Requester } from '../requester.ts'
import { reserveInTime } from '../reserve-in-time.ts'
import { isUnderWay } from '../submission.ts'
import { listOf, listsOf, type DayList } from './lists.ts'
import { conflictRemark, remark, type DayBooking } from './look.ts'
import { addOutcome, notSent } from './outcome.ts'

interface Order { author: Author, requester: Requester, id_appartamento: number | undefined }

interface SentList extends Reserved { list: DayList }

/**
 * Sends what is ready of a day. A booking with which something is wrong keeps no other back: it is left out, and told.
 * @returns the bookings as they stand when all is decided, or the time is up: then the rest goes on
 */
export async function sendDay (
  ledger: LedgerContext,
  bookings: readonly DayBooking[],
  order: Order
): Promise<DayBooking[]> {
  const told = new Map(bookings.map((booking) => [booking, { ...booking }]))
  const ready = bookings.filter((booking) => booking.ready !== null)
  const sent: SentList[] = []
  for (const list of listsOf(ready)) {
    try {
      const reserved = await reserveList(ledger, list, order, told)
      if (reserved) sent.push(reserved)
    } catch (err) {
      // Nothing is begun: the caller is told as of any request. Else what is begun goes on, and is told.
      if (sent.length === 0) throw err
      ledger.log.error({ err }, 'a list of the day could not be written down')
      for (const { booking } of list.places) notSent(told.get(booking)!, 'errore interno')
    }
  }
  await Promise.all(sent.map(async ({ id, ricevuta, list }) => {
    const result = await follow(ledger, { id, ricevuta }, order.requester) ?? await readResult(ledger.db, id)
    if (isUnderWay(result.stato)) order.requester.tellUnawaited()
    for (const [booking, rows] of Map.groupBy(result.schedine, ({ indice }) => list.places[indice]!.booking)) {
      const numbered = rows.map((row) => ({ ...row, ospite: list.places[row.indice]!.ospite }))
      addOutcome(told.get(booking)!, { ...result, ricevuta, rows: numbered })
    }
  }))
  return bookings.map((booking) => told.get(booking)!)
}

/**
 * Writes a list down, without the bookings against which something has come up since the look.
 * @returns undefined when none is left
 */
async function reserveList (
  ledger: LedgerContext,
  list: DayList,
  { author: { actor: operatore, ip }, requester, id_appartamento }: Order,
  told: ReadonlyMap<DayBooking, DayBooking>
): Promise<SentList | undefined> {
  for (let rest = list; rest.places.length > 0;) {
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
      const out = leftOut(err, rest, told)
      if (out.size === 0) throw err
      rest = listOf(rest.places.filter(({ booking }) => !out.has(booking)))
    }
  }
  return undefined
}

/** The bookings that a refusal is about; what it says is told of them. */
function leftOut (err: unknown, { places }: DayList, told: ReadonlyMap<DayBooking, DayBooking>): Set<DayBooking> {
  const out = new Set<DayBooking>()
  if (err instanceof PrenotazioneCambiata) {
    for (const { booking } of places.filter(({ booking }) => err.prenotazioni.includes(booking.prenotazione_id))) {
      notSent(told.get(booking)!, err.message)
      out.add(booking)
    }
  } else if (err instanceof OspitiOltreLaPrenotazione || (err instanceof SchedineInCorso && err.prenotazione_id)) {
    const { booking } = places.find(({ booking }) => booking.prenotazione_id === err.prenotazione_id)!
    Object.assign(told.get(booking)!, { stato: 'da_confermare', errors: [remark(0, 'ospiti', err.message)] })
    out.add(booking)
  } else if (err instanceof SchedineGiaInviate || err instanceof SchedineInCorso) {
    const confirmable = err instanceof SchedineGiaInviate && err.confirmable
    for (const duplicato of err.duplicati) {
      const { booking, ospite } = places[duplicato.ospite]!
      const mine = told.get(booking)!
      mine.stato = err instanceof SchedineInCorso ? 'in_corso' : 'da_confermare'
      if (duplicato.ricevuta !== null) mine.ricevute = [...new Set([...mine.ricevute, duplicato.ricevuta])]
      if (mine.stato === 'da_confermare') {
        const { altro_ospite: other } = duplicato
        const twinOf = other === undefined ? undefined : places[other]!.booking.prenotazione_id
        mine.errors = [...mine.errors, conflictRemark({ ...duplicato, ospite }, confirmable, twinOf)]
      }
      out.add(booking)
    }
  }
  return out
}
