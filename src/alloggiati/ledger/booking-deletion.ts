import { and, eq, inArray } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { UNFINISHED_STATES } from '#schemas/submission.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
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
