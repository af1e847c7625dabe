import { and, asc, desc, eq, gt, notInArray, sql, type SQL } from 'drizzle-orm'
import { eventi as t } from '#drizzle/tables/events.ts'
import { ADMIN_EVENT_TYPES, type Event, type EventQuery, type EventType } from '#schemas/event.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { CursoreScaduto } from './errors.ts'

/** An event up to which a reader has read: its place, and the beginning of its id. */
export interface Position { posizione: number, mark: string }

/** Up to where events were read: a place, and the cursor that names it. */
export interface Reached { place: number, cursor: string }

/** Before the first event. */
const BEGINNING: Reached = { place: 0, cursor: '0-00000000' }

const CURSOR = /^([1-9]\d{0,9})-([\da-f]{8})$/
const LAST = 2_147_483_647

/**
 * The cursor of an event. The id tells whether the event in that place is still the same: after a restore of the
 * database places are given a second time.
 */
function cursorOf ({ posizione, id }: { posizione: number, id: string }): string {
  return `${posizione}-${id.slice(0, 8)}`
}

/** @throws CampiNonValidi naming `campo` when the text is no cursor of ours */
export function readCursor (campo: string, text: string): Position {
  if (text === BEGINNING.cursor) return { posizione: BEGINNING.place, mark: '00000000' }
  const [, place, mark] = CURSOR.exec(text) ?? []
  const posizione = Number(place)
  if (mark === undefined || posizione > LAST) {
    throw new CampiNonValidi({ campo, messaggio: 'non è il cursore di un evento' })
  }
  return { posizione, mark }
}

export type EventFilters = Pick<EventQuery, 'tipo' | 'prenotazione_id'> & {
  /** The reader is an administrator. */
  all: boolean
}

/** Some events, whether more follow that the reader wants, and up to where was looked. */
export interface EventPage { events: Event[], hasMore: boolean, reached: Reached }

/** The columns of an event; also for the worker that delivers it. */
export const eventColumns = {
  posizione: t.posizione,
  id: t.id,
  tipo: sql<EventType>`${t.tipo}`,
  oggetto: t.oggetto,
  prenotazione_id: t.prenotazione_id,
  dettaglio: t.dettaglio,
  quando: isoInstant(t.quando)
}

/** An event as it is shown. */
export function presentEvent ({ posizione, ...event }: Omit<Event, 'cursor'> & { posizione: number }): Event {
  return { ...event, cursor: cursorOf({ posizione, id: event.id }) }
}

/**
 * The next events after a place, in their order. Those that the reader does not want are passed, too: it goes on behind
 * them, does not walk through them again, and has a cursor that does not grow old.
 * @param from undefined: the first of those that are kept
 * @throws CursoreScaduto when the event in that place is gone by then, and with it perhaps some of the next
 */
export async function readEvents (
  db: Executor, filters: EventFilters, from: number | undefined, limit: number
): Promise<EventPage> {
  const after = from ?? BEGINNING.place
  // Before the events are read: those up to here are seen then, and later ones may not be.
  const end = await endOfEvents(db)
  if (end.place <= after) return { events: [], hasMore: false, reached: end }
  // One more than asked for tells whether any follows.
  const rows = await db.select(eventColumns).from(t).where(and(gt(t.posizione, after), ...conditions(filters)))
    .orderBy(asc(t.posizione)).limit(limit + 1)
  // Events are forgotten in their order: after one that is still there none was missing when they were read.
  if (from === BEGINNING.place) await requireFirst(db)
  else if (from && await db.$count(t, eq(t.posizione, from)) === 0) throw new CursoreScaduto()
  const wanted = rows.slice(0, limit)
  const hasMore = rows.length > limit
  const last = wanted.at(-1)
  const reached = last && (hasMore || last.posizione > end.place)
    ? { place: last.posizione, cursor: cursorOf(last) }
    : end
  return { events: wanted.map(presentEvent), hasMore, reached }
}

export function countEvents (db: Executor, filters: EventFilters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

/**
 * Where a reader is who has read up to the event that a cursor names, or not even the first one.
 * @throws CursoreScaduto when that event, or for the beginning the first one, is gone: the reader may have missed some
 */
export async function reachedBy (db: Executor, { posizione, mark }: Position): Promise<Reached> {
  if (posizione === BEGINNING.place) {
    await requireFirst(db)
    return BEGINNING
  }
  const [row] = await db.select({ id: t.id }).from(t).where(eq(t.posizione, posizione))
  if (!row?.id.startsWith(mark)) throw new CursoreScaduto()
  return { place: posizione, cursor: cursorOf({ posizione, id: row.id }) }
}

/** @throws CursoreScaduto when the first event is gone */
async function requireFirst (db: Executor): Promise<void> {
  const [first] = await db.select({ posizione: t.posizione }).from(t).orderBy(asc(t.posizione)).limit(1)
  if (first && first.posizione !== BEGINNING.place + 1) throw new CursoreScaduto()
}

/** Where a reader is who has read all events so far. */
export async function endOfEvents (db: Executor): Promise<Reached> {
  const [last] = await db.select({ posizione: t.posizione, id: t.id }).from(t).orderBy(desc(t.posizione)).limit(1)
  return last ? { place: last.posizione, cursor: cursorOf(last) } : BEGINNING
}

function conditions ({ tipo, prenotazione_id, all }: EventFilters): (SQL | undefined)[] {
  return [
    all ? undefined : notInArray(t.tipo, [...ADMIN_EVENT_TYPES]),
    tipo === undefined ? undefined : eq(t.tipo, tipo),
    prenotazione_id === undefined ? undefined : eq(t.prenotazione_id, prenotazione_id)
  ]
}
