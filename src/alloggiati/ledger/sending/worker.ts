import { randomUUID } from 'node:crypto'
import { asc, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { RowOutcome, State } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import {
  claimSubmission, leaveReady, putBack, releaseUnsent, type Caller, type Claim, type NotSent
} from './claim.ts'
import { alarmFolder } from '../alarms/folder.ts'
import { announce, type LedgerContext } from '../context.ts'
import { folderVerdict } from './classify.ts'
import { dispatch, NotDispatched, type Attempt } from './dispatch.ts'
import { otherFlightsOver, takeFlight } from './flight.ts'
import { send } from './handover.ts'
import { insist } from './insist.ts'
import { LaneClosed, type Turn } from './lane.ts'
import { LEASE } from '../moves.ts'
import { isQuiet } from './quiet-hours.ts'
import { recordVerdict } from './record-verdict.ts'
import { handoverOf, rehearseClaimed, type Rehearsed } from './rehearsal.ts'

/** A rehearsal is good for so long: then the service may judge otherwise, or the token be old. */
const REHEARSAL_GOOD_MS = 5 * 60_000
/** Between two looks at the clock in the quiet hours. */
const CLOCK_MS = 1000

/** A submission as it stands after it was carried out, row by row. */
export interface SubmissionResult extends NotSent {
  stato: State
  schedine: RowResult[]
}

export interface RowResult {
  indice: number
  esito: RowOutcome
  codice_errore?: string | null
  messaggio_soap?: string | null
  dettaglio?: string | null
}

/** What came of one try; `again`: it is ready as before, and still in the lane. */
type Try = NotSent | 'again' | undefined

/**
 * Carries a submission that is `pronto` through to its outcome: its place in the lane, claim, login, rehearsal, the
 * flight, connection, commit, Send. Safe to call for any submission, from any process, any number of times: a worker
 * that does not get the claim only reports. When the process ends, what is not dispatched stays ready.
 * @param caller who waits for the answer: what cannot be sent is freed at once; without, it is tried again later
 */
export async function carryOut (
  context: LedgerContext,
  id: number,
  caller: Caller | boolean
): Promise<SubmissionResult> {
  const { db, lane, name } = context
  const turn = lane.enter(id)
  const hold = typeof caller === 'boolean' ? () => caller : () => caller.hold()
  let tried: Try = 'again'
  try {
    while (tried === 'again') {
      turn.step()
      const token = `${name}/${randomUUID()}`
      tried = await tryOnce(context, turn, { id, token, caller: { hold } })
    }
  } finally {
    turn.leave()
  }
  return { ...await readResult(db, id), ...tried }
}

async function tryOnce (context: LedgerContext, turn: Turn, claim: Claim): Promise<Try> {
  const { id } = claim
  try {
    await quietHoursOver(context, id)
    await turn.place()
  } catch (err) {
    if (!(err instanceof LaneClosed)) throw err
    await leaveReady(context, id)
    return {}
  }
  return await claimSubmission(context, claim) ?? await sendClaimed(context, turn, claim)
}

/** @throws LaneClosed */
async function quietHoursOver ({ db, clock, lane }: LedgerContext, id: number): Promise<void> {
  while (isQuiet(clock.now())) {
    const [submission] = await db.select({ data_arrivo: invii.data_arrivo }).from(invii).where(eq(invii.id, id))
    if (!isQuiet(clock.now(), submission!.data_arrivo)) return
    await lane.pause(CLOCK_MS)
  }
}

async function sendClaimed (context: LedgerContext, turn: Turn, claim: Claim): Promise<Try> {
  announce('claimed', claim.id)
  try {
    return await rehearseAndSend(context, turn, claim)
  } catch (err) {
    if (err instanceof LaneClosed) {
      await putBack(context, claim, 'il processo si chiude: ripreso dal prossimo', sql`now()`)
      return {}
    }
    context.log.error({ err, invio: claim.id }, 'a submission could not be carried out')
    // Before the dispatch this frees it; after the dispatch it changes nothing, and the sweep records the attempt.
    return releaseUnsent(context, claim, { errore: 'errore interno' })
  }
}

async function rehearseAndSend (context: LedgerContext, turn: Turn, claim: Claim): Promise<Try> {
  const { db } = context
  const { id } = claim
  const [submission] = await db
    .select({ id_appartamento: invii.id_appartamento, tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii)
    .where(eq(invii.id, id))
  const { id_appartamento, tentativo, data_arrivo } = submission!
  let rehearsed = await rehearseClaimed(context, claim, id_appartamento)
  if (!isRehearsed(rehearsed)) return rehearsed && releaseUnsent(context, claim, rehearsed)
  if (!await takeFlight(context, turn, claim)) return undefined
  for (;;) {
    if (performance.now() - rehearsed.at > REHEARSAL_GOOD_MS) {
      rehearsed = await rehearseClaimed(context, claim, id_appartamento)
      if (!isRehearsed(rehearsed)) return rehearsed && releaseUnsent(context, claim, rehearsed)
    }
    const sent = await sendRehearsed(context, claim, {
      ...rehearsed, id_appartamento, data_arrivo, numero: tentativo + 1
    })
    if (sent !== 'flight-taken') return sent
    // Another process was faster. The rehearsal is as good as before.
    if (!await otherFlightsOver(context, claim)) return undefined
  }
}

function isRehearsed (rehearsal: Rehearsed | NotSent | undefined): rehearsal is Rehearsed {
  return rehearsal !== undefined && 'token' in rehearsal
}

interface Sending extends Rehearsed, Attempt { id_appartamento: number | null }

/** Connects, commits the attempt, sends, and writes down what came of it. */
async function sendRehearsed (
  context: LedgerContext,
  claim: Claim,
  { token, id_appartamento, ...attempt }: Sending
): Promise<Try | 'flight-taken'> {
  const { db, service, log } = context
  const { id } = claim
  const { numero, rows } = attempt
  let dispatched = false
  let notDispatched: NotDispatched | undefined
  const beforeWrite = async () => {
    announce('connected', id)
    try {
      await dispatch(context, claim, attempt)
    } catch (err) {
      if (err instanceof NotDispatched) notDispatched = err
      if (notDispatched === undefined || notDispatched.reason === 'not-noted') {
        log.error({ err, invio: id }, 'a dispatch failed: nothing is sent')
      }
      throw err
    }
    dispatched = true
    announce('dispatched', id)
  }
  const seen = await send(service, token, handoverOf(rows, id_appartamento), { beforeWrite })
  const reason = notDispatched?.reason
  const verdict = reason === 'not-noted' ? folderVerdict(rows.length) : seen
  announce('replied', id)
  if (reason === 'flight-taken') return reason
  if (reason === 'quiet-hours') {
    await putBack(context, claim, 'intorno a mezzanotte non si invia: parte dopo le 00:02', LEASE)
    return 'again'
  }
  if (reason === 'suspended') return releaseUnsent(context, claim, { causa: 'INVII_SOSPESI' })
  if (!dispatched && !await insist(() => wasDispatched(db, claim, numero))) {
    return insist(() => releaseUnsent(context, claim, verdict))
  }
  const { caller } = claim
  // Keeps who waits until it is written down.
  caller.hold()
  await insist(() => recordVerdict(context, { id, numero, rows }, verdict, () => !caller.hold()))
  announce('recorded', id)
  await alarmFolder(context, notDispatched?.cause)
  return { causa: verdict.causa, errore: verdict.errore }
}

/**
 * Whether the commit of an attempt went through although dispatching failed: then its outcome must be written. The
 * claim tells: an attempt of the same number may be another worker's, whose Send is still out.
 */
async function wasDispatched (db: Executor, { id, token }: Claim, numero: number): Promise<boolean> {
  const [submission] = await db
    .select({ tentativo: invii.tentativo, stato: invii.stato, owner: invii.proprietario })
    .from(invii)
    .where(eq(invii.id, id))
  return submission?.tentativo === numero && submission.stato === 'in_invio' && submission.owner === token
}

/** A submission as it stands, row by row. */
export async function readResult (db: Executor, id: number): Promise<SubmissionResult> {
  const [submission] = await db.select({ stato: invii.stato }).from(invii).where(eq(invii.id, id))
  const { indice, esito, codice_errore, messaggio_soap, dettaglio } = schedine
  const rows = await db
    .select({ indice, esito, codice_errore, messaggio_soap, dettaglio })
    .from(schedine)
    .where(eq(schedine.invio_id, id))
    .orderBy(asc(indice))
  return { stato: submission!.stato, schedine: rows }
}
