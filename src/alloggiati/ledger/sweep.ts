import { and, eq } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import { within } from '#src/lib/within.ts'
import { isOneOf } from '#src/database/columns.ts'
import { alarmFolder } from './alarms/folder.ts'
import type { LedgerContext } from './context.ts'
import { endExpired, findExpired } from './expired.ts'
import { LEASE } from './moves.ts'
import { checkSuspension, faultOfHead } from './suspension.ts'
import { carryOut } from './sending/worker.ts'

/** Less than the pause between two sweeps: the next one must not be kept waiting by what this one has begun. */
const FOLLOW_MS = 20_000

/**
 * Puts right what a dead process left, at start and every half minute, by the clock of the database: what was claimed
 * and not dispatched is ready again; what was dispatched is unknown, and alarmed. Then carries out what is ready and
 * no process looks after. What is in the lane of this process is looked after. The end of the chain is compared, and
 * noted: a process is at most one sweep behind what others have sent.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, log, isTold, lane, service } = context
  await compareHead(context)
  await renewLane(context)
  await endExpired(context, { account: service.account, lane: lane.ids() })
  const ready = await findExpired(db, 'pronto', lane.ids(), eq(invii.utente, service.account))
  // One that cannot be carried out must not keep the others waiting.
  const carried = ready.map(({ id }) => carryOut(context, id, false).catch((err: unknown) => {
    if (!isTold?.(err)) log.error({ err, invio: id }, 'a submission could not be carried out')
  }))
  if (!lane.closing.aborted) await within(FOLLOW_MS, Promise.all(carried))
}

/** A head that cannot be read or noted keeps nothing else of the sweep back. */
async function compareHead (context: LedgerContext): Promise<void> {
  const { db, log, isTold, chainHead } = context
  await checkSuspension(context)
  try {
    if (await faultOfHead(db, chainHead) === undefined) await chainHead.update(db)
  } catch (err) {
    if (!isTold?.(err)) log.error({ err }, 'the end of the chain could not be noted: while it is so nothing is sent')
    await alarmFolder(context, err)
  }
}

/** What waits in the lane of this process is looked after: no other process need take it. */
async function renewLane ({ db, lane }: LedgerContext): Promise<void> {
  const ids = lane.ids()
  if (ids.length === 0) return
  await db.update(invii).set({ lease_fino_al: LEASE }).where(and(isOneOf(invii.id, ids), eq(invii.stato, 'pronto')))
}
