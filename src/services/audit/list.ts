import { and, desc, eq, lt, sql, type SQL } from 'drizzle-orm'
import { audit_log as t } from '#drizzle/tables/audit.ts'
import { AUDIT_ACTIONS, type AuditEvent, type AuditQuery } from '#schemas/audit.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import type { FieldError } from '#schemas/common.ts'
import { LAST_BEFORE_FIRST, orderOfDaysErrors } from '#src/lib/errors.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'

/** Typed as any string, because a row may have an action of another version. */
const labels: Readonly<Record<string, string>> = AUDIT_ACTIONS

/** The only sort order: newest first. */
const SORT = '-id'

const columns = {
  id: t.id,
  at: isoInstant(t.at),
  actor: t.actor,
  action: t.action,
  object: t.object,
  ip: t.ip,
  details: t.details
}

type Filters = Omit<AuditQuery, 'limit' | 'cursor' | 'conteggio'>

interface AuditPage { data: AuditEvent[], next: Position | undefined }

/** Returns one page of the log, newest first, and the cursor position of the next. */
export async function auditPage (db: Executor, filters: Filters, limit: number, cursor?: string): Promise<AuditPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  const found = await db.select(columns).from(t).where(and(...conditions(filters), after && lt(t.id, after.id)))
    .orderBy(desc(t.id))
    // One extra row shows whether another page follows.
    .limit(limit + 1)
  const last = found.length > limit ? found[limit - 1] : undefined
  return {
    data: found.slice(0, limit).map((row) => ({ ...row, descrizione: labels[row.action] ?? row.action })),
    next: last && { sort: SORT, value: String(last.id), id: last.id }
  }
}

/** Counts the entries that match the filters. */
export function countEntries (db: Executor, filters: Filters): Promise<number> {
  return db.$count(t, and(...conditions(filters)))
}

function conditions ({ actor, action, da, a }: Filters): (SQL | undefined)[] {
  return [
    actor === undefined ? undefined : eq(t.actor, actor),
    action === undefined ? undefined : eq(t.action, action),
    da === undefined
      ? undefined
      : sql`${t.at} >= ${isInstant(da) ? sql`${da}::timestamptz` : startOf(sql`${da}::date`)}`,
    a === undefined
      ? undefined
      : isInstant(a)
        ? sql`${t.at} <= ${a}::timestamptz`
        : sql`${t.at} < ${startOf(sql`${a}::date + 1`)}`
  ]
}

/** Validation error when the end is before the start. If one bound is a day, instants are compared as days. */
export function boundsErrors ({ da, a }: Readonly<Record<string, unknown>>): FieldError[] {
  if (typeof da !== 'string' || typeof a !== 'string') return []
  if (!isInstant(da) || !isInstant(a)) return orderOfDaysErrors({ da: dayOf(da), a: dayOf(a) })
  return instantOf(da) > instantOf(a) ? [LAST_BEFORE_FIRST] : []
}

/** The day of a bound. Undefined for an invalid instant. */
function dayOf (bound: string): Day | undefined {
  if (!isInstant(bound)) return bound
  const instant = instantOf(bound)
  return Number.isNaN(instant.getTime()) ? undefined : dayInRome(instant)
}

/** JavaScript cannot parse leap seconds or offsets without minutes. A leap second becomes the second before it. */
function instantOf (bound: string): Date {
  return new Date(bound.toUpperCase().replace(/:60(?=[.Z+-])/, ':59').replace(/[+-]\d\d$/, '$&:00'))
}

function isInstant (bound: string): boolean {
  return bound.length > 'YYYY-MM-DD'.length
}

/** The instant at which a day begins in Italy. */
function startOf (day: SQL): SQL {
  return sql`(${day})::timestamp at time zone 'Europe/Rome'`
}
