import { readWaiting } from '../../ledger/waiting.ts'
import type { Executor } from '#src/database/connect.ts'
import { tellWaiting } from '../../sent-errors.ts'
import { remark, type DayBooking } from './look.ts'

/** Bookings that are being sent and wait for their next try: until when they can be withdrawn is told of each. */
export async function withWaiting (db: Executor, bookings: readonly DayBooking[]): Promise<DayBooking[]> {
  const underWay = bookings.filter(({ stato }) => stato === 'in_corso')
  const waiting = await readWaiting(db, underWay.flatMap(({ ricevute }) => ricevute))
  return bookings.map((booking) => {
    const references = booking.stato === 'in_corso' ? booking.ricevute.filter((each) => waiting.has(each)) : []
    const remarks = references.map((each) =>
      remark(0, 'ospiti', `L'invio ${each} ${tellWaiting(waiting.get(each)!)}`))
    return { ...booking, errors: [...booking.errors, ...remarks] }
  })
}
