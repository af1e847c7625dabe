import { and, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine } from '#drizzle/tables/ledger.ts'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import type { RowOutcome, State } from '#schemas/submission.ts'

/** A transition to make: from where to where, by whom and why, as the chain of transitions will tell. */
export interface Move {
  da: State
  a: State
  chi: string
  perche: string
  /** Only while this is the submission's claim: a worker whose lease has ended may have lost it to another. */
  claim?: string
  set?: PgUpdateSetSource<typeof invii>
}

/** Why a submission is in the ledger, as the first link of its history says: with a person's word, or without. */
export const ACCEPTED = { plainly: 'accettato', confirmed: 'accettato con una conferma' } as const

/** Longer than the longest call: when it has ended, the worker that claimed the submission is not at work any more. */
export const LEASE = sql`now() + interval '90 seconds'`

/** Until a submission that no caller waits for is tried again. No lease is longer. */
export const RETRY = sql`now() + interval '5 minutes'`

/**
 * Takes the lock of the chain, until the transaction ends. A transaction that changes submissions takes it before it
 * locks any row: two that lock in different orders would wait for each other.
 */
export async function lockChain (tx: Transaction): Promise<void> {
  // Without a parameter, which would cost a second round trip.
  await tx.execute(sql`select pg_advisory_xact_lock(${sql.raw(String(LOCKS.ledgerChain))})`)
}

/**
 * Tells the trigger who makes the changes of this transaction, and why; locks the chain. What the ledger says is on the
 * disk before anything follows from it: a commit that a power cut could undo would prove nothing, and the server's
 * default may allow such commits.
 */
export async function attribute (tx: Transaction, chi: string, perche: string): Promise<void> {
  // In a subquery, because the query builder prepares no statement without a table.
  await tx.select({ calls: sql`count(*)` }).from(sql`(
    select pg_advisory_xact_lock(${sql.raw(String(LOCKS.ledgerChain))}), set_config('synchronous_commit', 'on', true),
      set_config('locanda.chi', ${chi}, true), set_config('locanda.perche', ${perche}, true)) as attribution`)
    .prepare('attribute').execute()
}

/**
 * Moves a submission if it is still where the caller believes it to be. The database refuses what is not allowed.
 * @returns whether it was moved
 */
export async function move (tx: Transaction, id: number, { chi, ...change }: Move): Promise<boolean> {
  await attribute(tx, chi, change.perche)
  return moveAttributed(tx, id, change)
}

export async function moveAttributed (
  tx: Transaction, id: number, { da, a, perche, claim, set = {} }: Omit<Move, 'chi'>
): Promise<boolean> {
  const moved = await tx
    .update(invii)
    .set({ ...set, stato: a, nota: perche, aggiornato_il: sql`now()` })
    .where(and(eq(invii.id, id), eq(invii.stato, da), claim === undefined ? undefined : eq(invii.proprietario, claim)))
    .returning({ id: invii.id })
    .prepare('move').execute()
  return moved.length > 0
}

export async function moveRows (tx: Transaction, id: number, esito: RowOutcome, da: RowOutcome): Promise<void> {
  await tx
    .update(invii_schedine)
    .set({ esito })
    .where(and(eq(invii_schedine.invio_id, id), eq(invii_schedine.esito, da)))
}
