import { and, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine } from '#drizzle/tables/ledger.ts'
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core'
import type { Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import type { RowOutcome, State } from '#schemas/submission.ts'

/** A state transition, with the actor (`chi`) and the reason (`perche`) for the chain. */
export interface Move {
  da: State
  a: State
  chi: string
  perche: string
  /** Moves only while the worker has this claim. After the lease expires, another worker may claim the submission. */
  claim?: string
  set?: PgUpdateSetSource<typeof invii>
}

/** The reason on the first link of a submission: accepted with or without a person's confirmation. */
export const ACCEPTED = { unconfirmed: 'accettato', confirmed: 'accettato con una conferma' } as const

/** Lasts longer than the longest call. It normally expires only after its worker was killed. */
export const LEASE = sql`now() + interval '90 seconds'`

/** Delay before the retry of a submission for which no caller waits. No lease is longer. */
export const RETRY = sql`now() + interval '5 minutes'`

/**
 * Locks the chain until the transaction ends. Every transaction that moves submissions takes this lock before it locks
 * their rows, to prevent deadlocks.
 */
export async function lockChain (tx: Transaction): Promise<void> {
  // The number is part of the text, because a parameter would cost a second round trip.
  await tx.execute(sql`select pg_advisory_xact_lock(${sql.raw(String(LOCKS.ledgerChain))})`)
}

/**
 * Locks the chain, and passes actor and reason to the trigger. Forces `synchronous_commit`: without it a power cut can
 * undo a commit, and the default of the PostgreSQL server may be off.
 */
export async function attribute (tx: Transaction, chi: string, perche: string): Promise<void> {
  // The calls are in a subquery, because the query builder prepares no statement without a table.
  await tx.select({ calls: sql`count(*)` }).from(sql`(
    select pg_advisory_xact_lock(${sql.raw(String(LOCKS.ledgerChain))}), set_config('synchronous_commit', 'on', true),
      set_config('locanda.chi', ${chi}, true), set_config('locanda.perche', ${perche}, true)) as attribution`)
    .prepare('attribute').execute()
}

/**
 * Moves a submission if it is still in state `da`. A trigger refuses transitions that are not allowed.
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
