import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { asc, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { RowOutcome, State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import { isTransient } from '#src/database/problems.ts'
import { alarmUnwritableFolder } from '../alarms/alarm-notifier.ts'
import { announce, SendQueueClosed, type LedgerContext, type QueueEntry } from '../ledger-context.ts'
import { LEASE } from '../moves.ts'
import { readRows, type Row } from '../submission-rows.ts'
import {
  claimSubmission, excludeRefused, leaveReady, putBack, releaseUnsent, renewLease, waitForSendSlot, waitForTestSlot,
  wasDispatched, type Caller, type Claim, type NotSent
} from './claim.ts'
import { commitAttempt, NotDispatched, type Attempt } from './commit-attempt.ts'
import { folderVerdict, makeTestCall, send, type SendCall } from './police-call.ts'
import { recordVerdict } from './record-verdict.ts'

/** Maximum age of a test call. An older result may be outdated, or its token expired. */
const TEST_CALL_VALID_MS = 5 * 60_000
/** Database work is retried for this long while the database is unreachable, full or locked. */
const RETRY_FOR_MS = 60_000
const RETRY_PAUSE_MS = 500

/** The state of a submission after `carryOut`, row by row. */
export interface SubmissionResult extends NotSent { stato: State, schedine: RowResult[] }

export interface RowResult {
  indice: number
  esito: RowOutcome
  codice_errore?: string | null
  messaggio_soap?: string | null
  dettaglio?: string | null
}

/** The result of one run. `again`: the submission is ready as before, and still in the send queue. */
type RunResult = NotSent | 'again' | undefined

/** The rows that passed the test call, and the call's token. `at` is the time of the call on the monotonic clock. */
interface Tested { token: string, rows: readonly Row[], at: number }

/**
 * Takes a `pronto` submission through all steps to its outcome: queue slot, claim, login, test call, send slot,
 * connection, commit, Send. Any process may call it for any submission of the account at any time, because a worker
 * without the claim only returns the state. On shutdown, undispatched submissions stay ready.
 * @param caller the caller, or whether one waits. An unsendable submission is given up if a caller waits, otherwise
 * retried
 */
export async function carryOut (
  context: LedgerContext, id: number, caller: Caller | boolean
): Promise<SubmissionResult> {
  const { db, sendQueue, name } = context
  const entry = sendQueue.enter(id)
  const keepWaiting = typeof caller === 'boolean' ? () => caller : () => caller.keepWaiting()
  let result: RunResult = 'again'
  try {
    while (result === 'again') {
      Object.assign(entry, { has: null, wants: null })
      result = await runOnce(context, entry, { id, token: `${name}/${randomUUID()}`, caller: { keepWaiting } })
    }
  } finally {
    sendQueue.leave(entry)
  }
  return { ...await readResult(db, id), ...result }
}

async function runOnce (context: LedgerContext, entry: QueueEntry, claim: Claim): Promise<RunResult> {
  try {
    await waitForTestSlot(context, entry)
  } catch (err) {
    if (!(err instanceof SendQueueClosed)) throw err
    await leaveReady(context.db, claim.id)
    return {}
  }
  return await claimSubmission(context, claim) ?? await sendClaimed(context, entry, claim)
}

async function sendClaimed (context: LedgerContext, entry: QueueEntry, claim: Claim): Promise<RunResult> {
  announce('claimed', claim.id)
  try {
    return await testAndSend(context, entry, claim)
  } catch (err) {
    if (err instanceof SendQueueClosed) {
      await putBack(context, claim, 'il processo si chiude: ripreso dal prossimo', sql`now()`)
      return {}
    }
    context.log.error({ err, invio: claim.id }, 'a submission could not be processed')
    // After the dispatch this has no effect, and the sweep records the attempt.
    return releaseUnsent(context, claim, { errore: 'errore interno' })
  }
}

async function testAndSend (context: LedgerContext, entry: QueueEntry, claim: Claim): Promise<RunResult> {
  const [submission] = await context.db
    .select({ id_appartamento: invii.id_appartamento, tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii).where(eq(invii.id, claim.id))
  const { tentativo, ...about } = submission!
  let tested: Tested | undefined
  for (;;) {
    if (tested === undefined || isOld(tested)) {
      const found = await testClaimed(context, claim, about.id_appartamento)
      if (found === undefined) return undefined
      if (!('token' in found)) return releaseUnsent(context, claim, found)
      tested = found
    }
    if (!await waitForSendSlot(context, entry, claim)) return undefined
    if (isOld(tested)) continue
    const { token, rows } = tested
    const sent = await sendTested(context, claim, token, { ...about, rows, numero: tentativo + 1 })
    // Another process sends first. The test call is still valid.
    if (sent !== 'in-flight') return sent
  }
}

function isOld ({ at }: Tested): boolean {
  return performance.now() - at > TEST_CALL_VALID_MS
}

function sendCallOf (rows: readonly Row[], id_appartamento: number | null): SendCall {
  return { lines: rows.map(({ line }) => line), id_appartamento: id_appartamento ?? undefined }
}

/**
 * Logs in, makes the test call for a claimed submission, and excludes refused rows.
 * @returns the rows to send, or the reason why none can be sent. Undefined when the submission has ended, or another
 * worker has claimed it
 */
async function testClaimed (
  context: LedgerContext, claim: Claim, id_appartamento: number | null
): Promise<Tested | NotSent | undefined> {
  const { db, keys, service, sendQueue } = context
  const { id } = claim
  const rows = await readRows(db, keys, id, 'in_corso')
  const testCall = await makeTestCall(service, sendCallOf(rows, id_appartamento), {
    signal: sendQueue.shutdownSignal,
    async loggedIn () {
      const isMine = await renewLease(db, claim)
      if (isMine) announce('logged-in', id)
      return isMine
    }
  })
  if (testCall === undefined) return undefined
  const { token, verdict } = testCall
  if (token === null || verdict.stato === 'non_inviato') return { causa: verdict.causa, errore: verdict.errore }
  const accepted = await excludeRefused(context, claim, rows, verdict)
  if (accepted.length === 0 || !await renewLease(db, claim)) return undefined
  announce('tested', id)
  return { token, rows: accepted, at: performance.now() }
}

/** Connects, commits the attempt, sends, and records the verdict. */
async function sendTested (
  context: LedgerContext, claim: Claim, token: string, attempt: Attempt
): Promise<RunResult | 'in-flight'> {
  const { db, service, log } = context
  const { id, caller } = claim
  const { numero, rows, id_appartamento } = attempt
  let dispatched = false
  let notDispatched: NotDispatched | undefined
  const beforeWrite = async () => {
    announce('connected', id)
    try {
      await commitAttempt(context, claim, attempt)
    } catch (err) {
      if (err instanceof NotDispatched) notDispatched = err
      if (notDispatched === undefined || notDispatched.reason === 'not-noted') {
        log.error({ err, invio: id }, 'an attempt could not be committed or noted: nothing is sent')
      }
      throw err
    }
    dispatched = true
    announce('dispatched', id)
  }
  const seen = await send(service, token, sendCallOf(rows, id_appartamento), { beforeWrite })
  const reason = notDispatched?.reason
  const verdict = reason === 'not-noted' ? folderVerdict(rows.length) : seen
  announce('replied', id)
  if (reason === 'in-flight') return reason
  if (reason === 'quiet-period') {
    await putBack(context, claim, 'intorno a mezzanotte non si invia: parte dopo le 00:02', LEASE)
    return 'again'
  }
  if (reason === 'outdated') {
    // The next claim gives the submission up.
    await putBack(context, claim, 'la prenotazione è cambiata dopo la richiesta', LEASE)
    return 'again'
  }
  if (reason === 'suspended') return releaseUnsent(context, claim, { causa: 'INVII_SOSPESI' })
  if (!dispatched && !await retryTransient(() => wasDispatched(db, claim, numero))) {
    return retryTransient(() => releaseUnsent(context, claim, verdict))
  }
  // A caller who still waits is asked to wait until the verdict is recorded.
  caller.keepWaiting()
  await retryTransient(() => recordVerdict(context, { id, numero, rows }, verdict, () => !caller.keepWaiting()))
  announce('recorded', id)
  await alarmUnwritableFolder(context, notDispatched?.cause)
  return { causa: verdict.causa, errore: verdict.errore }
}

/** Retries database work for a minute while the error may be transient. */
async function retryTransient<T> (work: () => Promise<T>): Promise<T> {
  const until = performance.now() + RETRY_FOR_MS
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (!isTransient(err) || performance.now() > until) throw err
    }
    await sleep(RETRY_PAUSE_MS)
  }
}

export async function readResult (db: Executor, id: number): Promise<SubmissionResult> {
  const [submission] = await db.select({ stato: invii.stato }).from(invii).where(eq(invii.id, id))
  const { indice, esito, codice_errore, messaggio_soap, dettaglio } = schedine
  const rows = await db.select({ indice, esito, codice_errore, messaggio_soap, dettaglio }).from(schedine)
    .where(eq(schedine.invio_id, id)).orderBy(asc(indice))
  return { stato: submission!.stato, schedine: rows }
}
