import type { FastifyReply, FastifyRequest } from 'fastify'
import { waitAtMost } from '#src/lib/wait-at-most.ts'
import type { Transaction } from '#src/database/connect.ts'
import type { Caller } from '../ledger/sending/claim.ts'
import type { LedgerContext } from '../ledger/ledger-context.ts'
import { type Reserved, reserve, type Submission } from '../ledger/reserve.ts'
import { carryOut, type SubmissionResult } from '../ledger/sending/carry-out.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'

/** Extra time for a caller who was asked to wait, for example while the submission is given up. */
const GIVE_UP_MS = 10_000

/** The parts of a request that the sending code needs. */
export interface Requester {
  /** The caller does not wait for the result (`Prefer: respond-async`, RFC 7240). */
  isAsync: boolean
  hasDisconnected (): boolean
  /** Milliseconds since the request arrived. */
  waitedMs (): number
  /** Stores the reference with the request's Idempotency-Key. */
  recordReference (tx: Transaction, ricevuta: string): Promise<void>
  /** Sets `Location` to the URL of the submission. */
  locate (id: number): void
  /** Marks the response as not final. A repeated request with the same key then returns the current state. */
  leaveOpen (): void
  /** Sets `Preference-Applied` if the caller sent `Prefer: respond-async`. */
  confirmAsync (): void
  /**
   * Marks the response as final, and stores it. If nothing was sent for a transient reason, a repeated request with the
   * same key is executed again.
   */
  end (): void
}

export function requesterOf (request: FastifyRequest, reply: FastifyReply): Requester {
  const preferences = String(request.headers.prefer ?? '').split(',')
  const isAsync = preferences.some((each) => each.split(/[;=]/)[0]!.trim().toLowerCase() === 'respond-async')
  return {
    isAsync,
    hasDisconnected: () => reply.raw.destroyed && !reply.raw.writableFinished,
    waitedMs: () => reply.elapsedTime,
    recordReference: (tx, ricevuta) => request.recordInProgress(tx, ricevuta),
    locate: (id) => { reply.header('location', `/api/v1/invii/${id}`) },
    end () {
      request.hasEnded = true
      request.isUndecided = false
    },
    leaveOpen () { request.isUndecided = true },
    confirmAsync () {
      if (isAsync) reply.header('preference-applied', 'respond-async')
    }
  }
}

/**
 * A caller who waits until the time limit or a disconnect. After `keepWaiting` has returned true, the caller waits for
 * up to `GIVE_UP_MS` more. After the response `keepWaiting` returns false.
 */
export function waitingCaller (
  { isAsync, hasDisconnected, waitedMs }: Pick<Requester, 'isAsync' | 'hasDisconnected' | 'waitedMs'>
) {
  let isWaiting = !isAsync
  let mustWait = false
  let isAnswered = false

  return {
    keepWaiting () {
      mustWait ||= isWaiting && !hasDisconnected()
      return mustWait && !isAnswered
    },
    /** Waits for `work` until the request is `ms` old, and longer if `work` has called `keepWaiting`. */
    async waitFor (work: Promise<unknown>, ms: number): Promise<void> {
      if (isWaiting) await waitAtMost(Math.max(0, ms - waitedMs()), work)
      isWaiting = false
      if (mustWait) await waitAtMost(GIVE_UP_MS, work)
      isAnswered = true
    }
  } satisfies Caller & Record<string, unknown>
}

/**
 * Sends a submission, and waits for the result while the caller waits.
 * @returns undefined when the Send continues in the background
 */
export async function follow (
  ledger: LedgerContext, { id, ricevuta }: Reserved, requester: Requester
): Promise<SubmissionResult | undefined> {
  const caller = waitingCaller(requester)
  let result: SubmissionResult | undefined
  const work = carryOut(ledger, id, caller).then(
    (end) => { result = end },
    // The submission is stored, so the sweep will continue it.
    (err: unknown) => ledger.log.error({ err, ricevuta }, 'a submission could not be followed to its end')
  )
  await caller.waitFor(work, ledger.service.respondWithinMs)
  return result
}

/** Maximum age of a request when its submission is inserted. Its caller does not wait much longer. */
const WRITTEN_WITHIN_MS = 25_000

/**
 * Inserts a submission while its caller waits. After too long a wait for a lock, the transaction is rolled back.
 * @throws ServizioOccupato, and errors of `reserve`
 */
export async function reserveInTime (
  ledger: LedgerContext,
  submission: Omit<Submission, 'recordReference'>,
  { waitedMs, recordReference }: Pick<Requester, 'waitedMs' | 'recordReference'>
): Promise<Reserved> {
  let isWritten = false
  let isGivenUp = false
  const work = reserve(ledger, {
    ...submission,
    async recordReference (tx, ricevuta) {
      if (isGivenUp) throw new ServizioOccupato()
      isWritten = true
      await recordReference(tx, ricevuta)
    }
  })
  await waitAtMost(Math.max(0, WRITTEN_WITHIN_MS - waitedMs()), work)
  isGivenUp = !isWritten
  if (isGivenUp) throw new ServizioOccupato()
  return work
}
