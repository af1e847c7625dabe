import { and, eq, sql, type SQL } from 'drizzle-orm'
import { invii_decisioni as decisions } from '#drizzle/tables/decisions.ts'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'
import { arrivalWindowOpen } from '../../deadlines.ts'
import type { Cause } from '../../errors.ts'
import type { AlarmFacts } from '../alarms/alarm-kinds.ts'
import type { LedgerContext, Turn } from '../ledger-context.ts'
import { LEASE, lockChain, move, RETRY } from '../moves.ts'
import type { Row } from '../submission-rows.ts'
import { checkSuspension } from '../suspension.ts'
import type { Verdict } from './police-call.ts'
import { giveUp, mayBeAcquired } from './record-verdict.ts'

/** Who asked for a submission to be carried out. */
export interface Caller {
  /**
   * Whether the caller still waits, and will be told the end. Only then is a submission given up that cannot be sent:
   * otherwise it stays ready, and is tried again. A worker that waited for a lock asks again when it has the lock: the
   * caller may have been answered meanwhile.
   */
  hold (): boolean
}

/** A worker's hold on a submission. The token is written beside the submission, and no two workers have the same. */
export interface Claim { id: number, token: string, caller: Caller }

/** Why nothing was sent; empty where another worker has the submission, or it needs no sending. */
export interface NotSent { causa?: Cause, errore?: string }

/** How often a submission that waits says that its worker lives: much more often than a lease ends. */
const RENEW_MS = 30_000
/** Between two looks at the clock in the quiet hours. */
const CLOCK_MS = 1000
/** Between two looks at the place or the flight that a submission waits for. */
const LOOK_MS = 50

/**
 * Claims a submission that is `pronto`. Any number of submissions of an account may be claimed: the flight is taken
 * later. One whose booking has changed meanwhile is given up: its rows are of guests as they were.
 * @returns undefined when the claim succeeded
 */
export async function claimSubmission (context: LedgerContext, claim: Claim): Promise<NotSent | undefined> {
  const { db, name, clock } = context
  const { id, token, caller } = claim
  if (await checkSuspension(context)) return withdraw(context, claim, 'INVII_SOSPESI')
  let changed: number[] = []
  const notSent = await db.transaction(async (tx): Promise<NotSent | undefined> => {
    await lockChain(tx)
    const [submission] = await tx
      .select({ data_arrivo: invii.data_arrivo, stato: invii.stato, changed: changedBookings(tx) })
      .from(invii).where(eq(invii.id, id)).for('update')
    if (submission?.stato !== 'pronto') return {}
    const from = { da: 'pronto', chi: name } as const
    if (!arrivalWindowOpen(submission.data_arrivo, clock.today())) {
      await move(tx, id, { ...from, a: 'da_verificare', perche: 'la finestra di arrivo si è chiusa' })
      return {}
    }
    changed = submission.changed
    if (changed.length > 0) {
      await giveUp(tx, id, { ...from, perche: 'la prenotazione è cambiata dopo la richiesta' })
      return { causa: 'PRENOTAZIONE_CAMBIATA' }
    }
    const set = { proprietario: token, lease_fino_al: LEASE }
    return await move(tx, id, { ...from, a: 'preso', perche: 'preso in carico', set }) ? undefined : {}
  })
  if (changed.length > 0 && !caller.hold()) {
    await alarmSubmission(context, 'booking-changed', id, { prenotazioni: changed })
  }
  return notSent
}

/**
 * The bookings of the submission whose nights or guests have changed since it was written down, or a person decided to
 * send it again: its rows may not be what the host wants to communicate any more. Guests that are saved again as they
 * were count too.
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

/** A caller who waits gets an answer now: the submission ends, and its guests are free. Otherwise it stays ready. */
async function withdraw ({ db, name }: LedgerContext, { id, caller }: Claim, causa: Cause): Promise<NotSent> {
  await db.transaction(async (tx) => {
    if (caller.hold()) await lockChain(tx)
    if (!caller.hold()) return leaveReady(tx, id)
    await giveUp(tx, id, { da: 'pronto', chi: name, perche: causa })
  })
  return { causa }
}

/** Leaves a submission that is ready to the next sweep, of whichever process; the lease says that it was looked at. */
export async function leaveReady (db: Executor, id: number): Promise<void> {
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
  { db, name: chi }: Pick<LedgerContext, 'db' | 'name'>, { id, token }: Claim, perche: string, lease_fino_al: SQL
): Promise<void> {
  const set = { proprietario: null, lease_fino_al }
  await db.transaction((tx) => move(tx, id, { da: 'preso', a: 'pronto', chi, perche, claim: token, set }))
}

/**
 * Ends a claim before the dispatch: nothing was sent. When a caller waits, the submission ends and its guests are free,
 * unless an earlier attempt may have been acquired; otherwise it is tried again later.
 */
export async function releaseUnsent (
  context: LedgerContext, claim: Claim, { causa, errore }: NotSent
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
  const isGivenUp = await db.transaction(async (tx) => {
    await lockChain(tx)
    return caller.hold() && await giveUp(tx, id, { da: 'preso', chi: name, perche, claim: token })
  })
  if (!isGivenUp) await putBack(context, claim, perche, RETRY)
  return { causa, errore }
}

/**
 * Waits until the submission may be rehearsed: the quiet hours are over, and few others of this process are rehearsed.
 * @throws LaneClosed
 */
export async function takePlace ({ db, clock, lane }: LedgerContext, turn: Turn): Promise<void> {
  while (isQuiet(clock.now())) {
    const [submission] = await db.select({ data_arrivo: invii.data_arrivo }).from(invii).where(eq(invii.id, turn.id))
    if (!isQuiet(clock.now(), submission!.data_arrivo)) break
    await lane.pause(CLOCK_MS)
  }
  while (!lane.take(turn, 'place')) await lane.pause(LOOK_MS)
}

/**
 * Waits until no other submission of the account is in flight: of this process, in the order in which they came, or of
 * another process. Waiting writes nothing but, rarely, the lease. That the flight is free is certain only at the
 * dispatch, which the database refuses to a second one.
 * @returns false when the submission is another worker's by now
 * @throws LaneClosed
 */
export async function takeFlight ({ db, lane, service }: LedgerContext, turn: Turn, claim: Claim): Promise<boolean> {
  let renewedAt = performance.now()
  while (!lane.take(turn, 'flight') || await isFlying(db, service.account)) {
    await lane.pause(LOOK_MS)
    if (performance.now() - renewedAt < RENEW_MS) continue
    if (!await renewLease(db, claim)) return false
    renewedAt = performance.now()
  }
  return true
}

async function isFlying (db: Executor, account: string): Promise<boolean> {
  return await db.$count(invii, and(eq(invii.utente, account), eq(invii.stato, 'in_invio'))) > 0
}

/**
 * Takes out what the rehearsal refused, and with it the rest of the same family or group: a member cannot be filed
 * without its leader, nor later alone. A submission that was sent before and may have been acquired is not split: a
 * person decides.
 * @returns the rows to send; none when all rows are refused, which ends the submission, or when it is another worker's
 * by now
 */
export async function excludeRefused (
  context: LedgerContext, claim: Claim, rows: readonly Row[], rehearsal: Verdict
): Promise<readonly Row[]> {
  const { db, name } = context
  const { id, token } = claim
  const judged = rows.map((row, at) => ({ row, verdict: rehearsal.schedine[at]! }))
  const refused = new Set(judged.filter(({ verdict }) => verdict.esito === 'rifiutata').map(({ row }) => row.capo))
  if (refused.size === 0) return rows
  const accepted = rows.filter(({ capo }) => !refused.has(capo))
  const changed = await db.transaction(async (tx) => {
    await lockChain(tx)
    // First of all: a row that is freed while another worker has it in flight could be sent twice.
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
  if (changed && accepted.length === 0 && !claim.caller.hold()) await alarmSubmission(context, 'refused-late', id)
  return changed ? accepted : []
}

/** The outcome of a row that is not sent because of another row. */
const BESIDE_REFUSED = {
  esito: 'rifiutata', dettaglio: "Non inviata: un'altra schedina della stessa famiglia o gruppo è stata rifiutata"
} as const

async function alarmSubmission (
  { db, alarm }: LedgerContext, kind: 'booking-changed' | 'refused-late', id: number, more: AlarmFacts = {}
): Promise<void> {
  const [submission] = await db.select({ ricevuta: invii.ricevuta }).from(invii).where(eq(invii.id, id))
  await alarm(kind, { invio: id, ...submission, ...more })
}

/**
 * Whether the commit of an attempt went through although dispatching failed: then its outcome must be written. The
 * claim tells: an attempt of the same number may be another worker's, whose Send is still out.
 */
export async function wasDispatched (db: Executor, { id, token }: Claim, numero: number): Promise<boolean> {
  const [submission] = await db
    .select({ tentativo: invii.tentativo, stato: invii.stato, owner: invii.proprietario })
    .from(invii).where(eq(invii.id, id))
  return submission?.tentativo === numero && submission.stato === 'in_invio' && submission.owner === token
}

/**
 * Whether nothing is dispatched: from 23:58 to 00:02 in Rome, because it could count on either of two days, and no
 * receipt alone would tell. An arrival of the day before goes all the same: the service takes it until midnight alone.
 */
export function isQuiet (now: Date, arrival?: Day): boolean {
  const today = dayInRome(now)
  if (now >= instantInRome(today, 23, 58)) return arrival !== addDays(today, -1)
  return now < instantInRome(today, 0, 2)
}
