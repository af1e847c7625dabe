import { and, asc, between, eq, gte, inArray, lte, ne, or } from 'drizzle-orm'
import { ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import {
  invii, invii_schedine as rows, invii_tentativi as attempts, invii_transizioni as transitions
} from '#drizzle/tables/ledger.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { DayOfAccount } from '../../receipts/receipt-days.ts'
import { readExclusiveChannel } from '../police-account.ts'
import { readAttempts } from './read-attempts.ts'
import type { AccountDay, DayAttempt, DaySubmission, ReceiptFetch } from './account-day.ts'
import { isStraddler } from './midnight.ts'

/**
 * Reads a day of an account, with the days that calls around midnight tie it to. The caller has locked the chain: the
 * days stay as they were read until the transaction ends.
 */
export async function readDays (tx: Transaction, { account, day }: DayOfAccount, now: Date): Promise<AccountDay[]> {
  const days = await tiedDays(tx, account, day)
  const sent = tx.select({ id: attempts.invio_id }).from(attempts).where(and(
    between(attempts.giorno_da, addDays(days[0]!, -1), days.at(-1)!),
    or(...days.map((each) => and(lte(attempts.giorno_da, each), gte(attempts.giorno_a, each))))
  ))
  const submissions = await tx
    .select({ id: invii.id, stato: invii.stato, tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii)
    .where(and(eq(invii.utente, account), inArray(invii.id, sent)))
    .orderBy(asc(invii.id))
  const ids = submissions.map(({ id }) => id)
  const [all, partial, reasons, facts] = await Promise.all([
    ids.length === 0 ? [] : readAttempts(tx, isOneOf(attempts.invio_id, ids)),
    readPartial(tx, ids),
    readReasons(tx, ids),
    Promise.all(days.map((each) => readFacts(tx, account, each)))
  ])
  const attemptsOf = Map.groupBy(all, ({ invio_id }) => invio_id)
  const reasonsOf = Map.groupBy(reasons, ({ invio_id }) => invio_id)
  return facts.map(({ day: each, isExclusive, fetches }): AccountDay => {
    const isOfDay = ({ giorno_da, giorno_a }: DayAttempt) => giorno_da <= each && each <= giorno_a
    const ofDay = all.filter(isOfDay)
    const own = new Set(ofDay.map(({ invio_id }) => invio_id))
    return {
      day: each,
      now,
      isExclusive,
      attempts: ofDay,
      submissions: submissions.filter(({ id }) => own.has(id)).map((submission): DaySubmission => ({
        ...submission,
        isWhole: !partial.has(submission.id),
        otherOutcomes: attemptsOf.get(submission.id)!.filter((one) => !isOfDay(one)).map(({ esito }) => esito),
        reasons: (reasonsOf.get(submission.id) ?? []).map(({ reason }) => reason)
      })),
      fetches
    }
  })
}

async function readFacts (tx: Transaction, account: string, day: Day) {
  const [isExclusive, fetches] = await Promise.all([isDayExclusive(tx, account, day), readFetchesOf(tx, account, day)])
  return { day, isExclusive, fetches }
}

/** The day, and those that acquired calls around midnight tie it to, directly or through others. */
async function tiedDays (tx: Transaction, account: string, day: Day): Promise<Day[]> {
  const days = new Set([day])
  for (let size = 0; size < days.size;) {
    size = days.size
    const around = await readAttempts(tx, and(
      eq(invii.utente, account),
      ne(attempts.giorno_da, attempts.giorno_a),
      inArray(attempts.giorno_da, [...days].flatMap((each) => [addDays(each, -1), each]))
    ))
    for (const { giorno_da, giorno_a } of around.filter(isStraddler)) {
      if (days.has(giorno_da) || days.has(giorno_a)) days.add(giorno_da).add(giorno_a)
    }
  }
  return [...days].sort()
}

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

async function readPartial (tx: Transaction, ids: readonly number[]): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const found = await tx
    .selectDistinct({ id: rows.invio_id })
    .from(rows)
    .where(and(isOneOf(rows.invio_id, ids), eq(rows.esito, 'rifiutata')))
  return new Set(found.map(({ id }) => id))
}

async function readReasons (tx: Transaction, ids: readonly number[]): Promise<{ invio_id: number, reason: string }[]> {
  if (ids.length === 0) return []
  return tx
    .select({ invio_id: transitions.invio_id, reason: transitions.perche })
    .from(transitions)
    .where(and(isOneOf(transitions.invio_id, ids), eq(transitions.a, 'da_verificare')))
}

/**
 * Whether the ledger knows of everything that was filed with the account on a day. What a person files on the portal is
 * on the receipt, too, and the portal takes arrivals of the day and of the day before.
 */
async function isDayExclusive (tx: Transaction, account: string, day: Day): Promise<boolean> {
  const [isChannelExclusive, filedByHand] = await Promise.all([
    readExclusiveChannel(tx, account),
    tx.$count(
      invii,
      and(
        eq(invii.utente, account),
        eq(invii.stato, 'depositato_altrove'),
        inArray(invii.data_arrivo, [day, addDays(day, -1)])
      )
    )
  ])
  return isChannelExclusive && filedByHand === 0
}
