import { and, inArray, sql } from 'drizzle-orm'
import { invii } from '#drizzle/tables/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'

/**
 * Of these bookings, the ones with a submission that is being sent or whose outcome is unknown. For the bookings area.
 */
export async function openSubmissions (db: Executor, bookingIds: readonly number[]): Promise<number[]> {
  if (bookingIds.length === 0) return []
  const open = await db
    .selectDistinct({ id: sql<number>`${invii.prenotazione_id}` })
    .from(invii)
    .where(
      and(
        inArray(invii.prenotazione_id, [...bookingIds]),
        inArray(invii.stato, ['pronto', 'preso', 'in_invio', 'sconosciuto', 'da_verificare'])
      )
    )
  return open.map(({ id }) => id)
}
