import { and, asc, desc, eq, gt, notInArray, sql, type SQL } from 'drizzle-orm'
import { eventi as t } from '#drizzle/tables/operations.ts'
import { ADMIN_EVENT_TYPES, type Event, type EventQuery, type EventType } from '#schemas/event.ts'
import { isoInstant } from '#src/plugins/database/columns.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { CursoreScaduto } from './errors.ts'
import { cursorOf, type Position } from './position.ts'

export type EventFilters = Pick<EventQuery, 'tipo' | 'prenotazione_id'> & {
  /** The reader is an administrator. */
  all: boolean
}

/** An event and its place. */
export interface Placed { posizione: number, event: Event }

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

/** The next events after a place, in their order. */
export async function readEvents (
  db: Executor, filters: EventFilters, after: number, limit: number
): Promise<Placed[]> {
  const rows = await db.select(eventColumns).from(t).where(and(gt(t.posizione, after), ...conditions(filters)))
    .orderBy(asc(t.posizione)).limit(limit)
  return rows.map((row) => ({ posizione: row.posizione, event: presentEvent(row) }))
}

export function countEvents (db: Executor, filters: EventFilters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

/**
 * The place of an event that a reader names.
 * @throws CursoreScaduto when the event is gone: the reader may have missed some
 */
export async function placeOf (db: Executor, { posizione, mark }: Position): Promise<number> {
  const [row] = await db.select({ id: t.id }).from(t).where(eq(t.posizione, posizione))
  if (!row?.id.startsWith(mark)) throw new CursoreScaduto()
  return posizione
}

/** The last event so far. */
export async function lastEvent (db: Executor): Promise<{ posizione: number, id: string } | undefined> {
  const [row] = await db.select({ posizione: t.posizione, id: t.id }).from(t).orderBy(desc(t.posizione)).limit(1)
  return row
}

function conditions ({ tipo, prenotazione_id, all }: EventFilters): (SQL | undefined)[] {
  return [
    all ? undefined : notInArray(t.tipo, [...ADMIN_EVENT_TYPES]),
    tipo === undefined ? undefined : eq(t.tipo, tipo),
    prenotazione_id === undefined ? undefined : eq(t.prenotazione_id, prenotazione_id)
  ]
}
