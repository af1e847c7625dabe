import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import {
  invii,
  invii_esiti as observations,
  invii_schedine as rows,
  invii_tentativi as attempts,
  invii_transizioni as transitions,
  ricevute_letture as fetches
} from '#drizzle/tables/alloggiati.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import { addDays, dayInRome, type Day } from '#src/lib/time.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { readExclusiveChannel } from '../account.ts'
import { CLOCKS_MS } from '../dispatch.ts'
import type { AccountDay, DayAttempt, DaySubmission, ReceiptFetch } from './day.ts'

/**
 * Reads one day of an account. Its submissions are locked in the order of their ids, so that the day stays as it was
 * read until the transaction ends.
 */
export async function readDay (tx: Transaction, account: string, day: Day, now: Date): Promise<AccountDay> {
  const submissions = await tx
    .select({ id: invii.id, stato: invii.stato, tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii)
    .where(
      and(
        eq(invii.utente, account),
        sql`exists (
          select from ${attempts} t where t.invio_id = ${invii.id} and ${day} between t.giorno_da and t.giorno_a
        )`
      )
    )
    .orderBy(asc(invii.id))
    .for('update')
  const ids = submissions.map(({ id }) => id)
  // These are read after the lock: while a lock is waited for, another transaction may change them.
  const all = await readAttempts(tx, ids)
  const ofDay = all.filter(({ giorno_da, giorno_a }) => giorno_da <= day && day <= giorno_a)
  const partial = await readPartial(tx, ids)
  const reasons = await readReasons(tx, ids)
  return {
    day,
    now,
    isExclusive: await isDayExclusive(tx, account, day),
    attempts: ofDay,
    submissions: submissions.map((submission): DaySubmission => ({
      ...submission,
      isWhole: !partial.includes(submission.id),
      otherOutcomes: all
        .filter((one) => one.invio_id === submission.id && !ofDay.includes(one))
        .map(({ esito }) => esito),
      reasons: reasons.filter(({ invio_id }) => invio_id === submission.id).map(({ reason }) => reason)
    })),
    fetches: await readFetchesOf(tx, account, day)
  }
}

/** The fetches of a day's receipt, in the order of time. */
export async function readFetchesOf (db: Executor, account: string, day: Day): Promise<ReceiptFetch[]> {
  const found = await db
    .select({
      letta_il: fetches.letta_il,
      sha256: fetches.sha256,
      schedine: fetches.schedine,
      notti: fetches.notti
    })
    .from(fetches)
    .where(and(eq(fetches.utente, account), eq(fetches.giorno, day)))
    .orderBy(asc(fetches.letta_il), asc(fetches.id))
  return found.map(({ letta_il, sha256, ...counts }) => ({
    fetchedAt: new Date(letta_il),
    isAvailable: sha256 !== null,
    ...counts
  }))
}

async function readAttempts (tx: Transaction, ids: readonly number[]): Promise<DayAttempt[]> {
  const isFinal = and(
    eq(observations.invio_id, attempts.invio_id),
    eq(observations.numero, attempts.numero),
    inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)
  )
  const found = await tx
    .select({ attempt: attempts, observation: observations })
    .from(attempts)
    .leftJoin(observations, isFinal)
    .where(inArray(attempts.invio_id, ids))
    .orderBy(asc(attempts.invio_id), asc(attempts.numero))
  return found.map(({ attempt, observation }): DayAttempt => {
    const isDecided = observation?.fonte === 'decisione'
    const { schedine, notti } = observation?.esito === 'K' && !isDecided ? observation : attempt
    return {
      invio_id: attempt.invio_id,
      numero: attempt.numero,
      schedine,
      notti,
      giorno_da: attempt.giorno_da,
      giorno_a: observation?.fonte === 'risposta'
        ? lastDayByReply(attempt, observation.registrato_il)
        : attempt.giorno_a,
      esito: observation?.esito ?? '?',
      isDecided
    }
  })
}

/**
 * The last day in which the service may have counted an attempt that it replied to. It counted before it replied, so
 * near midnight the reply may leave one day only.
 */
function lastDayByReply (
  { inviato_il, consegna_entro, giorno_a }: typeof attempts.$inferSelect,
  repliedAt: string
): Day {
  const at = Date.parse(repliedAt)
  if (at < Date.parse(inviato_il) || at > Date.parse(consegna_entro)) return giorno_a
  return [dayInRome(new Date(at + CLOCKS_MS)), giorno_a].sort()[0]!
}

/** The submissions of which rows were held back. */
async function readPartial (tx: Transaction, ids: readonly number[]): Promise<number[]> {
  const found = await tx
    .selectDistinct({ id: rows.invio_id })
    .from(rows)
    .where(and(inArray(rows.invio_id, ids), eq(rows.esito, 'rifiutata')))
  return found.map(({ id }) => id)
}

/** Why submissions were referred to a person. */
async function readReasons (tx: Transaction, ids: readonly number[]): Promise<{ invio_id: number, reason: string }[]> {
  return tx
    .select({ invio_id: transitions.invio_id, reason: transitions.perche })
    .from(transitions)
    .where(and(inArray(transitions.invio_id, ids), eq(transitions.a, 'da_verificare')))
}

/**
 * Whether the ledger knows of everything that was filed with the account on a day. What a person files on the portal is
 * on the receipt, too, and the portal takes arrivals of the day and of the day before.
 */
async function isDayExclusive (tx: Transaction, account: string, day: Day): Promise<boolean> {
  if (!await readExclusiveChannel(tx, account)) return false
  const filedByHand = await tx.$count(
    invii,
    and(
      eq(invii.utente, account),
      eq(invii.stato, 'depositato_altrove'),
      inArray(invii.data_arrivo, [day, addDays(day, -1)])
    )
  )
  return filedByHand === 0
}
