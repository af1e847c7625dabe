import { savedGuests } from '#src/bookings/index.ts'
import { printsOf, textsOf, type StayFrom } from './closer-look.ts'
import { guestAt } from './fingerprints.ts'
import { isFiled, readAccounts, readOwnRows, type Comparison } from './sent-rows.ts'

/**
 * The places of saved guests, 0-based, who were sent for their booking with another arrival than it has now: the
 * booking was moved since. The arrival is in every fingerprint, so they are compared as if they had come on that day.
 */
export async function movedGuests (
  comparison: Comparison,
  stays: readonly StayFrom[]
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const arrivals = new Map(stays.map(({ id, check_in }) => [id, check_in]))
  const rows = (await readOwnRows(comparison, [...arrivals.keys()])).filter((row) =>
    isFiled(row) && row.data_arrivo !== arrivals.get(row.prenotazione_id!))
  if (rows.length === 0) return new Map()
  const accounts = await readAccounts(comparison, rows.map(({ data_arrivo }) => data_arrivo))
  const sent = Map.groupBy(rows, (row) => row.prenotazione_id!)
  const saved = await savedGuests(comparison.db, [...sent.keys()])
  return new Map([...sent].map(([id, own]) => {
    const found = (saved.get(id) ?? []).flatMap((guest, place) => {
      const isSent = own.some((row) => {
        const prints = printsOf(comparison, accounts.get(row.data_arrivo) ?? [], guestAt(row.data_arrivo, guest))
        const texts = new Set(prints.flatMap(textsOf))
        return textsOf(row).some((print) => texts.has(print))
      })
      return isSent ? place : []
    })
    return [id, new Set(found)]
  }))
}
