import { and, inArray, sql } from 'drizzle-orm'
import type { BookingToVerify, CrossCheckQuery, ProlongedStay, WaitReason } from '#schemas/receipts.ts'
import { isUnderWay, isUnresolved, LIVE_ROW_OUTCOMES } from '#schemas/submission.ts'
import { establishmentIds, establishmentsOf, staysByArrival, type StayWithGuests } from '#src/bookings/index.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { filingDeadline } from '../deadlines.ts'
import { surelyCovered, type Comparison, type SentRow } from '../ledger/coverage-rows.ts'
import { isLive, stayComparer } from '../ledger/coverage.ts'
import {
  arrivalsOf, firstUndeclared, guestsSentLate, type Arrivals, type ComparedStay, type Undeclared
} from '../ledger/stay-nights.ts'
import { scopeOf } from '../ledger/read-ledger.ts'
import { findDiscrepancies } from '../ledger/reconcile/discrepancies.ts'

/** Bookings read per query. */
const BATCH = 8000
/** Maximum uncovered bookings per query, to bound memory. */
const UNCOVERED = 500

type Stay = Pick<StayWithGuests, 'id' | 'nome_cognome' | 'check_in' | 'numero_notti' | 'numero_ospiti'> & {
  /** The establishment of its unit. Undefined without a unit, or if there is only one establishment. */
  struttura_id?: number | undefined
}

/** A stay with three numbers of guests: those who arrived, those on a stored receipt, and those in live submissions. */
interface CountedStay extends Stay {
  arrived: number
  received: number
  sent: number
  /** The row whose receipt is expected first. */
  awaited: SentRow | undefined
  undeclared: Undeclared | undefined
  /** If receipts cover all arrivals: the first later night that is declared but on no receipt, with its guests. */
  renewed: Undeclared | undefined
  /** The first arrival with a guest in no live submission. */
  unsent: Arrivals | undefined
}

function countStay (stay: Stay, compared: ComparedStay, today: Day): CountedStay {
  const arrivals = arrivalsOf(compared).filter(({ day }) => day <= today)
  const sum = (of: (each: Arrivals) => number) => arrivals.reduce((total, each) => total + of(each), 0)
  const arrived = sum(({ guests }) => guests)
  const counted = (isCounted: (row: SentRow) => boolean) =>
    Math.min(arrived, sum(({ count }) => count(isCounted)) + guestsSentLate(compared, isCounted))
  const received = counted(isReceived)
  const nights = { from: stay.check_in, to: today }
  const undeclared = firstUndeclared(compared, nights)
  return {
    ...stay,
    arrived,
    received,
    sent: counted(isLive),
    awaited: firstAwaited(compared.rows),
    undeclared,
    renewed: received < arrived ? undefined : without(firstUndeclared(compared, nights, isReceived), undeclared),
    unsent: arrivals.find(({ guests, count }) => count(isLive) < guests)
  }
}

/** Subtracts the guests of the second argument from the first, if both are about the same night. */
function without (first: Undeclared | undefined, other: Undeclared | undefined): Undeclared | undefined {
  if (first === undefined || first.night !== other?.night) return first
  return first.guests > other.guests ? { ...first, guests: first.guests - other.guests } : undefined
}

/** A comparison, and a function that returns the reason why the receipt of an account's day is not stored. */
interface CrossCheck extends Comparison { reasonFor (account: string, day: Day): WaitReason }

/** The cursor of a batch: the last booking in order of arrival. */
type Position = Pick<Stay, 'check_in' | 'id'>

interface Batch extends Record<string, unknown> {
  bookings: number
  uncovered: Stay[]
  last: Position | null
}

/**
 * Compares arrived bookings with receipts, as a stream of JSON. A booking is covered when all its arrived guests are
 * acquired, and the receipts of their days are stored. For stays of more than 30 nights the first 30 count, or later
 * ones if only those were sent. Rows sent before the last change of a booking count only for guests whom it still has.
 * `mancanti` lists guests in no live submission. `in_attesa` lists guests in a live submission without a receipt, so
 * that no host sends them again. A booking that is no longer confirmed has no due guests, but its sent guests stay in
 * `in_attesa` until a receipt decides. `proroghe` lists stays with a night that is not declared. `discordanze` lists
 * days whose receipt differs from the ledger. The stream holds no connection while a slow client reads.
 */
export function crossCheck (comparison: CrossCheck, query: CrossCheckQuery): JsonPieces {
  return async function * check (acquireSlot) {
    await acquireSlot()
    yield * compare(comparison, query)
  }
}

async function * compare (comparison: CrossCheck, { da, a }: CrossCheckQuery): AsyncGenerator<string> {
  const { db, mode, today } = comparison
  const until = a !== undefined && a < today ? a : today
  // Runs in parallel with the batches, on another connection.
  const days = findDiscrepancies(db, mode, { from: da, to: until })
  days.catch(() => {})
  const compareEach = stayComparer(comparison)
  const waiting: string[] = []
  const prolonged: string[] = []
  let bookings = 0
  let covered = 0
  let separator = '{"mancanti":['
  // Keeps only the text of a batch while the client reads, to free the memory of its rows.
  const next = async (after: Position | undefined): Promise<{ json: string, last: Position | null }> => {
    const batch = await readBatch(comparison, { from: da, to: until }, after)
    const stays = await withEstablishments(db, batch.uncovered)
    const counted = await compareEach(stays, (stay, compared) => countStay(stay, compared, today))
    for (const stay of counted) if (stay.undeclared) prolonged.push(JSON.stringify(presentNight(stay, stay.undeclared)))
    bookings += batch.bookings
    covered += batch.bookings - counted.filter(({ received, arrived }) => received < arrived).length
    const deadlines = new Map<string, string>()
    const lines = counted.flatMap((stay) => {
      const { arrived: guests, sent } = stay
      waiting.push(...awaitedLines(comparison, stay, deadlines))
      const missing = guests - sent - (stay.undeclared?.withoutRow.length ?? 0)
      return missing > 0 ? JSON.stringify(present(stay, missing, deadlines, stay.unsent)) : []
    })
    return { json: lines.join(','), last: batch.last }
  }
  for (let after: Position | null | undefined; after !== null;) {
    const { json, last }: { json: string, last: Position | null } = await next(after)
    if (json !== '') yield separator + json
    if (json !== '') separator = ','
    after = last
  }
  // Read last, because sent guests of a cancelled booking may count for the booking that replaces it.
  const unconfirmed = await withEstablishments(db, await readUnconfirmed(comparison, { from: da, to: until }))
  for (const stay of await compareEach(unconfirmed, (stay, compared) => countStay(stay, compared, today))) {
    waiting.push(...awaitedLines(comparison, stay, new Map()))
  }
  yield `${separator === ',' ? '' : separator}],"in_attesa":[${waiting.join(',')}],` +
    `"proroghe":[${prolonged.join(',')}],` +
    `"discordanze":${JSON.stringify(await days)},"totale_prenotazioni":${bookings},"totale_ricevute":${covered}}`
}

async function withEstablishments (db: Executor, stays: readonly Stay[]): Promise<Stay[]> {
  if (stays.length === 0 || (await establishmentIds(db)).length < 2) return [...stays]
  const establishments = await establishmentsOf(db, stays.map(({ id }) => id))
  return stays.map((stay) => ({ ...stay, struttura_id: establishments.get(stay.id) }))
}

/** The lines of a stay in `in_attesa`. */
function awaitedLines (comparison: CrossCheck, stay: CountedStay, deadlines: Map<string, string>): string[] {
  const { sent, received, awaited, renewed } = stay
  const why = awaited && whyAwaited(comparison, awaited)
  const lines: BookingToVerify[] = []
  if (renewed && awaited) {
    const { dal: _, ...line } = presentNight(stay, renewed)
    lines.push({ ...line, ...why })
  }
  if (sent > received) lines.push({ ...present(stay, sent - received, deadlines), ...why })
  return lines.map((line) => JSON.stringify(line))
}

function isReceived ({ esito, isReceipted }: SentRow): boolean {
  return esito === 'acquisita' && isReceipted
}

function firstAwaited (rows: readonly SentRow[]): SentRow | undefined {
  return rows.filter((row) => isLive(row) && !isReceived(row))
    .toSorted((one, other) => (one.giorno ?? '') < (other.giorno ?? '') ? -1 : 1)[0]
}

/** The day whose receipt is missing, and the reason why the guests are not received yet. */
function whyAwaited (
  { reasonFor }: CrossCheck, { esito, stato, giorno, utente }: SentRow
): Pick<BookingToVerify, 'giorno' | 'motivo'> {
  const day = giorno === null ? {} : { giorno }
  if (esito === 'depositata') return { ...day, motivo: 'comunicata_altrove' }
  if (isUnderWay(stato) || giorno === null) return { ...day, motivo: 'invio_in_corso' }
  if (isUnresolved(esito)) return { ...day, motivo: 'esito_sconosciuto' }
  return { ...day, motivo: stato === 'da_verificare' ? 'da_verificare' : reasonFor(utente, giorno) }
}

/** @param deadlines cache for one batch, because the computation of deadlines takes most of its time */
function present (
  { id, struttura_id, nome_cognome, check_in, numero_notti }: Stay,
  ospiti_mancanti: number,
  deadlines: Map<string, string>,
  { day, nights }: Pick<Arrivals, 'day' | 'nights'> = { day: check_in, nights: numero_notti }
): BookingToVerify {
  const arrival = `${day} ${nights}`
  const scadenza = deadlines.get(arrival) ?? filingDeadline(day, nights).toISOString()
  deadlines.set(arrival, scadenza)
  return { prenotazione_id: id, struttura_id, nome_cognome, check_in, scadenza, ospiti_mancanti }
}

/** The first undeclared night of a prolonged stay. */
function presentNight (
  { id, struttura_id, nome_cognome, check_in, numero_notti }: Stay, { night, guests }: Undeclared
): ProlongedStay {
  const nights = daysBetween(night, addDays(check_in, numero_notti))
  return {
    prenotazione_id: id,
    struttura_id,
    nome_cognome,
    check_in,
    dal: night,
    scadenza: filingDeadline(night, nights).toISOString(),
    ospiti_mancanti: guests
  }
}

/** The stays that are not confirmed, and have live rows of a submission that is not `ricevuto`. */
async function readUnconfirmed (
  { db, mode }: Comparison, arrivals: { from: Day | undefined, to: Day }
): Promise<Stay[]> {
  const stays = staysByArrival(db, arrivals).as('p')
  return db.execute<Stay & Record<string, unknown>>(sql`
    select p.id, p.nome_cognome, p.check_in::text as check_in, p.numero_notti, p.numero_ospiti
    from ${stays}
    where p.stato <> 'confermata' and exists (
      select from invii_schedine s join invii i on i.id = s.invio_id
      where s.prenotazione_id = p.id and i.stato <> 'ricevuto'
        and ${and(scopeOf(mode, sql`i.utente`), inArray(sql`s.esito`, LIVE_ROW_OUTCOMES))}
    )
    order by p.check_in, p.id`)
}

/** The next `BATCH` bookings by arrival, or fewer if `UNCOVERED` of them are uncovered. `last` is null at the end. */
async function readBatch (
  { db, mode, today }: Comparison, arrivals: { from: Day | undefined, to: Day }, after: Position | undefined
): Promise<Batch> {
  const stays = staysByArrival(db, { ...arrivals, confirmed: true }).as('p')
  const beyond = after === undefined ? sql`` : sql`where (p.check_in, p.id) > (${after.check_in}::date, ${after.id})`
  const [batch] = await db.execute<Batch>(sql`
    with pagina as materialized (
      select * from ${stays} ${beyond} order by p.check_in, p.id limit ${BATCH}
    ), ${surelyCovered({ mode, today })}, scoperte as (
      select p.id, p.nome_cognome, p.check_in, p.numero_notti, p.numero_ospiti
      -- NOT IN is a hashed subplan. With NOT EXISTS the planner expects few rows, and chooses a slow nested loop.
      from pagina p where p.id not in (select id from coperte)
      order by p.check_in, p.id limit ${UNCOVERED}
    ), limite as (
      (select check_in, id from scoperte order by check_in, id offset ${UNCOVERED - 1})
      union all
      (select check_in, id from pagina order by check_in, id offset ${BATCH - 1})
      order by check_in, id limit 1
    )
    select
      (select count(*)::int from pagina p left join limite l on true
       where l.id is null or (p.check_in, p.id) <= (l.check_in, l.id)) as bookings,
      (select coalesce(json_agg(u order by u.check_in, u.id), '[]') from scoperte u) as uncovered,
      (select json_build_object('check_in', l.check_in, 'id', l.id) from limite l) as last`)
  return batch!
}
