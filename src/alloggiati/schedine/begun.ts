import { eq } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import type { InvioAnswer } from '#schemas/alloggiati.ts'
import type { Executor } from '#src/database/connect.ts'
import { SchedineInCorso } from '../sent-errors.ts'
import { readResult } from '../ledger/sending/worker.ts'
import { readWaiting } from '../ledger/waiting.ts'
import type { Requester } from './requester.ts'
import { answerOf, closeIfDecided, isUnderWay } from './submission.ts'

/**
 * The answer to a repeated request: from the submission that the first one has begun, as it is by now.
 * @throws SchedineInCorso while it is under way; InvioFallito
 */
export async function answerBegun (db: Executor, ricevuta: string, requester: Requester): Promise<InvioAnswer> {
  const { id, metodo, prenotazione_id } = invii
  const [found] = await db.select({ id, metodo, prenotazione_id }).from(invii).where(eq(invii.ricevuta, ricevuta))
  const { id: submission, ...told } = found!
  requester.locate(submission)
  const result = await readResult(db, submission)
  if (isUnderWay(result.stato)) {
    requester.leaveOpen()
    const waiting = await readWaiting(db, [ricevuta])
    throw new SchedineInCorso(ricevuta, result.stato, { waitsUntil: waiting.get(ricevuta) })
  }
  closeIfDecided(requester, result.stato)
  return answerOf(result, { ricevuta, ...told })
}
