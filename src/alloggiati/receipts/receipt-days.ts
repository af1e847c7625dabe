import { and, eq, gte, inArray, max, sql, type SQL } from 'drizzle-orm'
import { ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { scopeOf } from '../ledger/read-ledger.ts'

/** The service returns receipts of the last 30 days, without today (manual, p. 17). */
export const RECEIPT_WINDOW_DAYS = 30
/** After this many failures in a row no further call is made, because each may take 25 seconds to fail. */
export const FAILURES_IN_A_ROW = 3
/** A copy fetched before this hour (Rome) of the next day may lack guests. */
const EARLY_HOUR = 2

type Mode = 'sandbox' | 'production'

/** A day of one account. */
export interface DayOfAccount { account: string, day: Day }

/** A day on which the service may have counted attempts of this installation. */
export interface AttemptDay extends DayOfAccount {
  /** Whether a copy of its receipt is stored, even an early one. */
  hasReceipt: boolean
  /** Whether an outcome is unknown, or decided by a person. */
  hasUncertain: boolean
}

/** Whether a copy of `ricevute`, given by its alias, was fetched before the day was certainly complete. */
export function isEarlyCopy (copy: SQL): SQL<boolean> {
  return sql`${copy}.scaricata_il < ((${copy}.giorno + 1) + make_interval(hours => ${sql.raw(String(EARLY_HOUR))}))
    at time zone 'Europe/Rome'`
}

/** Whether a copy proves its day. An early copy does only if its totals equal those of all calls acquired that day. */
export function provesDay (copy: SQL): SQL<boolean> {
  return sql`(not (${isEarlyCopy(copy)}) or (${copy}.schedine, ${copy}.notti) = (
    select sum(coalesce(k.schedine, c.schedine)), sum(coalesce(k.notti, c.notti))
    from invii_tentativi c
    join invii j on j.id = c.invio_id and j.utente = ${copy}.utente
    join invii_esiti k on k.invio_id = c.invio_id and k.numero = c.numero and k.esito = 'K'
    where ${copy}.giorno between c.giorno_da and c.giorno_a))`
}

/**
 * Finds days of all accounts of a mode, both bounds included, in order. Each has an attempt with an unknown outcome, an
 * acquired attempt of a submission in state `acquisito`, or acquired guests and no stored receipt.
 */
export async function unprovenDays (
  db: Executor, mode: Mode, { from, to }: { from: Day, to: Day }
): Promise<readonly AttemptDay[]> {
  // An attempt around midnight may also belong to the next day. A partly acquired submission keeps its state, and only
  // waits for the receipt of its day.
  return db.execute<AttemptDay & Record<string, unknown>>(sql`
    select a.utente as account, d.giorno::date::text as day, bool_or(r.giorno is not null) as "hasReceipt",
      bool_or(a.incerto) as "hasUncertain"
    from (
      select i.utente, t.giorno_da, t.giorno_a, bool_or(e.esito is null or e.fonte = 'decisione') as incerto,
        bool_or(e.esito is null) as ignoto, bool_or(e.esito = 'K') as acquisito,
        bool_or(e.esito = 'K' and i.stato = 'acquisito') as da_provare
      from invii_tentativi t
      join invii i on i.id = t.invio_id
      left join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero
        and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
      where t.giorno_da between ${addDays(from, -1)}::date and ${to}::date and ${scopeOf(mode, sql`i.utente`)}
      group by i.utente, t.giorno_da, t.giorno_a
    ) a
    cross join lateral generate_series(a.giorno_da, a.giorno_a, interval '1 day') as d (giorno)
    left join ricevute r on r.utente = a.utente and r.giorno = d.giorno::date
    where d.giorno between ${from}::date and ${to}::date
    group by a.utente, d.giorno
    having bool_or(a.ignoto or a.da_provare or (a.acquisito and r.giorno is null))
    order by d.giorno, a.utente`)
}

/** The time in milliseconds of the account's last fetch for each day, with or without a receipt. */
export async function lastFetches (db: Executor, account: string, from: Day): Promise<ReadonlyMap<Day, number>> {
  const { utente, giorno, letta_il } = fetches
  const found = await db.select({ giorno, at: max(letta_il) }).from(fetches)
    .where(and(eq(utente, account), gte(giorno, from))).groupBy(giorno)
  return new Map(found.map((each) => [each.giorno, Date.parse(each.at!)]))
}

/** Finds days before `today`, of all accounts of a mode, with acquired guests but no stored receipt. */
export async function daysWithoutReceipt (
  db: Executor, mode: Mode, from: Day, today: Day
): Promise<readonly DayOfAccount[]> {
  return db.execute<DayOfAccount & Record<string, unknown>>(sql`
    select a.utente as account, d.giorno::date::text as day
    from (select distinct utente from invii_conteggi c where ${scopeOf(mode, sql`c.utente`)}) a
    cross join generate_series(${from}::date, ${addDays(today, -1)}::date, interval '1 day') as d (giorno)
    where not exists (select from ricevute r where r.utente = a.utente and r.giorno = d.giorno::date)
      and exists (
        select from invii_tentativi t
        join invii i on i.id = t.invio_id and i.utente = a.utente
        join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
        where t.giorno_da = d.giorno::date
      )
    order by d.giorno, a.utente`)
}
