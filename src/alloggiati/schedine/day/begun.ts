import { asc, eq, inArray } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { GiornataAnswer, GiornataBody } from '#schemas/giornata.ts'
import { savedGuests, staysById } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { SchedineContext } from '../accept.ts'
import type { Requester } from '../requester.ts'
import { answerOf } from './answer.ts'
import { bookingOf, lookAtDay, remark, type DayBooking } from './look.ts'
import { addOutcome } from './outcome.ts'
import { withWaiting } from './waiting.ts'

/**
 * The answer to a repeated request for a day: from the submissions that the first one has begun, as they are by now,
 * wherever their bookings have gone. Nothing is sent. The other bookings of the day are told as they stand. It is made
 * anew each time: the first request may still be at work, or have died before it had begun everything.
 */
export async function answerBegunDay (
  db: Executor,
  context: SchedineContext,
  { body, begun }: { body: GiornataBody, begun: readonly string[] },
  requester: Requester
): Promise<GiornataAnswer> {
  requester.leaveOpen()
  const { data, bookings: sent } = await readBegun(db, begun)
  const { prenotazioni: ids, id_appartamento } = body ?? {}
  const looked = context.ledger === null
    ? []
    : await lookAtDay(context, context.ledger, { day: data, ids, id_appartamento })
  const others = looked.filter(({ prenotazione_id }) => !sent.some((each) => each.prenotazione_id === prenotazione_id))
  const bookings = [...sent, ...others.map(left)].toSorted((one, other) => one.prenotazione_id - other.prenotazione_id)
  return answerOf({ data, prova: false, bookings: await withWaiting(db, bookings) })
}

const LEFT = 'Non inviata con questa richiesta: inviare di nuovo la giornata, con un\'altra Idempotency-Key'

function left (booking: DayBooking): DayBooking {
  return booking.stato === 'pronta' ? { ...booking, errors: [remark(0, 'ospiti', LEFT)] } : booking
}

/** The bookings of submissions of one day, with what became of their guests; and the day. */
async function readBegun (db: Executor, begun: readonly string[]): Promise<{ data: Day, bookings: DayBooking[] }> {
  const { indice, esito, prenotazione_id, codice_errore, messaggio_soap, dettaglio } = schedine
  const { ricevuta, stato, data_arrivo } = invii
  const rows = await db
    .select({
      ricevuta, stato, data_arrivo, prenotazione_id, indice, esito, codice_errore, messaggio_soap, dettaglio
    })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(inArray(ricevuta, [...begun]))
    .orderBy(asc(invii.id), asc(indice))
  const byBooking = Map.groupBy(rows, (row) => row.prenotazione_id!)
  const ids = [...byBooking.keys()]
  const stays = await staysById(db, ids)
  const saved = await savedGuests(db, ids)
  const bookings = [...byBooking].map(([id, own]) => {
    const stay = stays.find((one) => one.id === id)
    const booking = bookingOf(stay ? { ...stay, ospiti: saved.get(id) ?? [] } : gone(id, own[0]!.data_arrivo))
    // The rows stand in the order of the booking's guests.
    const numbered = own.map((row, ospite) => ({ ...row, ospite }))
    for (const [reference, rows] of Map.groupBy(numbered, (row) => row.ricevuta)) {
      addOutcome(booking, { ricevuta: reference, stato: rows[0]!.stato, rows })
    }
    return booking
  })
  return { data: rows[0]!.data_arrivo, bookings }
}

/** A booking that was deleted after its guests were sent. */
function gone (id: number, check_in: Day) {
  return { id, nome_cognome: '', check_in, numero_notti: 0, numero_ospiti: 0, ospiti: [] }
}
