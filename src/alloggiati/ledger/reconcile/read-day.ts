import { and, asc, between, eq, gte, inArray, lte, ne, or, sql, type SQL } from 'drizzle-orm'
import { ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import { invii, invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { isOneOf } from '#src/database/columns.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { DayOfAccount } from '../../receipts/receipt-days.ts'
import { readExclusiveChannel } from '../police-account.ts'
import { CLOCKS_MS } from '../sending/commit-attempt.ts'
import type { AccountDay, DayAttempt, ReceiptFetch } from './account-day.ts'
import { isStraddler } from './midnight.ts'

/**
 * Reads a day of an account, and its tied days: those that share a call around midnight with it. The caller holds the
 * chain's lock, so the submissions cannot change until the transaction ends.
 */
export async function readDays (tx: Transaction, { account, day }: DayOfAccount, now: Date): Promise<AccountDay[]> {
  const days = await tiedDays(tx, account, day)
  const sent = tx.select({ id: attempts.invio_id }).from(attempts).where(and(
    between(attempts.giorno_da, addDays(days[0]!, -1), days.at(-1)!),
    or(...days.map((each) => and(lte(attempts.giorno_da, each), gte(attempts.giorno_a, each))))
  ))
  const submissions = await tx
    .select({
      id: invii.id,
      stato: invii.stato,
      tentativo: invii.tentativo,
      data_arrivo: invii.data_arrivo,
      isWhole: sql<boolean>`not exists (
        select from invii_schedine s where s.invio_id = ${invii}.id and s.esito = 'rifiutata')`,
      reasons: sql<string[]>`(select coalesce(json_agg(t.perche), '[]') from invii_transizioni t
        where t.invio_id = ${invii}.id and t.a = 'da_verificare')`
    })
    .from(invii)
    .where(and(eq(invii.utente, account), inArray(invii.id, sent)))
    .orderBy(asc(invii.id))
  const ids = submissions.map(({ id }) => id)
  const all = ids.length === 0 ? [] : await readAttempts(tx, isOneOf(attempts.invio_id, ids))
  const attemptsOf = Map.groupBy(all, ({ invio_id }) => invio_id)
  return Promise.all(days.map(async (each): Promise<AccountDay> => {
    const isOfDay = ({ giorno_da, giorno_a }: DayAttempt) => giorno_da <= each && each <= giorno_a
    const ofDay = all.filter(isOfDay)
    const own = new Set(ofDay.map(({ invio_id }) => invio_id))
    return {
      day: each,
      now,
      isExclusive: await isDayExclusive(tx, account, each),
      attempts: ofDay,
      submissions: submissions.filter(({ id }) => own.has(id)).map((submission) => ({
        ...submission,
        otherOutcomes: attemptsOf.get(submission.id)!.filter((one) => !isOfDay(one)).map(({ esito }) => esito)
      })),
      fetches: await readFetchesOf(tx, account, each)
    }
  }))
}

/** The day and its tied days: acquired calls around midnight connect them, directly or through other days. */
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

export interface AccountAttempt extends DayAttempt { account: string }

/**
 * The attempts that match a condition, with their outcomes, in order. The service counts an attempt before it replies.
 * So a reply before midnight excludes the later day.
 */
export async function readAttempts (db: Executor, condition: SQL | undefined): Promise<readonly AccountAttempt[]> {
  const { giorno_a, inviato_il, consegna_entro } = attempts
  const latest = sql`(e.registrato_il + make_interval(secs => ${CLOCKS_MS / 1000}))`
  // Plain rows: on a day with hundreds of attempts, mapping columns would cost more than the query.
  return db.execute<AccountAttempt & Record<string, unknown>>(sql`
    select ${invii.utente} as account, ${attempts.invio_id}, ${attempts.numero}, ${attempts.giorno_da}::text,
      (case when e.fonte = 'risposta' and e.registrato_il between ${inviato_il} and ${consegna_entro}
        then least(${giorno_a}, (${latest} at time zone 'Europe/Rome')::date) else ${giorno_a} end)::text as giorno_a,
      coalesce(e.esito, '?') as esito, coalesce(e.fonte = 'decisione', false) as "isDecided",
      coalesce(k.schedine, ${attempts.schedine}) as schedine, coalesce(k.notti, ${attempts.notti}) as notti,
      coalesce(k.schedine < ${attempts.schedine}, false) as "isPartial"
    from ${attempts}
    join ${invii} on ${invii.id} = ${attempts.invio_id}
    left join invii_esiti e on e.invio_id = ${attempts.invio_id} and e.numero = ${attempts.numero}
      and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
    left join invii_esiti k on k.id = e.id and k.esito = 'K' and k.fonte <> 'decisione'
    where ${condition ?? sql`true`}
    order by ${attempts.invio_id}, ${attempts.numero}`)
}

export async function readFetchesOf (db: Executor, account: string, day: Day): Promise<ReceiptFetch[]> {
  const { letta_il, sha256, schedine, notti } = fetches
  return db
    .select({
      fetchedAt: sql`${letta_il}`.mapWith((at: string) => new Date(at)),
      isAvailable: sql<boolean>`${sha256} is not null`,
      schedine,
      notti
    })
    .from(fetches)
    .where(and(eq(fetches.utente, account), eq(fetches.giorno, day)))
    .orderBy(asc(letta_il), asc(fetches.id))
}

/**
 * Whether the ledger contains all schedine filed with the account on a day. The receipt also counts schedine filed on
 * the portal, which accepts arrivals of the day and of the day before.
 */
async function isDayExclusive (tx: Transaction, account: string, day: Day): Promise<boolean> {
  const isFiledByHand = and(
    eq(invii.utente, account),
    eq(invii.stato, 'depositato_altrove'),
    inArray(invii.data_arrivo, [day, addDays(day, -1)])
  )
  return await readExclusiveChannel(tx, account) && await tx.$count(invii, isFiledByHand) === 0
}
