import { createHash } from 'node:crypto'
import { invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import { HeadFileError, type Link } from '#src/database/chain-head.ts'
import type { Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import type { Claim } from './claim.ts'
import type { LedgerContext } from '../context.ts'
import { attribute, LEASE, moveAttributed } from '../moves.ts'
import { isQuiet } from './quiet-hours.ts'
import { sumNights, type Row } from '../rows.ts'
import { checkSuspension, currentSuspension } from '../suspension.ts'

/** How long the service may take to act on bytes that have reached it. */
const DELIVERY_MS = 10 * 60_000
/** How far the service's clock may be behind ours: around midnight the day is not certain. */
export const CLOCKS_MS = 2 * 60_000
/** From the beginning of the commit to the first byte. A process that was frozen in between must not write any more. */
const WRITE_WITHIN_MS = 5000
const WHY = 'punto di non ritorno'

/** Why nothing was dispatched. */
export class NotDispatched extends Error {
  /** `not-noted`: the attempt is committed, and the folder of data did not take the end of the chain. */
  readonly reason: 'suspended' | 'flight-taken' | 'quiet-hours' | 'not-noted'
  constructor (reason: NotDispatched['reason'], cause?: Error) {
    super(`Not dispatched: ${reason}`, { cause })
    this.reason = reason
  }
}

/** What is sent: the attempt's number, and the rows as they are handed over. */
export interface Attempt { numero: number, rows: readonly Row[], data_arrivo: Day }

/**
 * The point of no return: the attempt is committed, durably, before the first byte is written. Called when the
 * connection stands; when it throws, nothing is sent.
 * @throws NotDispatched
 */
export async function dispatch (context: LedgerContext, claim: Claim, attempt: Attempt): Promise<void> {
  const { db, chainHead } = context
  const started = { wall: Date.now(), monotonic: performance.now() }
  const end = await begin(context, claim, attempt).catch(async (err: unknown) => {
    if (postgresError(err)?.constraint_name === 'invii_un_volo') throw new NotDispatched('flight-taken')
    // A database that is older than its history is said to be so outside of the transaction that has found it out.
    const isSuspended = err instanceof HeadFileError || (err instanceof NotDispatched && err.reason === 'suspended')
    if (!isSuspended) throw err
    await checkSuspension(context)
    throw new NotDispatched('suspended')
  })
  await chainHead.note(db, end).catch((err: unknown) => {
    throw err instanceof HeadFileError ? new NotDispatched('not-noted', err) : err
  })
  const age = Math.max(Date.now() - started.wall, performance.now() - started.monotonic)
  if (age > WRITE_WITHIN_MS) throw new Error('Too late to write')
}

/** @returns the link of the chain that the attempt has made */
async function begin (context: LedgerContext, claim: Claim, attempt: Attempt): Promise<Link> {
  const { db, chainHead, timeline, clock, name } = context
  const noted = await chainHead.last()
  return db.transaction(async (tx) => {
    await attribute(tx, name, WHY)
    // After the wait for the lock: by this moment the days are told on which the service may count it.
    const now = clock.now()
    if (isQuiet(now, attempt.data_arrivo)) throw new NotDispatched('quiet-hours')
    const [isWhole, suspension, isPromoted] = await Promise.all([
      chainHead.has(tx, noted),
      currentSuspension(tx),
      timeline.isPromoted(tx),
      insertAttempt(tx, claim.id, attempt, now)
    ])
    if (!isWhole || suspension || isPromoted) throw new NotDispatched('suspended')
    const moved = await moveAttributed(tx, claim.id, {
      da: 'preso',
      a: 'in_invio',
      perche: WHY,
      claim: claim.token,
      set: { tentativo: attempt.numero, lease_fino_al: LEASE }
    })
    if (!moved) throw new Error('The submission belongs to another worker now')
    return (await chainHead.end(tx))!
  })
}

async function insertAttempt (
  tx: Transaction,
  invio_id: number,
  { numero, rows }: Attempt,
  now: Date
): Promise<void> {
  await tx.insert(attempts).values({
    invio_id,
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
}
