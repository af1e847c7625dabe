import { randomUUID } from 'node:crypto'
import { and, asc, eq } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/alloggiati.ts'
import type { RowOutcome, State } from '#schemas/submission.ts'
import { claimSubmission, releaseUnsent, renewLease, type Claim, type NotSent } from './claim.ts'
import type { RowVerdict, Verdict } from './classify.ts'
import { announce, type LedgerContext } from './context.ts'
import { dispatch } from './dispatch.ts'
import { logIn, rehearse, send } from './handover.ts'
import { move } from './moves.ts'
import { mayBeAcquired, recordVerdict } from './record-verdict.ts'
import { readRows, type Row } from './rows.ts'

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

/**
 * Carries a submission that is `pronto` through to its outcome: claim, login, rehearsal, connection, commit, Send. Safe
 * to call for any submission, from any process, any number of times: a worker that does not get the claim only reports.
 * @param waiting a caller waits for the answer: what cannot be sent is freed at once; otherwise it is tried again later
 */
export async function carryOut (context: LedgerContext, id: number, waiting: boolean): Promise<SubmissionResult> {
  const claim: Claim = { id, token: `${context.name}/${randomUUID()}`, waiting }
  const notSent = await claimSubmission(context, claim) ?? await sendClaimed(context, claim)
  return { ...await readResult(context, id), ...notSent }
}

async function sendClaimed (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  announce('claimed', claim.id)
  try {
    return await rehearseAndSend(context, claim)
  } catch (err) {
    context.log.error({ err, invio: claim.id }, 'a submission could not be carried out')
    // Before the dispatch this frees it; after the dispatch it changes nothing, and the sweep records the attempt.
    return releaseUnsent(context, claim, { errore: 'errore interno' })
  }
}

async function rehearseAndSend (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  const { db, keys, service, log } = context
  const { id } = claim
  const [submission] = await db
    .select({ id_appartamento: invii.id_appartamento, tentativo: invii.tentativo })
    .from(invii)
    .where(eq(invii.id, id))
  const rows = await readRows(db, keys, id, 'in_corso')
  const handover = (some: readonly Row[]) =>
    ({ lines: some.map(({ line }) => line), id_appartamento: submission!.id_appartamento ?? undefined })

  const { token, refused } = await logIn(service, handover(rows))
  if (refused) return releaseUnsent(context, claim, refused)
  if (!await renewLease(db, claim)) return undefined
  announce('logged-in', id)

  const rehearsal = await rehearse(service, token, handover(rows))
  if (rehearsal.stato === 'non_inviato') return releaseUnsent(context, claim, rehearsal)
  const accepted = await excludeRefused(context, claim, rows, rehearsal)
  if (accepted.length === 0 || !await renewLease(db, claim)) return undefined
  announce('rehearsed', id)

  const attempt = { id, numero: submission!.tentativo + 1, rows: accepted }
  let dispatched = false
  const beforeWrite = async () => {
    announce('connected', id)
    await dispatch(context, id, claim.token, accepted).catch((err: unknown) => {
      log.error({ err, invio: id }, 'a dispatch failed: nothing is sent')
      throw err
    })
    dispatched = true
    announce('dispatched', id)
  }
  const verdict = await send(service, token, handover(accepted), { beforeWrite })
  announce('replied', id)
  if (!dispatched && !await wasDispatched(context, claim, attempt.numero)) {
    return releaseUnsent(context, claim, verdict)
  }
  await recordVerdict(context, attempt, verdict, !claim.waiting)
  announce('recorded', id)
  return { causa: verdict.causa, errore: verdict.errore }
}

/**
 * Whether the commit of an attempt went through although dispatching failed: then its outcome must be written. The
 * claim tells: an attempt of the same number may be another worker's, whose Send is still out.
 */
async function wasDispatched ({ db }: LedgerContext, { id, token }: Claim, numero: number): Promise<boolean> {
  const [submission] = await db
    .select({ tentativo: invii.tentativo, stato: invii.stato, owner: invii.proprietario })
    .from(invii)
    .where(eq(invii.id, id))
  return submission?.tentativo === numero && submission.stato === 'in_invio' && submission.owner === token
}

/**
 * Takes out what the rehearsal refused, and with it the rest of the same family or group: a member cannot be filed
 * without its leader, nor later alone. A submission that was sent before and may have been acquired is not split: a
 * person decides.
 * @returns the rows to send; none when all rows are refused, which ends the submission, or when it is another worker's
 * by now
 */
async function excludeRefused (
  { db, name }: LedgerContext,
  claim: Claim,
  rows: readonly Row[],
  rehearsal: Verdict
): Promise<Row[]> {
  const { id } = claim
  const isRefused = (at: number) => rehearsal.schedine[at]?.esito === 'rifiutata'
  const refused = new Set(rows.filter((_, at) => isRefused(at)).map(({ capo }) => capo))
  if (refused.size === 0) return [...rows]
  const accepted = rows.filter(({ capo }) => !refused.has(capo))
  const changed = await db.transaction(async (tx) => {
    // First of all: a row that is freed while another worker has it in flight could be sent twice.
    const inDoubt = await mayBeAcquired(tx, id)
    const a = inDoubt ? 'da_verificare' : 'rifiutato'
    const change = {
      da: 'preso',
      a,
      chi: name,
      perche: 'la prova ha respinto le schedine',
      claim: claim.token
    } as const
    const owned = accepted.length > 0 && !inDoubt ? await renewLease(tx, claim) : await move(tx, id, change)
    if (!owned || inDoubt) return false
    for (const [at, { indice, capo }] of rows.entries()) {
      if (!refused.has(capo)) continue
      await tx
        .update(schedine)
        .set(refusalOf(rehearsal.schedine[at]!))
        .where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
    }
    return true
  })
  return changed ? accepted : []
}

/** What is written of a row that is not sent. */
function refusalOf (row: RowVerdict): RowVerdict {
  return row.esito === 'rifiutata'
    ? row
    : {
        esito: 'rifiutata',
        dettaglio: "Non inviata: un'altra schedina della stessa famiglia o gruppo è stata rifiutata"
      }
}

async function readResult ({ db }: LedgerContext, id: number): Promise<SubmissionResult> {
  const [submission] = await db.select({ stato: invii.stato }).from(invii).where(eq(invii.id, id))
  const { indice, esito, codice_errore, messaggio_soap, dettaglio } = schedine
  const rows = await db
    .select({ indice, esito, codice_errore, messaggio_soap, dettaglio })
    .from(schedine)
    .where(eq(schedine.invio_id, id))
    .orderBy(asc(indice))
  return { stato: submission!.stato, schedine: rows }
}
