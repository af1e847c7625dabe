import { and, inArray } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import { UNFINISHED_STATES } from '#schemas/submission.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { InvioInCorso } from '../errors.ts'

/**
 * Refuses the deletion of bookings with a submission that is being sent or whose outcome is unknown.
 * @throws InvioInCorso, which names them
 */
export async function refuseWhileUnfinished (tx: Transaction, bookingIds: readonly number[]): Promise<void> {
  const unfinished = await tx.selectDistinct({ id: invii.prenotazione_id }).from(invii)
    .where(and(inArray(invii.prenotazione_id, [...bookingIds]), inArray(invii.stato, UNFINISHED_STATES)))
  if (unfinished.length > 0) throw new InvioInCorso(unfinished.map(({ id }) => id).join(', '))
}
