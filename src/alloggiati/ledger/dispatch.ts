import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { invii, invii_tentativi as attempts } from '#drizzle/tables/alloggiati.ts'
import { dayInRome } from '#src/lib/time.ts'
import type { LedgerContext } from './context.ts'
import { holdOrStop } from './hold.ts'
import { LEASE, move } from './moves.ts'
import type { Row } from './rows.ts'

/** How long the service may take to act on bytes that have reached it. */
const DELIVERY_MS = 10 * 60_000
/** How far the service's clock may be behind ours: around midnight the day is not certain. */
export const CLOCKS_MS = 2 * 60_000
/** From the beginning of the commit to the first byte. A process that was frozen in between must not write any more. */
const WRITE_WITHIN_MS = 5000

/**
 * The point of no return: the attempt is committed, durably, before the first byte is written. Called when the
 * connection stands; whatever it throws, nothing is sent.
 */
export async function dispatch (
  { db, head, clock, name }: LedgerContext,
  id: number,
  claim: string,
  rows: readonly Row[]
): Promise<void> {
  const started = { wall: Date.now(), monotonic: performance.now() }
  if (await holdOrStop(db, head)) throw new Error('Sending is stopped')
  const now = clock.now()
  await db.transaction(async (tx) => {
    // A commit that a power cut could undo would prove nothing, whatever the server's default.
    await tx.execute(sql`set local synchronous_commit = on`)
    const [unit] = await tx.select({ tentativo: invii.tentativo }).from(invii).where(eq(invii.id, id)).for('update')
    const numero = unit!.tentativo + 1
    await tx.insert(attempts).values({
      invio_id: id,
      numero,
      base: numero === 1 ? 'primo' : 'ripresa',
      inviato_il: now.toISOString(),
      consegna_entro: new Date(now.getTime() + DELIVERY_MS).toISOString(),
      giorno_da: dayInRome(new Date(now.getTime() - CLOCKS_MS)),
      giorno_a: dayInRome(new Date(now.getTime() + DELIVERY_MS)),
      schedine: rows.length,
      notti: rows.reduce((sum, { permanenza }) => sum + permanenza, 0),
      impronta_richiesta: createHash('sha256')
        .update(rows.map(({ line }) => line).join('\n'))
        .digest()
    })
    const set = { tentativo: numero, lease_fino_al: LEASE }
    const moved = await move(tx, id, {
      da: 'preso',
      a: 'in_invio',
      chi: name,
      perche: 'punto di non ritorno',
      claim,
      set
    })
    if (!moved) throw new Error('The submission belongs to another worker now')
  })
  await head.update(db)
  const age = Math.max(Date.now() - started.wall, performance.now() - started.monotonic)
  if (age > WRITE_WITHIN_MS) throw new Error('Too late to write')
}
