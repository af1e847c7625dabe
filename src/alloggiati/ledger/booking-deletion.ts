import { and, eq, inArray, ne, or } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { UNFINISHED_STATES, UNRESOLVED_ROW_OUTCOMES, type State } from '#schemas/submission.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { InvioInCorso } from '../errors.ts'

/**
 * Refuses the deletion of bookings with a guest in a submission that is being sent or whose outcome is unknown.
 * @throws InvioInCorso, which names them
 */
export async function refuseWhileUnfinished (tx: Transaction, bookingIds: readonly number[]): Promise<void> {
  const unfinished = await tx.selectDistinct({ id: schedine.prenotazione_id }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(inArray(schedine.prenotazione_id, [...bookingIds]), inArray(invii.stato, UNFINISHED_STATES)))
    .orderBy(schedine.prenotazione_id)
  if (unfinished.length > 0) throw new InvioInCorso(unfinished.map(({ id }) => id).join(', '))
}

/**
 * The submissions of bookings that are being sent, or whose outcome is unknown, by their states. One that has ended but
 * for a row of which nothing is known is told as `da_verificare`.
 */
export async function openSubmissions (
  db: Executor,
  bookingIds: readonly number[]
): Promise<{ prenotazione_id: number, stato: State }[]> {
  if (bookingIds.length === 0) return []
  const isOpen = inArray(invii.stato, UNFINISHED_STATES)
  const isUnresolved = and(ne(invii.stato, 'annullato'), inArray(schedine.esito, UNRESOLVED_ROW_OUTCOMES))
  const { prenotazione_id } = schedine
  const found = await db.selectDistinct({ prenotazione_id, stato: invii.stato }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(isOneOf(prenotazione_id, bookingIds), or(isOpen, isUnresolved)))
  const endedBut = (stato: State) => UNFINISHED_STATES.some((each) => each === stato) ? stato : 'da_verificare'
  return found.map(({ prenotazione_id, stato }) => ({ prenotazione_id: prenotazione_id!, stato: endedBut(stato) }))
}
