import { ServizioOccupato } from '#src/lib/errors.ts'
import { within } from '#src/lib/within.ts'
import type { LedgerContext } from '../ledger/context.ts'
import { reserve, type Reserved, type Submission } from '../ledger/reserve.ts'
import type { Requester } from './requester.ts'

/** So old a request may be before its submission is written down: its caller does not wait much longer. */
const WRITTEN_WITHIN_MS = 25_000

/**
 * Writes a submission down while its caller waits. What waits for a lock for too long is given up, and leaves nothing
 * behind: when its turn comes, it is rolled back.
 * @throws ServizioOccupato, and what `reserve` throws
 */
export async function reserveInTime (
  ledger: LedgerContext,
  submission: Omit<Submission, 'note'>,
  { waitedMs, note }: Pick<Requester, 'waitedMs' | 'note'>
): Promise<Reserved> {
  let isWritten = false
  let isGivenUp = false
  const work = reserve(ledger, {
    ...submission,
    async note (tx, ricevuta) {
      if (isGivenUp) throw new ServizioOccupato()
      isWritten = true
      await note(tx, ricevuta)
    }
  })
  await within(Math.max(0, WRITTEN_WITHIN_MS - waitedMs()), work)
  isGivenUp = !isWritten
  if (isGivenUp) throw new ServizioOccupato()
  return work
}
