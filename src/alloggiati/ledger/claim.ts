import { setTimeout as sleep } from 'node:timers/promises'
import { and, eq, sql } from 'drizzle-orm'
import { invii } from '#drizzle/tables/alloggiati.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import type { Cause } from '../errors.ts'
import type { LedgerContext } from './context.ts'
import { LEASE, move, moveRows } from './moves.ts'
import { mayBeAcquired } from './record-verdict.ts'
import { checkSuspension } from './suspension.ts'

/** How long a caller waits for another submission of the account to end. */
const QUEUE_MS = 45_000
const QUEUE_STEP_MS = 100
/** Until a submission that no caller waits for is tried again. */
const RETRY = sql`now() + interval '5 minutes'`

/** A worker's hold on a submission that is being carried out. */
export interface Claim {
  id: number
  /** Written beside the submission; another worker's claim has another. */
  token: string
  /** A caller waits for the answer: what cannot be sent is freed at once, instead of being tried again later. */
  waiting: boolean
}

/** Why nothing was sent; empty where another worker has the submission, or it needs no sending. */
export interface NotSent { causa?: Cause, errore?: string }

/**
 * Claims a submission that is `pronto`, once no other submission of the account is in flight.
 * @returns undefined when the claim succeeded
 */
export async function claimSubmission (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  const { db, chainHead } = context
  const until = performance.now() + QUEUE_MS
  for (;;) {
    if (await checkSuspension(db, chainHead)) return withdraw(context, claim, 'INVII_SOSPESI')
    try {
      return await db.transaction((tx) => tryClaim(tx, context, claim)) ? undefined : {}
    } catch (err) {
      // Another submission of the account is in flight.
      if (postgresError(err)?.constraint_name !== 'invii_un_volo') throw err
    }
    if (!claim.waiting) return {}
    if (performance.now() > until) return withdraw(context, claim, 'SERVIZIO_OCCUPATO')
    await sleep(QUEUE_STEP_MS)
  }
}

async function tryClaim (tx: Transaction, { name, clock }: LedgerContext, { id, token }: Claim): Promise<boolean> {
  const [submission] = await tx
    .select({ data_arrivo: invii.data_arrivo, stato: invii.stato })
    .from(invii)
    .where(eq(invii.id, id))
    .for('update')
  if (submission?.stato !== 'pronto') return false
  if (!arrivalWindowOpen(submission.data_arrivo, clock.today())) {
    await move(tx, id, { da: 'pronto', a: 'da_verificare', chi: name, perche: 'la finestra di arrivo si è chiusa' })
    return false
  }
  const set = { proprietario: token, lease_fino_al: LEASE }
  return move(tx, id, { da: 'pronto', a: 'preso', chi: name, perche: 'preso in carico', set })
}

/** A caller who waits gets an answer now: the submission ends, and its guests are free. */
async function withdraw ({ db, name }: LedgerContext, { id, waiting }: Claim, causa: Cause): Promise<NotSent> {
  if (waiting) {
    await db.transaction(async (tx) => {
      if (await move(tx, id, { da: 'pronto', a: 'non_inviato', chi: name, perche: causa })) {
        await moveRows(tx, id, 'non_inviata', 'in_corso')
      }
    })
  }
  return { causa }
}

/** Gives the worker the whole lease again. @returns false when the submission is another worker's by now */
export async function renewLease (db: Executor, { id, token }: Claim): Promise<boolean> {
  const renewed = await db.update(invii).set({ lease_fino_al: LEASE })
    .where(and(eq(invii.id, id), eq(invii.stato, 'preso'), eq(invii.proprietario, token))).returning({ id: invii.id })
  return renewed.length > 0
}

/**
 * Ends a claim before the dispatch: nothing was sent. When a caller waits, the submission ends and its guests are free,
 * unless an earlier attempt may have been acquired; otherwise it is tried again later.
 */
export async function releaseUnsent (
  { db, name }: LedgerContext,
  { id, token, waiting }: Claim,
  { causa, errore }: NotSent
): Promise<NotSent> {
  /* c8 ignore next -- every caller says `errore` today: the rest is for the next one */
  const change = { da: 'preso', chi: name, perche: errore ?? causa ?? 'non inviato', claim: token } as const
  await db.transaction(async (tx) => {
    if (!waiting) {
      await move(tx, id, { ...change, a: 'pronto', set: { proprietario: null, lease_fino_al: RETRY } })
    } else if (await mayBeAcquired(tx, id)) {
      await move(tx, id, { ...change, a: 'da_verificare' })
    } else if (await move(tx, id, { ...change, a: 'non_inviato' })) {
      await moveRows(tx, id, 'non_inviata', 'in_corso')
    }
  })
  return { causa, errore }
}
