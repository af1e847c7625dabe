import { and, eq, gt, lt, ne, notInArray, or, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import { isOneOf } from '#src/database/columns.ts'
import { alarmFolder } from './alarms/alarm-notifier.ts'
import type { LedgerContext, WatchContext } from './ledger-context.ts'
import { LEASE, lockChain, move, RETRY } from './moves.ts'
import { checkSuspension, faultOfHead } from './suspension.ts'
import { carryOut } from './sending/dispatch.ts'
import type { State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { giveUp, NOT_WRITTEN_DOWN, recordLostAttempt } from './sending/record-verdict.ts'
import { scopeOf } from './read-ledger.ts'

/** How long a sweep waits for its submissions. The pause between sweeps is longer, so the next sweep is not delayed. */
const FOLLOW_MS = 20_000

/**
 * Recovers submissions of dead processes, at start and every 30 seconds, by the database's clock. Claimed ones become
 * ready again. Dispatched ones become unknown and raise an alarm. Then it sends ready submissions that no process has
 * claimed, except those already in the send queue of this process. First it compares the chain head with the one noted
 * in `DATA_DIR`, and updates the note. So the notes of two processes differ by at most one sweep.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, log, isReported, sendQueue, service } = context
  await compareHead(context)
  await renewQueueLeases(context)
  await endExpired(context, { account: service.account, sendQueue: sendQueue.ids() })
  const ready = await findExpired(db, 'pronto', sendQueue.ids(), eq(invii.utente, service.account))
  // A submission that fails must not block the others.
  const carried = ready.map(({ id }) => carryOut(context, id, false).catch((err: unknown) => {
    if (!isReported?.(err)) log.error({ err, invio: id }, 'a submission could not be processed')
  }))
  if (!sendQueue.shutdownSignal.aborted) await waitAtMost(FOLLOW_MS, Promise.all(carried))
}

/** If the head cannot be read or noted, the rest of the sweep still runs. */
async function compareHead (context: LedgerContext): Promise<void> {
  const { db, log, isReported, chainHead } = context
  await checkSuspension(context)
  try {
    if (await faultOfHead(db, chainHead) === undefined) await chainHead.update(db)
  } catch (err) {
    if (!isReported?.(err)) log.error({ err }, 'the chain head could not be noted: until it is, nothing is sent')
    await alarmFolder(context, err)
  }
}

/** Renews the leases of this process's send queue, so that no other process takes these submissions. */
async function renewQueueLeases ({ db, sendQueue }: LedgerContext): Promise<void> {
  const ids = sendQueue.ids()
  if (ids.length === 0) return
  await db.update(invii).set({ lease_fino_al: LEASE }).where(and(isOneOf(invii.id, ids), eq(invii.stato, 'pronto')))
}

/** The account of this process (null without credentials), and the ids in its send queue. */
interface Own { account: string | null, sendQueue: readonly number[] }

/**
 * Ends submissions with expired leases, by the database's clock. Claimed ones become ready again. Dispatched ones
 * become unknown and raise an alarm. Ready ones of an unused account are given up. It works without credentials for the
 * police service.
 */
export async function endExpired (context: WatchContext, own: Own = { account: null, sendQueue: [] }): Promise<void> {
  const { db, name, alarm } = context
  const { sendQueue } = own
  for (const { id, claim } of await findExpired(db, 'preso', sendQueue)) {
    const perche = 'chi lo aveva preso in carico non si è più fatto vivo: niente è stato inviato, si riprova'
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
    if (recorded) await alarm('unknown-outcome', { invio: id, ricevuta, tentativo, errore: NOT_WRITTEN_DOWN })
  }
  await endAbandoned(context, own)
}

/**
 * Gives up ready submissions of an account that is no longer in use: they cannot be sent. If an earlier attempt may
 * have been acquired, a person decides.
 */
async function endAbandoned ({ db, name, mode, log }: WatchContext, { account, sendQueue }: Own): Promise<void> {
  const abandoned = and(
    account === null ? undefined : ne(invii.utente, account),
    scopeOf(mode),
    lt(invii.lease_fino_al, sql`now() - interval '15 minutes'`)
  )
  for (const { id, ricevuta } of await findExpired(db, 'pronto', sendQueue, abandoned)) {
    const perche = 'l’account della Polizia con cui inviarlo non è più in uso qui'
    const ended = await db.transaction(async (tx) => {
      await lockChain(tx)
      const [unchanged] = await tx
        .select({ id: invii.id })
        .from(invii)
        .where(and(eq(invii.id, id), abandoned))
        .for('update')
      if (!unchanged) return false
      return giveUp(tx, id, { da: 'pronto', chi: name, perche })
    })
    if (ended) log.error({ invio: id, ricevuta }, 'a submission of an account no longer in use was ended')
  }
}

/**
 * Finds submissions with expired leases, of any account, in order of deadline. A lease longer than the maximum was
 * written with a wrong clock, and counts as expired. Each result includes its claim. The caller compares it, and
 * changes nothing when another worker has claimed the submission meanwhile.
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
