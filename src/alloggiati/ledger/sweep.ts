import { and, eq, lt, sql } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import type { State } from '#schemas/submission.ts'
import type { LedgerContext } from './context.ts'
import { move } from './moves.ts'
import { recordLostAttempt } from './record-verdict.ts'
import { carryOut } from './worker.ts'

/**
 * Puts right what a dead process left, at start and every half minute, by the clock of the database: what was claimed
 * and not dispatched is ready again; what was dispatched is unknown, and alarmed. Then carries out what is ready and no
 * caller waits for.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, name, log, alarm } = context
  for (const { id, claim } of await findExpired(context, 'preso')) {
    const perche = 'il processo è morto prima di inviare'
    await db.transaction((tx) =>
      move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche, claim, set: { proprietario: null } })
    )
  }
  for (const { id, ricevuta, tentativo, claim } of await findExpired(context, 'in_invio')) {
    const recorded = await db.transaction(async (tx) => {
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
  for (const { id } of await findExpired(context, 'pronto')) {
    // One that cannot be carried out must not keep the others waiting.
    await carryOut(context, id, false).catch((err: unknown) =>
      log.error({ err, invio: id }, 'a submission could not be carried out')
    )
  }
}

/**
 * Submissions that have outlived their lease, by deadline. The claim is that of the dead process: a living one's is not
 * touched. Only what is to be sent has to be of this server's account: what another account left must end, too.
 */
function findExpired ({ db, service }: LedgerContext, stato: State) {
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
        stato === 'pronto' ? eq(invii.utente, service.account) : undefined,
        eq(invii.stato, stato),
        lt(invii.lease_fino_al, sql`now()`)
      )
    )
    .orderBy(invii.scadenza, invii.id)
}
