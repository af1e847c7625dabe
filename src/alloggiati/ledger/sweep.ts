import { and, eq, gt, lt, ne, notInArray, or, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import { within } from '#src/lib/within.ts'
import { isOneOf } from '#src/database/columns.ts'
import { alarmFolder } from './alarms/alarm-bell.ts'
import type { LedgerContext, WatchContext } from './ledger-context.ts'
import { LEASE, lockChain, move, RETRY } from './moves.ts'
import { checkSuspension, faultOfHead } from './suspension.ts'
import { carryOut } from './sending/dispatch.ts'
import type { State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { giveUp, NOT_WRITTEN_DOWN, recordLostAttempt } from './sending/record-verdict.ts'
import { scopeOf } from './read-ledger.ts'

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

/** What this process looks after itself: its account, null without credentials, and what is in its lane. */
interface Own { account: string | null, lane: readonly number[] }

/**
 * Ends what no process looks after any more, by the clock of the database: what was claimed and not dispatched is ready
 * again; what was dispatched is unknown, and alarmed; what is ready of an account that is not in use is given up. It
 * needs no credentials.
 */
export async function endExpired (context: WatchContext, own: Own = { account: null, lane: [] }): Promise<void> {
  const { db, name, alarm } = context
  const { lane } = own
  for (const { id, claim } of await findExpired(db, 'preso', lane)) {
    const perche = 'chi lo aveva preso in carico non si è più fatto vivo: niente è stato inviato, si riprova'
    const set = { proprietario: null, lease_fino_al: sql`now()` }
    await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche, claim, set }))
  }
  for (const { id, ricevuta, tentativo, claim } of await findExpired(db, 'in_invio', lane)) {
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
 * Ends what is ready of an account that no process looks after any more: it cannot be sent. A person decides where an
 * earlier attempt may have been acquired.
 */
async function endAbandoned ({ db, name, mode, log }: WatchContext, { account, lane }: Own): Promise<void> {
  const abandoned = and(
    account === null ? undefined : ne(invii.utente, account),
    scopeOf(mode),
    lt(invii.lease_fino_al, sql`now() - interval '15 minutes'`)
  )
  for (const { id, ricevuta } of await findExpired(db, 'pronto', lane, abandoned)) {
    const perche = "l'account della Polizia con cui inviarlo non è più in uso qui"
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
    if (ended) log.error({ invio: id, ricevuta }, 'a submission of an account that is not in use any more was ended')
  }
}

/**
 * Submissions that have outlived their lease, by deadline; a lease that is longer than any is given was written by a
 * clock that was ahead. The claim is that of the dead process: a living one's is not touched. What another account left
 * claimed or in flight must end, too.
 */
function findExpired (db: Executor, stato: State, lane: readonly number[], condition?: SQL) {
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
        notInArray(invii.id, [...lane])
      )
    )
    .orderBy(invii.scadenza, invii.id)
}
