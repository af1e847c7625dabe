import type { LedgerContext } from '../ledger/context.ts'
import type { Reserved } from '../ledger/reserve.ts'
import { carryOut, type SubmissionResult } from '../ledger/sending/worker.ts'
import { waitingCaller, type Requester } from './requester.ts'

/**
 * Has a submission carried out, and waits for its end as long as its caller does.
 * @returns undefined when it goes on without them
 */
export async function follow (
  ledger: LedgerContext,
  { id, ricevuta }: Reserved,
  requester: Requester
): Promise<SubmissionResult | undefined> {
  const caller = waitingCaller(requester)
  let result: SubmissionResult | undefined
  const work = carryOut(ledger, id, caller).then(
    (end) => { result = end },
    // What was written before still stands; the sweep carries it on.
    (err: unknown) => ledger.log.error({ err, ricevuta }, 'a submission could not be followed to its end')
  )
  await caller.waitFor(work, ledger.service.answerWithinMs)
  return result
}
