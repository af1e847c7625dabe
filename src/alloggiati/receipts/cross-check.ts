import { sql } from 'drizzle-orm'
import type { BookingToVerify, CrossCheckQuery } from '#schemas/receipts.ts'
import { staysByArrival, type StayWithGuests } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { filingDeadline } from '../deadlines.ts'
import { surelyCovered, type Comparison, type SentRow } from '../ledger/coverage-rows.ts'
import { closerLook } from '../ledger/coverage.ts'
import { differingDays } from '../ledger/reconcile/discrepancies.ts'

/** Bookings that are looked at in one go. */
const BATCH = 8000
/** Those among them that are not covered, at most: what an answer holds in memory. */
const UNCOVERED = 2000

type Stay = Pick<StayWithGuests, 'id' | 'nome_cognome' | 'check_in' | 'numero_notti' | 'numero_ospiti'>

/** Guests of a stay who are acquired and on a receipt, and those who are so or whose receipt is not due yet. */
interface CountedStay extends Stay { received: number, expected: number }

/** Where a batch ends: its last booking in the order of arrival. */
type Position = Pick<Stay, 'check_in' | 'id'>

interface Batch extends Record<string, unknown> {
  bookings: number
  uncovered: Stay[]
  last: Position | null
}

/**
 * Compares bookings that have arrived with receipts; the answer as JSON, in pieces. A booking is covered when as many
 * of its guests as it says are acquired and the receipts of their days are kept; of a stay longer than 30 nights, those
 * of its first 30. What was sent before the last change of a booking counts only for guests whom it still has. One
 * whose receipts are not due yet is in `in_attesa`, and still in `mancanti`, because the police has given no receipt
 * yet. `discordanze` are the days whose receipt does not count what the ledger knows to be acquired. No connection is
 * held while a slow client reads.
 */
export function crossCheck (comparison: Comparison, query: CrossCheckQuery): JsonPieces {
  return async function * check (takeTurn) {
    takeTurn()
    yield * compare(comparison, query)
  }
}

async function * compare (comparison: Comparison, { da, a }: CrossCheckQuery): AsyncGenerator<string> {
  const { db, mode, today } = comparison
  const until = a !== undefined && a < today ? a : today
  // Meanwhile, on another connection.
  const days = differingDays(db, mode, { from: da, to: until })
  days.catch(() => {})
  const look = closerLook(comparison)
  const waiting: string[] = []
  let bookings = 0
  let covered = 0
  let separator = '{"mancanti":['
  // While the client reads only text is held, not the rows that it was made from.
  const next = async (after: Position | undefined): Promise<{ json: string, last: Position | null }> => {
    const batch = await readBatch(comparison, { from: da, to: until }, after)
    const stays = batch.uncovered.map((stay) => ({ ...stay, from: stay.check_in }))
    const counted = await look(stays, (stay, count): CountedStay => (
      { ...stay, received: count(isReceived), expected: count((row) => isReceived(row) || isAwaited(row)) }))
    const missing = counted.filter(({ received, numero_ospiti }) => received < numero_ospiti)
    bookings += batch.bookings
    covered += batch.bookings - missing.length
    const deadlines = new Map<string, string>()
    const lines = missing.map((stay) => {
      const json = JSON.stringify(present(stay, deadlines))
      if (stay.expected >= stay.numero_ospiti) waiting.push(json)
      return json
    })
    return { json: lines.join(','), last: batch.last }
  }
  for (let after: Position | null | undefined; after !== null;) {
    const { json, last }: { json: string, last: Position | null } = await next(after)
    if (json !== '') yield separator + json
    if (json !== '') separator = ','
    after = last
  }
  yield `${separator === ',' ? '' : separator}],"in_attesa":[${waiting.join(',')}],` +
    `"discordanze":${JSON.stringify(await days)},"totale_prenotazioni":${bookings},"totale_ricevute":${covered}}`
}

function isReceived ({ esito, isReceipted }: SentRow): boolean {
  return esito === 'acquisita' && isReceipted
}

function isAwaited ({ esito, isAwaited }: SentRow): boolean {
  return esito === 'acquisita' && isAwaited
}

/** @param deadlines those that were computed for a batch: it takes longer than all the rest */
function present (
  { id, nome_cognome, check_in, numero_notti, numero_ospiti, received }: CountedStay, deadlines: Map<string, string>
): BookingToVerify {
  const stay = `${check_in} ${numero_notti}`
  const scadenza = deadlines.get(stay) ?? filingDeadline(check_in, numero_notti).toISOString()
  deadlines.set(stay, scadenza)
  return { prenotazione_id: id, nome_cognome, check_in, scadenza, ospiti_mancanti: numero_ospiti - received }
}

/** The next bookings by arrival, up to a number of them and of uncovered ones; `last` is null when no others follow. */
async function readBatch (
  { db, mode }: Comparison, arrivals: { from: Day | undefined, to: Day }, after: Position | undefined
): Promise<Batch> {
  const stays = staysByArrival(db, arrivals).as('p')
  const beyond = after === undefined ? sql`` : sql`where (p.check_in, p.id) > (${after.check_in}::date, ${after.id})`
  const [batch] = await db.execute<Batch>(sql`
    with pagina as materialized (
      select * from ${stays} ${beyond} order by p.check_in, p.id limit ${BATCH}
    ), ${surelyCovered(mode)}, scoperte as (
      select p.id, p.nome_cognome, p.check_in, p.numero_notti, p.numero_ospiti
      from pagina p where not exists (select from coperte c where c.id = p.id)
      order by p.check_in, p.id limit ${UNCOVERED}
    ), fine as (
      (select check_in, id from scoperte order by check_in, id offset ${UNCOVERED - 1})
      union all
      (select check_in, id from pagina order by check_in, id offset ${BATCH - 1})
      order by check_in, id limit 1
    )
    select
      (select count(*)::int from pagina p left join fine f on true
       where f.id is null or (p.check_in, p.id) <= (f.check_in, f.id)) as bookings,
      (select coalesce(json_agg(u order by u.check_in, u.id), '[]') from scoperte u) as uncovered,
      (select json_build_object('check_in', f.check_in, 'id', f.id) from fine f) as last`)
  return batch!
}
