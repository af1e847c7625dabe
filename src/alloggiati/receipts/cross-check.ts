import { sql } from 'drizzle-orm'
import type { BookingToVerify, CrossCheckQuery } from '#schemas/alloggiati.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { filingDeadline, NIGHTS_OF_A_SCHEDINA } from '../deadlines.ts'
import { receiptedGuests, surelyCovered } from '../ledger/guest-counts.ts'
import { differingDays } from '../ledger/reconcile/discrepancies.ts'

/** Bookings that are checked at a time: what an answer holds in memory. */
const BATCH = 8000

/** What is compared: the submissions of a mode, as of a day. */
interface Scope { mode: 'sandbox' | 'production', today: Day }

interface Uncovered {
  id: number
  nome_cognome: string
  check_in: Day
  numero_notti: number
  ospiti_mancanti: number
  /** Its guests are acquired, and the receipt of some is not due yet. */
  in_attesa: boolean
}

/** Where a batch ends: its last booking in the order of arrival. */
interface Position { check_in: Day, id: number }

interface Batch extends Record<string, unknown> {
  bookings: number
  covered: number
  uncovered: Uncovered[]
  last: Position | null
}

/**
 * Compares bookings that have arrived with receipts; the answer as JSON, in pieces. A booking is covered when as many
 * of its guests as it says are acquired and the receipts of their days are kept; of a stay longer than 30 nights, those
 * of its first 30. One whose receipts are not due yet is in `in_attesa`, and still in `mancanti`, because the police
 * has given no receipt yet. `discordanze` are the days whose receipt does not count what the ledger knows to be
 * acquired. No connection is held while a slow client reads.
 */
export async function * crossCheck (db: Executor, scope: Scope, { da, a }: CrossCheckQuery): AsyncGenerator<string> {
  const until = a !== undefined && a < scope.today ? a : scope.today
  // Meanwhile, on another connection.
  const days = differingDays(db, scope.mode, { from: da, to: until })
  days.catch(() => {})
  const waiting: string[] = []
  const deadlines = new Map<string, string>()
  let bookings = 0
  let covered = 0
  let separator = '{"mancanti":['
  for (let after: Position | null | undefined; after !== null;) {
    const batch: Batch = await checkBatch(db, scope, { from: da, to: until }, after)
    for (const booking of batch.uncovered) {
      const json = JSON.stringify(present(booking, deadlines))
      if (booking.in_attesa) waiting.push(json)
      yield separator + json
      separator = ','
    }
    bookings += batch.bookings
    covered += batch.covered
    after = batch.last
  }
  yield `${separator === ',' ? '' : separator}],"in_attesa":[${waiting.join(',')}],` +
    `"discordanze":${JSON.stringify(await days)},"totale_prenotazioni":${bookings},"totale_ricevute":${covered}}`
}

/** @param deadlines those that were computed for an answer: it takes longer than all the rest */
function present (
  { id, nome_cognome, check_in, numero_notti, ospiti_mancanti }: Uncovered,
  deadlines: Map<string, string>
): BookingToVerify {
  const stay = `${check_in} ${numero_notti}`
  const scadenza = deadlines.get(stay) ?? filingDeadline(check_in, numero_notti).toISOString()
  deadlines.set(stay, scadenza)
  return { prenotazione_id: id, nome_cognome, check_in, scadenza, ospiti_mancanti }
}

/** The next bookings by arrival; `last` is null when no others follow. */
async function checkBatch (
  db: Executor,
  { mode, today }: Scope,
  arrivals: { from: Day | undefined, to: Day },
  after: Position | undefined
): Promise<Batch> {
  const stays = staysByArrival(db, arrivals).as('p')
  const isOfTheStay = sql`i.data_arrivo < p.check_in + ${NIGHTS_OF_A_SCHEDINA}::int`
  const beyond = after === undefined ? sql`` : sql`where (p.check_in, p.id) > (${after.check_in}::date, ${after.id})`
  const [batch] = await db.execute<Batch>(sql`
    with pagina as materialized (
      select * from ${stays} ${beyond} order by p.check_in, p.id limit ${BATCH}
    ), ${surelyCovered({ mode, nights: NIGHTS_OF_A_SCHEDINA })}, aperte as materialized (
      select * from pagina p where not exists (select from coperte c where c.id = p.id)
    ), scoperte as (
      select p.id, p.nome_cognome, p.check_in, p.numero_notti, p.numero_ospiti - c.in_ricevuta as ospiti_mancanti,
        c.in_ricevuta + c.in_attesa >= p.numero_ospiti as in_attesa
      from aperte p cross join lateral ${receiptedGuests({ mode, today, booking: sql`p.id`, arrivals: isOfTheStay })} c
      where p.numero_ospiti > c.in_ricevuta
    )
    select count(*)::int as bookings, count(*)::int - (select count(*)::int from scoperte) as covered,
      (select coalesce(json_agg(u order by u.check_in, u.id), '[]') from scoperte u) as uncovered,
      case when count(*) = ${BATCH} then
        (select json_build_object('check_in', p.check_in, 'id', p.id) from pagina p order by p.check_in desc, p.id desc
         limit 1)
      end as last
    from pagina`)
  return batch!
}
