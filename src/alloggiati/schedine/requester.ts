import type { FastifyReply, FastifyRequest } from 'fastify'
import { within } from '#src/lib/within.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { Caller } from '../ledger/sending/claim.ts'
import type { LedgerContext } from '../ledger/ledger-context.ts'
import { type Reserved, reserve, type Submission } from '../ledger/reserve.ts'
import { carryOut, type SubmissionResult } from '../ledger/sending/dispatch.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'

/** For so long a caller whose submission is just being freed is kept waiting beyond the usual time, to be told so. */
const HELD_MS = 10_000

/** The request that asks for a submission, as far as the way of the submission needs to know it. */
export interface Requester {
  /** They want no answer but that it was begun (RFC 7240, `respond-async`). */
  isAsync: boolean
  hasHungUp (): boolean
  /** For how long they wait already, in milliseconds. */
  waitedMs (): number
  /** Notes the reference beside the request's Idempotency-Key. */
  note (tx: Transaction, ricevuta: string): Promise<void>
  /** Says in the answer where the submission is found. */
  locate (id: number): void
  /** The answer is not the last one: a repeated request with the same key is told of what was begun, as it is then. */
  leaveOpen (): void
  /** Sets `Preference-Applied`, if the caller has sent `Prefer: respond-async`: the answer did not wait for the end. */
  tellUnawaited (): void
  /**
   * The answer is the last one, and is kept: what was begun has ended, or nothing had to be. Where nothing was sent for
   * a reason that may pass, a repeated request with the same key begins anew.
   */
  end (): void
}

export function requesterOf (request: FastifyRequest, reply: FastifyReply): Requester {
  const preferences = String(request.headers.prefer ?? '').split(',')
  const isAsync = preferences.some((each) => each.split(/[;=]/)[0]!.trim().toLowerCase() === 'respond-async')
  return {
    isAsync,
    hasHungUp: () => reply.raw.destroyed && !reply.raw.writableFinished,
    waitedMs: () => reply.elapsedTime,
    note: (tx, ricevuta) => request.noteBegun(tx, ricevuta),
    locate: (id) => { reply.header('location', `/api/v1/invii/${id}`) },
    end () {
      request.hasEnded = true
      request.isUndecided = false
    },
    leaveOpen () { request.isUndecided = true },
    tellUnawaited () {
      if (isAsync) reply.header('preference-applied', 'respond-async')
    }
  }
}

/**
 * A caller who is there until the time is up, or they hang up. Once held, they are told the end; once answered, nothing
 * holds them any more.
 */
export function waitingCaller (
  { isAsync, hasHungUp, waitedMs }: Pick<Requester, 'isAsync' | 'hasHungUp' | 'waitedMs'>
) {
  let isThere = !isAsync
  let isHeld = false
  let isAnswered = false

  return {
    hold () {
      isHeld ||= isThere && !hasHungUp()
      return isHeld && !isAnswered
    },
    /**
     * Waits for the end of `work`, which holds the caller or not, until the request is `ms` old, and no longer than
     * they are there.
     */
    async waitFor (work: Promise<unknown>, ms: number): Promise<void> {
      if (isThere) await within(Math.max(0, ms - waitedMs()), work)
      isThere = false
      if (isHeld) await within(HELD_MS, work)
      isAnswered = true
    }
  } satisfies Caller & Record<string, unknown>
}

/**
 * Has a submission carried out, and waits for its end as long as its caller does.
 * @returns undefined when it goes on without them
 */
export async function follow (
  ledger: LedgerContext, { id, ricevuta }: Reserved, requester: Requester
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
