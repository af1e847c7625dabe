import { isNull, sql } from 'drizzle-orm'
import { maintenance as table } from '#drizzle/tables/settings.ts'
import type { MaintenanceChange, MaintenanceState } from '#schemas/setting.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { NessunNuovoInvio } from './errors.ts'

const OFF: MaintenanceState = { enabled: false, message: null, since: null, allow: [] }
const isOpen = isNull(table.ended_at)
const columns = { message: table.message, since: isoInstant(table.since), allow: table.allow }

export async function readMaintenance (db: Executor): Promise<MaintenanceState> {
  const [open] = await db.select(columns).from(table).where(isOpen)
  return open ? { enabled: true, ...open } : OFF
}

/**
 * Switches maintenance on or off. If it is already on, this replaces message and exceptions, and keeps the start time.
 * If it is already off, nothing changes.
 * @param who the calling principal
 */
export async function changeMaintenance (
  tx: Transaction,
  { enabled, message, allow = [] }: MaintenanceChange,
  who: string
): Promise<{ before: MaintenanceState, after: MaintenanceState }> {
  // Waits for submissions that are being reserved, and for other administrators.
  await tx.execute(sql`lock table ${table} in share row exclusive mode`)
  const before = await readMaintenance(tx)
  if (!enabled) {
    await tx.update(table).set({ ended_at: sql`now()`, ended_by: who }).where(isOpen)
    return { before, after: OFF }
  }
  const values = { message: message?.trim() || null, allow }
  const [open] = before.enabled
    ? await tx.update(table).set(values).where(isOpen).returning(columns)
    : await tx.insert(table).values({ ...values, begun_by: who }).returning(columns)
  return { before, after: { enabled: true, ...open! } }
}

/**
 * Refuses a submission during maintenance, unless an exception allows it. The transaction of the caller makes the
 * submission ready. The shared lock conflicts with a change of maintenance, but not with other submissions. So after
 * the response to a change, no submission that maintenance now refuses can become ready.
 * @throws NessunNuovoInvio
 */
export async function refuseNewSubmission (tx: Transaction): Promise<void> {
  await tx.execute(sql`lock table ${table} in share mode`)
  const { enabled, allow } = await readMaintenance(tx)
  if (enabled && !allow.includes('invii')) throw new NessunNuovoInvio()
}
