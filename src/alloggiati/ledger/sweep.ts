import { and, eq, gt, lt, notInArray, or, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import { isOneOf } from '#src/database/columns.ts'
import { alarmUnwritableFolder } from './alarms/alarm-notifier.ts'
import type { LedgerBase, LedgerContext, WatchContext } from './ledger-context.ts'
import { LEASE, lockChain, move, RETRY } from './moves.ts'
import { checkSuspension, faultOfHead } from './suspension.ts'
import { carryOut } from './sending/carry-out.ts'
import type { State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { giveUp, NOT_RECORDED, recordLostAttempt } from './sending/record-verdict.ts'
import { scopeOf } from './read-ledger.ts'

/** Maximum time that a sweep waits for its submissions. The interval is longer, so no sweep is delayed. */
const FOLLOW_MS = 20_000

/**
 * Runs at start and every 30 seconds. It compares the chain head with the one in `DATA_DIR`, and updates that file. So
 * the files of two processes differ by at most one sweep. It recovers submissions of killed processes: claimed ones
 * become ready, dispatched ones become unknown and raise an alarm. Then it sends ready submissions with an expired
 * lease that are not in this process's send queue.
 */
export async function sweep (base: LedgerBase, { names, ledgers }: InUse = onlyOf(base)): Promise<void> {
  const { db, log, isReported } = base
  await compareHead(base)
  const sendQueue = ledgers.flatMap((ledger) => ledger.sendQueue.ids())
  await renewQueueLeases(base, sendQueue)
  await endExpired(base, { accounts: names, sendQueue })
  const carried: Promise<unknown>[] = []
  for (const ledger of ledgers) {
    const ready = await findExpired(db, 'pronto', ledger.sendQueue.ids(), eq(invii.utente, ledger.service.account))
    // A submission that fails must not block the others.
    carried.push(...ready.map(({ id }) => carryOut(ledger, id, false).catch((err: unknown) => {
      if (!isReported?.(err)) log.error({ err, invio: id }, 'a submission could not be processed')
    })))
  }
  if (!ledgers.some((ledger) => ledger.sendQueue.shutdownSignal.aborted)) {
    await waitAtMost(FOLLOW_MS, Promise.all(carried))
  }
}

/** The accounts in use, by name, and the ledgers of those that can send. */
interface InUse { names: readonly string[], ledgers: readonly LedgerContext[] }

function onlyOf (base: LedgerBase): InUse {
  const ledgers = 'service' in base ? [base as LedgerContext] : []
  return { names: ledgers.map(({ service }) => service.account), ledgers }
}

/** If the head cannot be read or noted, the rest of the sweep still runs. */
async function compareHead (context: LedgerBase): Promise<void> {
  const { db, log, isReported, chainHead } = context
  await checkSuspension(context)
  try {
    if (await faultOfHead(db, chainHead) === undefined) await chainHead.update(db)
  } catch (err) {
    if (!isReported?.(err)) log.error({ err }, 'the chain head could not be noted, and nothing is sent meanwhile')
    await alarmUnwritableFolder(context, err)
  }
}

/** Renews the leases of this process's send queue, so that no other process takes these submissions. */
async function renewQueueLeases ({ db }: LedgerBase, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await db.update(invii).set({ lease_fino_al: LEASE }).where(and(isOneOf(invii.id, ids), eq(invii.stato, 'pronto')))
}

/** The accounts in use, and the ids in the send queues of this process. */
interface Own { accounts: readonly string[], sendQueue: readonly number[] }

/**
 * Ends submissions with expired leases, by the database's clock. Claimed ones become ready again. Dispatched ones
 * become unknown and raise an alarm. Ready ones of an unused account are given up 15 minutes after the expiry. The
 * function needs no credentials for the police service.
 */
export async function endExpired (context: WatchContext, own: Own = { accounts: [], sendQueue: [] }): Promise<void> {
  const { db, name, alarm } = context
  const { sendQueue } = own
  for (const { id, claim } of await findExpired(db, 'preso', sendQueue)) {
    const perche = 'il processo che lo aveva preso in carico si è interrotto: niente è stato inviato, si riprova'
    const set = { proprietario: null, lease_fino_al: sql`now()` }
    await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche, claim, set }))
  }
  for (const { id, ricevuta, tentativo, claim } of await findExpired(db, 'in_invio', sendQueue)) {
    const recorded = await db.transaction(async (tx) => {
      await lockChain(tx)
      const unchanged = and(
        eq(invii.id, id),
        eq(invii.stato, 'in_invio'),
        eq(invii.proprietario, claim),
        eq(invii.tentativo, tentativo)
      )
      const [submission] = await tx.select({ id: invii.id }).from(invii).where(unchanged).for('update')
      if (submission) await recordLostAttempt(tx, id, tentativo, name)
      return submission !== undefined
    })
    if (recorded) await alarm('unknown-outcome', { invio: id, ricevuta, tentativo, errore: NOT_RECORDED })
  }
  await giveUpUnused(context, own)
}

/**
 * Gives up ready submissions of an account that is no longer in use, because no process can send them. Waits 15 minutes
 * after the lease expired. If an earlier attempt may have been acquired, a person decides.
 */
async function giveUpUnused ({ db, name, mode, log }: WatchContext, { accounts, sendQueue }: Own): Promise<void> {
  const isUnused = and(
    notInArray(invii.utente, [...accounts]),
    scopeOf(mode),
    lt(invii.lease_fino_al, sql`now() - interval '15 minutes'`)
  )
  for (const { id, ricevuta } of await findExpired(db, 'pronto', sendQueue, isUnused)) {
    const perche = 'l’account della Polizia con cui inviarlo non è più in uso qui'
    const ended = await db.transaction(async (tx) => {
      await lockChain(tx)
      const [unchanged] = await tx
        .select({ id: invii.id })
        .from(invii)
        .where(and(eq(invii.id, id), isUnused))
        .for('update')
      if (!unchanged) return false
      return giveUp(tx, id, { da: 'pronto', chi: name, perche })
    })
    if (ended) log.error({ invio: id, ricevuta }, 'a submission of an account no longer in use was given up')
  }
}

/**
 * Finds submissions with expired leases, of any account, in order of deadline. A lease longer than the maximum was
 * written with a wrong clock, and counts as expired. Each result includes its claim, so that the caller can check that
 * no other worker has claimed the submission meanwhile.
 */
function findExpired (db: Executor, stato: State, sendQueue: readonly number[], condition?: SQL) {
  return db
    .select({
      id: invii.id,
      ricevuta: invii.ricevuta,
      tentativo: invii.tentativo,
      claim: sql<string>`coalesce(${invii.proprietario}, '')`
    })
    .from(invii)
    .where(
      and(
        condition,
        eq(invii.stato, stato),
        or(lt(invii.lease_fino_al, sql`now()`), gt(invii.lease_fino_al, sql`${RETRY} + interval '1 minute'`)),
        notInArray(invii.id, [...sendQueue])
      )
    )
    .orderBy(invii.scadenza, invii.id)
}
