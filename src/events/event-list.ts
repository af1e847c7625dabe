import { and, asc, desc, eq, gt, notInArray, sql, type SQL } from 'drizzle-orm'
import { eventi as t } from '#drizzle/tables/events.ts'
import { ADMIN_EVENT_TYPES, type Event, type EventQuery, type EventType } from '#schemas/event.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { CursoreScaduto } from './errors.ts'

/** The content of a cursor: the position of an event, and the first characters of its id. */
export interface Position { posizione: number, mark: string }

/** The position up to which a reader has read events, and its cursor. */
export interface Reached { position: number, cursor: string }

/** The position before the first event. */
const BEGINNING: Reached = { position: 0, cursor: '0-00000000' }

const CURSOR = /^([1-9]\d{0,9})-([\da-f]{8})$/
const MAX_POSITION = 2_147_483_647

/**
 * The cursor of an event. It includes a part of the id, because after a restore the database assigns the same positions
 * again.
 */
function cursorOf ({ posizione, id }: { posizione: number, id: string }): string {
  return `${posizione}-${id.slice(0, 8)}`
}

/** @throws CampiNonValidi for `campo` when the text is not a valid cursor */
export function readCursor (campo: string, text: string): Position {
  if (text === BEGINNING.cursor) return { posizione: BEGINNING.position, mark: '00000000' }
  const [, digits, mark] = CURSOR.exec(text) ?? []
  const posizione = Number(digits)
  if (mark === undefined || posizione > MAX_POSITION) {
    const messaggio = 'non è il cursore di un evento: copiarlo da un evento, o toglierlo per leggere dall’inizio'
    throw new CampiNonValidi({ campo, messaggio })
  }
  return { posizione, mark }
}

export type EventFilters = Pick<EventQuery, 'tipo' | 'prenotazione_id'> & {
  /** Whether the reader is an administrator, who sees all events. */
  all: boolean
}

/** A page of events, whether more matching events follow, and the position up to which the query has read. */
interface EventPage { events: Event[], hasMore: boolean, reached: Reached }

/** The columns of an event, for pages and deliveries. */
export const eventColumns = {
  posizione: t.posizione,
  id: t.id,
  tipo: sql<EventType>`${t.tipo}`,
  oggetto: t.oggetto,
  prenotazione_id: t.prenotazione_id,
  dettaglio: t.dettaglio,
  quando: isoInstant(t.quando)
}

/** An event in the form of the API. */
export function presentEvent ({ posizione, ...event }: Omit<Event, 'cursor'> & { posizione: number }): Event {
  return { ...event, cursor: cursorOf({ posizione, id: event.id }) }
}

/**
 * The next events after a position, in order. The returned cursor also skips events that the filters exclude. So these
 * are not read again, and the cursor of a reader whose filters exclude most events stays recent.
 * @param from undefined means the oldest stored event
 * @throws CursoreScaduto when the event at that position was deleted, because later ones may be deleted too
 */
export async function readEvents (
  db: Executor, filters: EventFilters, from: number | undefined, limit: number
): Promise<EventPage> {
  const after = from ?? BEGINNING.position
  // Read the end before the main query, so that the main query sees all events up to the end.
  const end = await endOfEvents(db)
  if (end.position <= after) return { events: [], hasMore: false, reached: end }
  // One more row than the limit shows whether more follow.
  const rows = await db.select(eventColumns).from(t).where(and(gt(t.posizione, after), ...conditions(filters)))
    .orderBy(asc(t.posizione)).limit(limit + 1)
  // Events are deleted in order. If the first event still exists, the query has missed none after it.
  if (from === BEGINNING.position) await requireFirst(db)
  else if (from && await db.$count(t, eq(t.posizione, from)) === 0) throw new CursoreScaduto()
  const wanted = rows.slice(0, limit)
  const hasMore = rows.length > limit
  const last = wanted.at(-1)
  const reached = last && (hasMore || last.posizione > end.position)
    ? { position: last.posizione, cursor: cursorOf(last) }
    : end
  return { events: wanted.map(presentEvent), hasMore, reached }
}

export function countEvents (db: Executor, filters: EventFilters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

/**
 * Checks that the event of a cursor exists. For the cursor of the beginning, checks that the first event exists.
 * @throws CursoreScaduto when that event was deleted, because the reader may have missed some
 */
export async function reachedBy (db: Executor, { posizione, mark }: Position): Promise<Reached> {
  if (posizione === BEGINNING.position) {
    await requireFirst(db)
    return BEGINNING
  }
  const [row] = await db.select({ id: t.id }).from(t).where(eq(t.posizione, posizione))
  if (!row?.id.startsWith(mark)) throw new CursoreScaduto()
  return { position: posizione, cursor: cursorOf({ posizione, id: row.id }) }
}

/** @throws CursoreScaduto when the first event was deleted */
async function requireFirst (db: Executor): Promise<void> {
  const [first] = await db.select({ posizione: t.posizione }).from(t).orderBy(asc(t.posizione)).limit(1)
  if (first && first.posizione !== BEGINNING.position + 1) throw new CursoreScaduto()
}

/** The position of the newest event. */
export async function endOfEvents (db: Executor): Promise<Reached> {
  const [last] = await db.select({ posizione: t.posizione, id: t.id }).from(t).orderBy(desc(t.posizione)).limit(1)
  return last ? { position: last.posizione, cursor: cursorOf(last) } : BEGINNING
}

function conditions ({ tipo, prenotazione_id, all }: EventFilters): (SQL | undefined)[] {
  return [
    all ? undefined : notInArray(t.tipo, [...ADMIN_EVENT_TYPES]),
    tipo === undefined ? undefined : eq(t.tipo, tipo),
    prenotazione_id === undefined ? undefined : eq(t.prenotazione_id, prenotazione_id)
  ]
}
