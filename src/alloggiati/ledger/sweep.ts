import { and, eq, lt, sql } from 'drizzle-orm'
import { invii, invii_esiti as outcomes } from '#drizzle/tables/index.ts'
import type { LedgerContext } from './context.ts'
import { move, moveRows } from './moves.ts'
import type { State } from './states.ts'
import { carryOut } from './worker.ts'

/**
 * Puts right what a dead process left, at start and every half minute, by the clock of the database: what was taken and not
 * dispatched is free again; what was dispatched is unknown, and alarmed. Then carries out what is ready and nobody waits for.
 */
export async function sweep (context: LedgerContext): Promise<void> {
  const { db, name, log } = context
  for (const { id, claim } of await expired(context, 'preso')) {
    const set = { proprietario: null }
    await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi: name, perche: 'il processo è morto prima di inviare', claim, set }))
  }
  for (const { id, ricevuta, tentativo, claim } of await expired(context, 'in_invio')) {
    const moved = await db.transaction(async (tx) => {
      if (!await move(tx, id, { da: 'in_invio', a: 'sconosciuto', chi: name, perche: 'il processo è morto prima della risposta', claim })) return false
      await tx.insert(outcomes).values({ invio_id: id, numero: tentativo, esito: '?', fonte: 'scadenza' })
      await moveRows(tx, id, 'sconosciuta', 'in_corso')
      return true
    })
    if (moved) log.error({ invio: id, ricevuta }, 'outcome of a submission unknown: its process ended before the reply')
  }
  for (const { id } of await expired(context, 'pronto')) await carryOut(context, id, false)
}

/** What has outlived its lease, by deadline. The claim is that of the dead: a living one's is not touched. */
function expired ({ db, service }: LedgerContext, stato: State) {
  return db.select({ id: invii.id, ricevuta: invii.ricevuta, tentativo: invii.tentativo, claim: sql<string>`coalesce(${invii.proprietario}, '')` }).from(invii)
    .where(and(eq(invii.utente, service.account), eq(invii.stato, stato), lt(invii.lease_fino_al, sql`now()`))).orderBy(invii.scadenza, invii.id)
}
