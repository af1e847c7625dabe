import { sql } from 'drizzle-orm'
import { staysById } from '#src/bookings/index.ts'
import { DECIDABLE_STATES } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { compare, type Compared } from './closer-look.ts'
import { isPlaceFilled } from './filled-places.ts'
import { openSubmissions } from './booking-deletion.ts'
import { movedGuests } from './moved-guests.ts'
import { isFiled, type Comparison, type SentRow } from './sent-rows.ts'

/** How a guest stands: `ricevuto` acquired and on a receipt that is kept, the others as the image of a document. */
export type GuestStanding =
  | { stato: 'ricevuto', dal: Date }
  | { stato: 'in_attesa_di_ricevuta' | 'senza_ricevuta' | 'altro_arrivo' | 'mai_inviata' }

export interface BookingCoverage {
  /** Something of the booking may still be acquired, or is not known. */
  open: 'invio_aperto' | 'esito_sconosciuto' | null
  /** @param place of the guest, 0-based */
  guest (place: number): GuestStanding
}

/**
 * Since when each guest of bookings is covered by a receipt, by the same comparison of persons as the check of the
 * receipts: a guest is covered when a row of theirs is, or when as many guests are as the booking is for. Of a stay of
 * more than 30 nights the first 30 count. Bookings that do not exist are not in the answer.
 */
export async function coverageOf (
  comparison: Comparison,
  ids: readonly number[]
): Promise<ReadonlyMap<number, BookingCoverage>> {
  const { db } = comparison
  const stays = (await staysById(db, ids)).map((stay) => ({ ...stay, from: stay.check_in }))
  const compared = await compare(comparison, stays)
  const submissions = await openSubmissions(db, stays.map(({ id }) => id))
  const open = Map.groupBy(submissions, ({ prenotazione_id }) => prenotazione_id)
  const moved = await movedGuests(comparison, stays)
  const times = await receiptTimes(db, compared.flatMap(({ rows }) =>
    rows.flatMap(({ invio_id, isReceipted }) => isReceipted ? invio_id : [])))
  return new Map(stays.map(({ id }, at) => {
    const states = (open.get(id) ?? []).map(({ stato }) => stato)
    const standingOf = standings(compared[at]!, times)
    return [id, {
      open: openness(states, compared[at]!.rows),
      guest: (place) => {
        const standing = standingOf(place)
        return standing.stato === 'mai_inviata' && moved.get(id)?.has(place) ? { stato: 'altro_arrivo' } : standing
      }
    }]
  }))
}

function openness (states: readonly string[], rows: readonly SentRow[]): BookingCoverage['open'] {
  if (states.length === 0) return rows.some(({ isUnfinished }) => isUnfinished) ? 'invio_aperto' : null
  return states.some((state) => !DECIDABLE_STATES.some((each) => each === state)) ? 'invio_aperto' : 'esito_sconosciuto'
}

function standings ({ places, rows }: Compared, times: ReadonlyMap<number, Date>): BookingCoverage['guest'] {
  const received = rows
    .flatMap((row) => {
      const at = row.esito === 'acquisita' && row.isReceipted ? times.get(row.invio_id) : undefined
      return at === undefined ? [] : { ...row, at }
    })
    .toSorted((one, other) => one.at.getTime() - other.at.getTime())
  const moments = [...new Set(received.map(({ at }) => at.getTime()))]
  return (place) => {
    const isCoveredAt = (moment: number) =>
      isPlaceFilled(places, received.filter(({ at }) => at.getTime() <= moment), place)
    const since = moments.find(isCoveredAt)
    if (since !== undefined) return { stato: 'ricevuto', dal: new Date(since) }
    if (isPlaceFilled(places, rows.filter(({ esito }) => esito === 'acquisita'), place)) {
      return { stato: 'in_attesa_di_ricevuta' }
    }
    return { stato: isPlaceFilled(places, rows.filter(isFiled), place) ? 'senza_ricevuta' : 'mai_inviata' }
  }
}

/**
 * When the receipts that cover submissions were in: of a call around midnight both days' are waited for, as
 * guest-counts.ts does.
 */
async function receiptTimes (db: Executor, ids: readonly number[]): Promise<ReadonlyMap<number, Date>> {
  if (ids.length === 0) return new Map()
  const found = await db.execute<{ id: number, ms: number }>(sql`
    select i.id, extract(epoch from coalesce(r.arrivata, x.quando, i.aggiornato_il))::float8 * 1000 as ms
    from invii i
    cross join lateral (
      select min(greatest(da.scaricata_il, a.scaricata_il)) as arrivata
      from invii_tentativi t
      join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
      join ricevute da on da.utente = i.utente and da.giorno = t.giorno_da
      join ricevute a on a.utente = i.utente and a.giorno = t.giorno_a
      where t.invio_id = i.id
    ) r
    cross join lateral (
      select max(x.quando) as quando from invii_transizioni x where x.invio_id = i.id and x.a = 'ricevuto'
    ) x
    where i.id = any(${`{${[...new Set(ids)].join()}}`}::int[])`)
  return new Map(found.map(({ id, ms }) => [id, new Date(ms)]))
}
