import { and, eq, isNotNull, sql, type SQL } from 'drizzle-orm'
import { invii_decisioni as decisions } from '#drizzle/tables/decisions.ts'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'
import { arrivalWindowOpen } from '../../deadlines.ts'
import type { Cause } from '../../errors.ts'
import type { AlarmFacts } from '../alarms/alarm-kinds.ts'
import { failureText } from '../../service/soap/errors.ts'
import type { LedgerContext, QueueEntry } from '../ledger-context.ts'
import { LEASE, lockChain, move, RETRY } from '../moves.ts'
import { bookingsElsewhere } from '../police-account.ts'
import type { Row } from '../submission-rows.ts'
import { checkSuspension } from '../suspension.ts'
import type { Verdict } from './police-call.ts'
import { giveUp, mayBeAcquired } from './record-verdict.ts'

/** The caller for whom a submission is sent. */
export interface Caller {
  /**
   * Asks the caller to wait for the result, and returns whether the caller does. If true, an unsendable submission is
   * given up. If false, it stays ready and is retried. Call it again after a wait for a lock, because the caller may
   * have left.
   */
  keepWaiting (): boolean
}

/** A worker's claim on a submission. The token is stored with the submission, and is unique per claim. */
export interface Claim { id: number, token: string, caller: Caller }

/** The reason for not sending. Empty if another worker has the submission, or it needs no Send. */
export interface NotSent { causa?: Cause, errore?: string }

/** Renewal interval of the lease while waiting, much shorter than the lease. */
const RENEW_MS = 30_000
/** Poll interval during the quiet period around midnight. */
const QUIET_POLL_MS = 1000
/** Poll interval for a slot. */
const SLOT_POLL_MS = 50

/**
 * Claims a submission that is `pronto`. Several submissions of an account may be claimed at once. Only the send slot,
 * which they take later, is exclusive. If a booking changed meanwhile, its rows are outdated, and the submission is
 * given up.
 * @returns undefined when the claim succeeded, else the reason for not sending
 */
export async function claimSubmission (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  const { db, name, clock, service } = context
  const { id, token, caller } = claim
  if (await checkSuspension(context)) return withdraw(context, claim, 'INVII_SOSPESI')
  let changed: number[] = []
  const notSent = await db.transaction(async (tx): Promise<NotSent | undefined> => {
    await lockChain(tx)
    const [submission] = await tx
      .select({ utente: invii.utente, data_arrivo: invii.data_arrivo, stato: invii.stato })
      .from(invii).where(eq(invii.id, id)).for('update')
    if (submission?.stato !== 'pronto') return {}
    if (submission.utente !== service.account) throw new Error('The submission belongs to another account')
    const from = { da: 'pronto', chi: name } as const
    if (!arrivalWindowOpen(submission.data_arrivo, clock.today())) {
      await move(tx, id, { ...from, a: 'da_verificare', perche: 'la finestra di arrivo si è chiusa' })
      return {}
    }
    changed = await outdatedBookings(context, tx, id)
    if (changed.length > 0) {
      await giveUp(tx, id, { ...from, perche: 'la prenotazione è cambiata dopo la richiesta' })
      return { causa: 'PRENOTAZIONE_CAMBIATA' }
    }
    const set = { proprietario: token, lease_fino_al: LEASE }
    return await move(tx, id, { ...from, a: 'preso', perche: 'preso in carico', set }) ? undefined : {}
  })
  if (changed.length > 0 && !caller.keepWaiting()) {
    await alarmSubmission(context, 'booking-changed', id, { prenotazioni: changed })
  }
  return notSent
}

/** Bookings of the submission that changed since its creation or resend, or now belong to another account. */
export async function outdatedBookings (
  { accountOf, service }: Pick<LedgerContext, 'accountOf' | 'service'>, tx: Executor, id: number
): Promise<number[]> {
  const [[submission], rows] = await Promise.all([
    tx.select({ changed: changedBookings(tx) }).from(invii).where(eq(invii.id, id)),
    tx.selectDistinct({ booking: schedine.prenotazione_id }).from(schedine)
      .where(and(eq(schedine.invio_id, id), eq(schedine.esito, 'in_corso'), isNotNull(schedine.prenotazione_id)))
  ])
  const moved = await bookingsElsewhere({ accountOf }, tx, service.account, rows.map(({ booking }) => booking!))
  return [...new Set([...submission!.changed, ...moved])]
}

/**
 * Bookings of the submission whose nights or guests changed after it was created, or after the decision to resend it.
 * Its rows may be outdated. Saving the same guests again also counts as a change.
 */
function changedBookings (db: Executor): SQL<number[]> {
  const stays = staysByArrival(db, {}).as('p')
  return sql<number[]>`(
    select coalesce(json_agg(distinct p.id order by p.id), '[]')
    from ${schedine} s join ${stays} on p.id = s.prenotazione_id
    where s.invio_id = ${invii}.id and s.esito = 'in_corso' and p.schedine_cambiate_il > greatest(${invii}.creato_il,
      (select max(d.quando) from ${decisions} d where d.invio_id = ${invii}.id))
  )`
}

/** If a caller waits, ends the submission and frees its guests. Otherwise the submission stays ready. */
async function withdraw ({ db, name }: LedgerContext, { id, caller }: Claim, causa: Cause): Promise<NotSent> {
  await db.transaction(async (tx) => {
    if (caller.keepWaiting()) await lockChain(tx)
    if (!caller.keepWaiting()) return leaveReady(tx, id)
    await giveUp(tx, id, { da: 'pronto', chi: name, perche: causa })
  })
  return { causa }
}

/** Expires the lease of a ready submission, so that the next sweep of any process sends it. */
export async function leaveReady (db: Executor, id: number): Promise<void> {
  await db.update(invii).set({ lease_fino_al: sql`now()` }).where(and(eq(invii.id, id), eq(invii.stato, 'pronto')))
}

/** Renews the lease. @returns false when another worker has taken the submission */
export async function renewLease (db: Executor, { id, token }: Claim): Promise<boolean> {
  const renewed = await db.update(invii).set({ lease_fino_al: LEASE })
    .where(and(eq(invii.id, id), eq(invii.stato, 'preso'), eq(invii.proprietario, token))).returning({ id: invii.id })
  return renewed.length > 0
}

/** Releases a claim: the submission is ready again, for the first sweep after the lease expires. */
export async function putBack (
  { db, name: chi }: Pick<LedgerContext, 'db' | 'name'>, { id, token }: Claim, perche: string, lease_fino_al: SQL
): Promise<void> {
  const set = { proprietario: null, lease_fino_al }
  await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi, perche, claim: token, set }))
}

/**
 * Ends a claim before the dispatch, when nothing was sent. If a caller waits, the submission ends and its guests are
 * free, unless an earlier attempt may have been acquired. Without a waiting caller the submission is retried later.
 */
export async function releaseUnsent (
  context: LedgerContext, claim: Claim, { causa, errore }: NotSent
): Promise<NotSent> {
  const { db, name, sendQueue } = context
  const { id, token, caller } = claim
  const perche = failureText(errore ?? causa ?? 'non inviato')
  // During shutdown nothing is given up, and the next process retries. After a suspension ends, ready submissions are
  // sent at once.
  if (sendQueue.shutdownSignal.aborted || !caller.keepWaiting()) {
    await putBack(context, claim, perche, sendQueue.shutdownSignal.aborted || causa === 'INVII_SOSPESI'
      ? sql`now()`
      : RETRY)
    return { causa, errore }
  }
  const isGivenUp = await db.transaction(async (tx) => {
    await lockChain(tx)
    return caller.keepWaiting() && await giveUp(tx, id, { da: 'preso', chi: name, perche, claim: token })
  })
  if (!isGivenUp) await putBack(context, claim, perche, RETRY)
  return { causa, errore }
}

/**
 * Waits until the test call may start: the quiet period is over, and a `test` slot is free.
 * @throws SendQueueClosed
 */
export async function waitForTestSlot ({ db, clock, sendQueue }: LedgerContext, entry: QueueEntry): Promise<void> {
  while (isQuiet(clock.now())) {
    const [submission] = await db.select({ data_arrivo: invii.data_arrivo }).from(invii).where(eq(invii.id, entry.id))
    if (!isQuiet(clock.now(), submission!.data_arrivo)) break
    await sendQueue.pause(QUIET_POLL_MS)
  }
  while (!sendQueue.take(entry, 'test')) await sendQueue.pause(SLOT_POLL_MS)
}

/**
 * Waits until the account has no other submission in flight, in this process (in the order of arrival) or in another.
 * While it waits, it only renews the lease. The commit of the attempt fails if another submission is in flight.
 * @returns false when another worker has taken the submission
 * @throws SendQueueClosed
 */
export async function waitForSendSlot (
  { db, sendQueue, service }: LedgerContext, entry: QueueEntry, claim: Claim
): Promise<boolean> {
  let renewedAt = performance.now()
  while (!sendQueue.take(entry, 'send') || await isInFlight(db, service.account)) {
    await sendQueue.pause(SLOT_POLL_MS)
    if (performance.now() - renewedAt < RENEW_MS) continue
    if (!await renewLease(db, claim)) return false
    renewedAt = performance.now()
  }
  return true
}

async function isInFlight (db: Executor, account: string): Promise<boolean> {
  return await db.$count(invii, and(eq(invii.utente, account), eq(invii.stato, 'in_invio'))) > 0
}

/**
 * Excludes the rows that the test call refused, and the rest of their family or group. The police accepts no member
 * without its leader, not even later. If an earlier attempt may have been acquired, no row is excluded and a person
 * decides.
 * @returns the rows to send. None if all are refused, which ends the submission, if a person decides, or if another
 * worker has taken it
 */
export async function excludeRefused (
  context: LedgerContext, claim: Claim, rows: readonly Row[], testCall: Verdict
): Promise<readonly Row[]> {
  const { db, name } = context
  const { id, token, caller } = claim
  const judged = rows.map((row, at) => ({ row, verdict: testCall.schedine[at]! }))
  const refused = new Set(judged.filter(({ verdict }) => verdict.esito === 'rifiutata').map(({ row }) => row.capo))
  if (refused.size === 0) return rows
  const accepted = rows.filter(({ capo }) => !refused.has(capo))
  const changed = await db.transaction(async (tx) => {
    await lockChain(tx)
    // Check the claim first. If another worker is sending this row, freeing it could send the guest twice.
    const inDoubt = await mayBeAcquired(tx, id)
    const a = inDoubt ? 'da_verificare' : 'rifiutato'
    const isMine = inDoubt || accepted.length === 0
      ? await move(tx, id, { da: 'preso', a, chi: name, perche: 'la prova ha respinto le schedine', claim: token })
      : await renewLease(tx, claim)
    if (!isMine || inDoubt) return false
    for (const { row: { indice, capo }, verdict } of judged) {
      if (!refused.has(capo)) continue
      await tx.update(schedine).set(verdict.esito === 'rifiutata' ? verdict : BESIDE_REFUSED)
        .where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
    }
    return true
  })
  if (changed && accepted.length === 0 && !caller.keepWaiting()) await alarmSubmission(context, 'refused-late', id)
  return changed ? accepted : []
}

/** The outcome of a row excluded because of another row. */
const BESIDE_REFUSED = {
  esito: 'rifiutata', dettaglio: 'Non inviata: un’altra schedina della stessa famiglia o gruppo è stata rifiutata'
} as const

async function alarmSubmission (
  { db, alarm }: LedgerContext, kind: 'booking-changed' | 'refused-late', id: number, more: AlarmFacts = {}
): Promise<void> {
  const [submission] = await db.select({ ricevuta: invii.ricevuta }).from(invii).where(eq(invii.id, id))
  await alarm(kind, { invio: id, ...submission, ...more })
}

/**
 * Whether the attempt was committed although the dispatch failed. If so, its outcome must be recorded. Compares the
 * claim, because another worker's Send in flight may have the same attempt number.
 */
export async function wasDispatched (db: Executor, { id, token }: Claim, numero: number): Promise<boolean> {
  const [submission] = await db
    .select({ tentativo: invii.tentativo, stato: invii.stato, owner: invii.proprietario })
    .from(invii).where(eq(invii.id, id))
  return submission?.tentativo === numero && submission.stato === 'in_invio' && submission.owner === token
}

/**
 * Whether it is the quiet period, 23:58 to 00:02 in Rome. The day of a Send in this period would be uncertain. Arrivals
 * of the day before are exempt until midnight, because the service refuses them afterwards.
 */
export function isQuiet (now: Date, arrival?: Day): boolean {
  const today = dayInRome(now)
  if (now >= instantInRome(today, 23, 58)) return arrival !== addDays(today, -1)
  return now < instantInRome(today, 0, 2)
}
