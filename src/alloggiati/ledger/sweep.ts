import { and, eq, gt, inArray, lt, ne, notInArray, or, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import type { State } from '#schemas/submission.ts'
import { within } from '#src/lib/within.ts'
import type { LedgerContext } from './context.ts'
import { LEASE, lockChain, move, moveRows, RETRY } from './moves.ts'
import { scopeOf } from './read.ts'
import { mayBeAcquired, recordLostAttempt } from './record-verdict.ts'
import { checkSuspension } from './suspension.ts'
import { carryOut } from './worker.ts'

/** Less than the pause between two sweeps: the next one must not be kept waiting by what this one has begun. */
const FOLLOW_MS = 20_000

/**
 * Puts right what a dead process left, at start and every half minute, by the clock of the database: what was claimed
 * and not dispatched is ready again; what was dispatched is unknown, and alarmed. Then carries out what is ready and
 * nobody looks after. What is in the lane of this process is looked after. The end of the chain is compared, and
 * noted: a process is at most one sweep behind what others have sent.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, name, log, alarm, lane, service, chainHead } = context
  const isWhole = await chainHead.isIn(db)
  if (isWhole) await chainHead.update(db)
  else await checkSuspension(db, chainHead)
  await renewLane(context)
  for (const { id, claim } of await findExpired(context, 'preso')) {
    const perche = 'chi lo aveva preso in carico non si è più fatto vivo: niente è stato inviato, si riprova'
    const set = { proprietario: null, lease_fino_al: sql`now()` }
    await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche, claim, set }))
  }
  for (const { id, ricevuta, tentativo, claim } of await findExpired(context, 'in_invio')) {
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
    if (recorded) await alarm('process-died', { invio: id, ricevuta, tentativo })
  }
  await endAbandoned(context)
  const ready = await findExpired(context, 'pronto', eq(invii.utente, service.account))
  // One that cannot be carried out must not keep the others waiting.
  const carried = ready.map(({ id }) => carryOut(context, id, false).catch((err: unknown) =>
    log.error({ err, invio: id }, 'a submission could not be carried out')
  ))
  if (!lane.closing.aborted) await within(FOLLOW_MS, Promise.all(carried))
}

/** What waits in the lane of this process is looked after: no other process need take it. */
async function renewLane ({ db, lane }: LedgerContext): Promise<void> {
  const ids = lane.ids()
  if (ids.length === 0) return
  await db.update(invii).set({ lease_fino_al: LEASE }).where(and(inArray(invii.id, ids), eq(invii.stato, 'pronto')))
}

/**
 * Ends what is ready of another account that no process looks after any more: nobody can send it. A person decides
 * where an earlier attempt may have been acquired.
 */
async function endAbandoned (context: LedgerContext): Promise<void> {
  const { db, name, service, log } = context
  const abandoned = and(
    ne(invii.utente, service.account),
    scopeOf(service.mode),
    lt(invii.lease_fino_al, sql`now() - interval '15 minutes'`)
  )
  for (const { id, ricevuta } of await findExpired(context, 'pronto', abandoned)) {
    const perche = "l'account della Polizia con cui inviarlo non è più in uso qui"
    const ended = await db.transaction(async (tx) => {
      await lockChain(tx)
      const [unchanged] = await tx
        .select({ id: invii.id })
        .from(invii)
        .where(and(eq(invii.id, id), abandoned))
        .for('update')
      if (!unchanged) return false
      const change = { da: 'pronto', chi: name, perche } as const
      if (await mayBeAcquired(tx, id)) return move(tx, id, { ...change, a: 'da_verificare' })
      const moved = await move(tx, id, { ...change, a: 'non_inviato' })
      if (moved) await moveRows(tx, id, 'non_inviata', 'in_corso')
      return moved
    })
    if (ended) log.error({ invio: id, ricevuta }, 'a submission of an account that is not in use any more was ended')
  }
}

/**
 * Submissions that have outlived their lease, by deadline; a lease that is longer than any is given was written by a
 * clock that was ahead. The claim is that of the dead process: a living one's is not touched. What another account left
 * claimed or in flight must end, too.
 */
function findExpired ({ db, lane }: LedgerContext, stato: State, condition?: SQL) {
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
        notInArray(invii.id, lane.ids())
      )
    )
    .orderBy(invii.scadenza, invii.id)
}
