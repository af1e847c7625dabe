import { and, eq, lt, sql } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import type { LedgerContext } from './context.ts'
import { move } from './moves.ts'
import { giveUpAttempt } from './settle.ts'
import type { State } from '#schemas/submission.ts'
import { carryOut } from './worker.ts'

/**
 * Puts right what a dead process left, at start and every half minute, by the clock of the database: what was taken and
 * not dispatched is free again; what was dispatched is unknown, and alarmed. Then carries out what is ready and nobody
 * waits for.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, name, log } = context
  for (const { id, claim } of await expired(context, 'preso')) {
    const set = { proprietario: null }
    await db.transaction((tx) =>
      move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche: 'il processo è morto prima di inviare', claim, set })
    )
  }
  for (const { id, ricevuta, tentativo, claim } of await expired(context, 'in_invio')) {
    const given = await db.transaction(async (tx) => {
      const mine = and(
        eq(invii.id, id),
        eq(invii.stato, 'in_invio'),
        eq(invii.proprietario, claim),
        eq(invii.tentativo, tentativo)
      )
      const [unit] = await tx.select({ id: invii.id }).from(invii).where(mine).for('update')
      if (unit) await giveUpAttempt(tx, id, tentativo, name)
      return unit !== undefined
    })
    if (given) log.error({ invio: id, ricevuta }, 'outcome of a submission unknown: its process ended before the reply')
  }
  for (const { id } of await expired(context, 'pronto')) {
    // One that cannot be carried out must not keep the others waiting.
    await carryOut(context, id, false).catch((err: unknown) =>
      log.error({ err, invio: id }, 'a submission could not be carried out')
    )
  }
}

/**
 * What has outlived its lease, by deadline. The claim is that of the dead: a living one's is not touched. Only what is
 * to be sent has to be of this server's account: what another account left must not stay without an end.
 */
function expired ({ db, service }: LedgerContext, stato: State) {
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
