import type { Transaction } from '#src/database/connect.ts'
import { move, moveRows, type Move } from './moves.ts'
import { mayBeAcquired } from './sending/record-verdict.ts'

/**
 * Gives up a submission that cannot be sent, and frees its guests. Where an earlier attempt may have been acquired, a
 * person decides.
 * @returns false when it is not where the caller believes it to be
 */
export async function giveUp (tx: Transaction, id: number, change: Omit<Move, 'a' | 'set'>): Promise<boolean> {
  if (await mayBeAcquired(tx, id)) return move(tx, id, { ...change, a: 'da_verificare' })
  const moved = await move(tx, id, { ...change, a: 'non_inviato' })
  if (moved) await moveRows(tx, id, 'non_inviata', 'in_corso')
  return moved
}
