import { createHash } from 'node:crypto'
import { invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import { HeadFileError, type Link } from '#src/database/chain-head.ts'
import type { Transaction } from '#src/database/connect.ts'
import { postgresError } from '#src/database/problems.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import type { LedgerContext } from '../ledger-context.ts'
import { attribute, LEASE, moveAttributed } from '../moves.ts'
import { sumNights, type Row } from '../submission-rows.ts'
import { checkSuspension, currentSuspension } from '../suspension.ts'
import { isQuiet, outdatedBookings, type Claim } from './claim.ts'

/** Assumed maximum time until the service has processed a call. Later it never processes the call. */
const DELIVERY_MS = 10 * 60_000
/** Assumed maximum difference between the clocks of the service and of this server. */
export const CLOCKS_MS = 2 * 60_000
/** Maximum time from the attempt's timestamp to the first byte. A process that was paused for longer must not write. */
const WRITE_WITHIN_MS = 5000
const WHY = 'punto di non ritorno'

export interface Attempt { numero: number, rows: readonly Row[], data_arrivo: Day, id_appartamento: number | null }

/** Both clocks are needed. The wall clock may be set, and the monotonic clock stops while the machine sleeps. */
interface Instant { wall: number, monotonic: number }

/**
 * `outdated`: a booking changed after the claim.
 * `not-noted`: the attempt is committed, but the head of the chain could not be written to `DATA_DIR`.
 */
export class NotDispatched extends Error {
  readonly reason: 'suspended' | 'in-flight' | 'quiet-period' | 'outdated' | 'not-noted'
  constructor (reason: NotDispatched['reason'], cause?: Error) {
    super(`Not dispatched: ${reason}`, { cause })
    this.reason = reason
  }
}

/**
 * Commits the attempt durably, before the first byte is written. Runs after the connection is open. If it throws,
 * nothing is sent.
 * @throws NotDispatched, errors of the database, and an error if the commit took too long
 */
export async function commitAttempt (context: LedgerContext, claim: Claim, attempt: Attempt): Promise<void> {
  const { db, chainHead } = context
  const { end, started } = await begin(context, claim, attempt).catch(async (err: unknown) => {
    if (postgresError(err)?.constraint_name === 'invii_un_volo') throw new NotDispatched('in-flight')
    // `begin` has rolled back, so suspend in a new transaction.
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

/** @returns the chain link of the attempt, and the instant after the wait for the lock and before the commit */
async function begin (
  context: LedgerContext, claim: Claim, attempt: Attempt
): Promise<{ end: Link, started: Instant }> {
  const { db, chainHead, timeline, clock, name } = context
  const noted = await chainHead.last()
  return db.transaction(async (tx) => {
    await attribute(tx, name, WHY)
    // Read the clock after the wait for the lock. From this day on the service may count the attempt.
    const now = clock.now()
    const started = { wall: Date.now(), monotonic: performance.now() }
    if (isQuiet(now, attempt.data_arrivo)) throw new NotDispatched('quiet-period')
    const [isWhole, suspension, isPromoted, outdated] = await Promise.all([
      chainHead.has(tx, noted), currentSuspension(tx), timeline.isPromoted(tx), outdatedBookings(context, tx, claim.id),
      insertAttempt(tx, claim.id, attempt, now)
    ])
    if (!isWhole || suspension || isPromoted) throw new NotDispatched('suspended')
    if (outdated.length > 0) throw new NotDispatched('outdated')
    const set = { tentativo: attempt.numero, lease_fino_al: LEASE }
    const move = { da: 'preso', a: 'in_invio', perche: WHY, claim: claim.token, set } as const
    if (!await moveAttributed(tx, claim.id, move)) throw new Error('The submission belongs to another worker now')
    return { end: (await chainHead.end(tx))!, started }
  })
}

async function insertAttempt (
  tx: Transaction, invio_id: number, { numero, rows }: Attempt, now: Date
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
    impronta_richiesta: createHash('sha256').update(rows.map(({ line }) => line).join('\n')).digest()
  }).prepare('dispatch_attempt').execute()
}
