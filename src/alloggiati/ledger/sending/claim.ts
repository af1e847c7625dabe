import { and, eq, sql, type SQL } from 'drizzle-orm'
import { invii } from '#drizzle/tables/ledger.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { arrivalWindowOpen } from '../../deadlines.ts'
import type { Cause } from '../../errors.ts'
import type { LedgerContext } from '../context.ts'
import { giveUp } from '../give-up.ts'
import { changedBookings } from '../stale.ts'
import { LEASE, lockChain, move, RETRY } from '../moves.ts'
import { checkSuspension } from '../suspension.ts'

/** Who asked for a submission to be carried out. */
export interface Caller {
  /**
   * Whether the caller still waits, and will be told the end. Only then is a submission given up that cannot be sent:
   * otherwise it stays ready, and is tried again. A worker that waited for a lock asks again when it has the lock: the
   * caller may have been answered meanwhile.
   */
  hold (): boolean
}

/** A worker's hold on a submission that is being carried out. */
export interface Claim {
  id: number
  /** Written beside the submission; another worker's claim has another. */
  token: string
  caller: Caller
}

/** Why nothing was sent; empty where another worker has the submission, or it needs no sending. */
export interface NotSent { causa?: Cause, errore?: string }

/**
 * Claims a submission that is `pronto`. Any number of submissions of an account may be claimed: the flight is taken
 * later. One whose booking has changed meanwhile is given up: its rows are of guests as they were.
 * @returns undefined when the claim succeeded
 */
export async function claimSubmission (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  const { db, alarm } = context
  const { id, caller } = claim
  if (await checkSuspension(context)) return withdraw(context, claim, 'INVII_SOSPESI')
  const notSent = await db.transaction((tx) => tryClaim(tx, context, claim))
  if (notSent?.causa === 'PRENOTAZIONE_CAMBIATA' && !caller.hold()) {
    const [submission] = await db.select({ ricevuta: invii.ricevuta }).from(invii).where(eq(invii.id, id))
    await alarm('booking-changed', { invio: id, ...submission, prenotazioni: notSent.changed })
  }
  return notSent
}

async function tryClaim (
  tx: Transaction,
  { name, clock }: LedgerContext,
  { id, token }: Claim
): Promise<NotSent & { changed?: number[] } | undefined> {
  await lockChain(tx)
  const [submission] = await tx
    .select({ data_arrivo: invii.data_arrivo, stato: invii.stato, changed: changedBookings(tx) })
    .from(invii)
    .where(eq(invii.id, id))
    .for('update')
  if (submission?.stato !== 'pronto') return {}
  if (!arrivalWindowOpen(submission.data_arrivo, clock.today())) {
    await move(tx, id, { da: 'pronto', a: 'da_verificare', chi: name, perche: 'la finestra di arrivo si è chiusa' })
    return {}
  }
  if (submission.changed.length > 0) {
    await giveUp(tx, id, { da: 'pronto', chi: name, perche: 'la prenotazione è cambiata dopo la richiesta' })
    return { causa: 'PRENOTAZIONE_CAMBIATA', changed: submission.changed }
  }
  const set = { proprietario: token, lease_fino_al: LEASE }
  const claimed = await move(tx, id, { da: 'pronto', a: 'preso', chi: name, perche: 'preso in carico', set })
  return claimed ? undefined : {}
}

/** A caller who waits gets an answer now: the submission ends, and its guests are free. Otherwise it stays ready. */
async function withdraw (context: LedgerContext, { id, caller }: Claim, causa: Cause): Promise<NotSent> {
  const { db, name } = context
  if (!caller.hold()) {
    await leaveReady(context, id)
    return { causa }
  }
  await db.transaction(async (tx) => {
    await lockChain(tx)
    if (!caller.hold()) return leaveReady({ db: tx }, id)
    await giveUp(tx, id, { da: 'pronto', chi: name, perche: causa })
  })
  return { causa }
}

/** Leaves a submission that is ready to the next sweep, of whichever process; the lease says that it was looked at. */
export async function leaveReady ({ db }: { db: Executor }, id: number): Promise<void> {
  await db.update(invii).set({ lease_fino_al: sql`now()` }).where(and(eq(invii.id, id), eq(invii.stato, 'pronto')))
}

/** Gives the worker the whole lease again. @returns false when the submission is another worker's by now */
export async function renewLease (db: Executor, { id, token }: Claim): Promise<boolean> {
  const renewed = await db.update(invii).set({ lease_fino_al: LEASE })
    .where(and(eq(invii.id, id), eq(invii.stato, 'preso'), eq(invii.proprietario, token))).returning({ id: invii.id })
  return renewed.length > 0
}

/** Gives a claimed submission back: it is ready again, for the first sweep after the lease. */
export async function putBack (
  { db, name }: LedgerContext,
  { id, token }: Claim,
  perche: string,
  lease_fino_al: SQL
): Promise<void> {
  await db.transaction((tx) => makeReady(tx, { chi: name, perche, lease_fino_al }, { id, token }))
}

async function makeReady (
  tx: Transaction,
  { chi, perche, lease_fino_al }: { chi: string, perche: string, lease_fino_al: SQL },
  { id, token }: Pick<Claim, 'id' | 'token'>
): Promise<void> {
  const set = { proprietario: null, lease_fino_al }
  await move(tx, id, { da: 'preso', a: 'pronto', chi, perche, claim: token, set })
}

/**
 * Ends a claim before the dispatch: nothing was sent. When a caller waits, the submission ends and its guests are free,
 * unless an earlier attempt may have been acquired; otherwise it is tried again later.
 */
export async function releaseUnsent (
  context: LedgerContext,
  claim: Claim,
  { causa, errore }: NotSent
): Promise<NotSent> {
  const { db, name, lane } = context
  const { id, token, caller } = claim
  const perche = errore ?? causa ?? 'non inviato'
  // While the process ends nothing is given up for good: the next one tries again. When sending is resumed, what is
  // ready leaves at once.
  if (lane.closing.aborted || !caller.hold()) {
    await putBack(context, claim, perche, lane.closing.aborted || causa === 'INVII_SOSPESI' ? sql`now()` : RETRY)
    return { causa, errore }
  }
  await db.transaction(async (tx) => {
    await lockChain(tx)
    if (!caller.hold()) return makeReady(tx, { chi: name, perche, lease_fino_al: RETRY }, claim)
    await giveUp(tx, id, { da: 'preso', chi: name, perche, claim: token })
  })
  return { causa, errore }
}
