import { and, eq, gt, lt, ne, notInArray, or, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import type { State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import type { WatchContext } from './context.ts'
import { giveUp } from './give-up.ts'
import { lockChain, move, RETRY } from './moves.ts'
import { scopeOf } from './read.ts'
import { recordLostAttempt } from './sending/record-verdict.ts'

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
    if (recorded) await alarm('process-died', { invio: id, ricevuta, tentativo })
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
export function findExpired (db: Executor, stato: State, lane: readonly number[], condition?: SQL) {
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
