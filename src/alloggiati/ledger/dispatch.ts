import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { invii, invii_tentativi as attempts } from '#drizzle/tables/alloggiati.ts'
import { dayInRome } from '#src/lib/time.ts'
import { HeadFileError } from '#src/plugins/database/chain-head.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import type { LedgerContext } from './context.ts'
import { LEASE, lockChain, move } from './moves.ts'
import { isQuiet } from './quiet-hours.ts'
import { sumNights, type Row } from './rows.ts'
import { checkSuspension, currentSuspension, faultOfHead } from './suspension.ts'

/** How long the service may take to act on bytes that have reached it. */
const DELIVERY_MS = 10 * 60_000
/** How far the service's clock may be behind ours: around midnight the day is not certain. */
export const CLOCKS_MS = 2 * 60_000
/** From the beginning of the commit to the first byte. A process that was frozen in between must not write any more. */
const WRITE_WITHIN_MS = 5000

/** Why nothing was dispatched. */
export class NotDispatched extends Error {
  /** `not-noted`: the attempt is committed, and the folder of data did not take the end of the chain. */
  readonly reason: 'suspended' | 'flight-taken' | 'quiet-hours' | 'not-noted'
  constructor (reason: NotDispatched['reason'], cause?: Error) {
    super(`Not dispatched: ${reason}`, { cause })
    this.reason = reason
  }
}

/**
 * The point of no return: the attempt is committed, durably, before the first byte is written. Called when the
 * connection stands; when it throws, nothing is sent.
 * @throws NotDispatched
 */
export async function dispatch (
  context: LedgerContext,
  id: number,
  claim: string,
  rows: readonly Row[]
): Promise<void> {
  const { db, chainHead } = context
  const started = { wall: Date.now(), monotonic: performance.now() }
  await db.transaction((tx) => beginAttempt(tx, context, { id, claim }, rows)).catch(async (err: unknown) => {
    if (postgresError(err)?.constraint_name === 'invii_un_volo') throw new NotDispatched('flight-taken')
    // A database that is older than its history is said to be so outside of the transaction that has found it out.
    if (err instanceof NotDispatched && err.reason === 'suspended') await checkSuspension(db, chainHead)
    throw err
  })
  await chainHead.update(db).catch((err: unknown) => {
    throw err instanceof HeadFileError ? new NotDispatched('not-noted', err) : err
  })
  const age = Math.max(Date.now() - started.wall, performance.now() - started.monotonic)
  if (age > WRITE_WITHIN_MS) throw new Error('Too late to write')
}

async function beginAttempt (
  tx: Transaction,
  { chainHead, clock, name }: LedgerContext,
  { id, claim }: { id: number, claim: string },
  rows: readonly Row[]
): Promise<void> {
  // A commit that a power cut could undo would prove nothing; the server's default may allow such commits.
  await tx.execute(sql`set local synchronous_commit = on`)
  if (await faultOfHead(tx, chainHead) ?? await currentSuspension(tx)) throw new NotDispatched('suspended')
  await lockChain(tx)
  const [submission] = await tx
    .select({ tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii)
    .where(eq(invii.id, id))
    .for('update')
    // Prepared, as all that the first byte waits for: one round trip instead of two, and no planning.
    .prepare('dispatch_submission').execute()
  const now = clock.now()
  if (isQuiet(now, submission!.data_arrivo)) throw new NotDispatched('quiet-hours')
  const numero = submission!.tentativo + 1
  await tx.insert(attempts).values({
    invio_id: id,
    numero,
    base: numero === 1 ? 'primo' : 'ripresa',
    inviato_il: now.toISOString(),
    consegna_entro: new Date(now.getTime() + DELIVERY_MS).toISOString(),
    giorno_da: dayInRome(new Date(now.getTime() - CLOCKS_MS)),
    giorno_a: dayInRome(new Date(now.getTime() + DELIVERY_MS)),
    schedine: rows.length,
    notti: sumNights(rows),
    impronta_richiesta: createHash('sha256')
      .update(rows.map(({ line }) => line).join('\n'))
      .digest()
  }).prepare('dispatch_attempt').execute()
  const moved = await move(tx, id, {
    da: 'preso',
    a: 'in_invio',
    chi: name,
    perche: 'punto di non ritorno',
    claim,
    set: { tentativo: numero, lease_fino_al: LEASE }
  })
  if (!moved) throw new Error('The submission belongs to another worker now')
}
