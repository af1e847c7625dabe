import { inArray, sql } from 'drizzle-orm'
import { FINAL_ATTEMPT_OUTCOMES, UNRECEIPTED_STATES } from '#schemas/submission.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'

/** A day in which the service may have counted attempts of ours. */
export interface AttemptDay {
  day: Day
  /** Its receipt is in the store. */
  hasReceipt: boolean
  /** Guests are known to have been acquired, with the dispatch on this day. */
  hasAcquired: boolean
  /** The outcome of an attempt is unknown, or rests on a person's decision. */
  hasUncertain: boolean
  /** An attempt is unknown, or was acquired and is not proven by a receipt yet. */
  isUnproven: boolean
}

interface Row extends Record<string, unknown> {
  giorno: Day
  has_receipt: boolean
  has_acquired: boolean
  has_uncertain: boolean
  is_unproven: boolean
}

/** The days from `from` to `to`, both included, in which the service may have counted attempts, in their order. */
export async function attemptDays (
  db: Executor,
  account: string,
  { from, to }: { from: Day, to: Day }
): Promise<AttemptDay[]> {
  // An attempt around midnight may count in the day after its dispatch, too.
  const rows = await db.execute<Row>(sql`
    select d.giorno::date::text as giorno,
      bool_or(r.giorno is not null) as has_receipt,
      bool_or(e.esito is not distinct from 'K' and t.giorno_da = d.giorno) as has_acquired,
      bool_or(e.esito is null or e.fonte = 'decisione') as has_uncertain,
      bool_or(
        e.esito is null or
        e.esito = 'K' and (r.giorno is null or ${inArray(sql`i.stato`, UNRECEIPTED_STATES)})
      ) as is_unproven
    from invii i
    join invii_tentativi t on t.invio_id = i.id and t.giorno_da between ${addDays(from, -1)}::date and ${to}::date
    cross join lateral generate_series(t.giorno_da, t.giorno_a, interval '1 day') as d (giorno)
    left join invii_esiti e
      on e.invio_id = t.invio_id and e.numero = t.numero and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
    left join ricevute r on r.utente = i.utente and r.giorno = d.giorno::date
    where i.utente = ${account} and d.giorno between ${from}::date and ${to}::date
    group by d.giorno
    order by d.giorno`)
  return rows.map(({ giorno, has_receipt, has_acquired, has_uncertain, is_unproven }) => ({
    day: giorno,
    hasReceipt: has_receipt,
    hasAcquired: has_acquired,
    hasUncertain: has_uncertain,
    isUnproven: is_unproven
  }))
}

/** The days from `from` until yesterday on which guests were acquired and whose receipt is not in the store. */
export async function daysWithoutReceipt (db: Executor, account: string, from: Day, today: Day): Promise<Day[]> {
  const days = await attemptDays(db, account, { from, to: addDays(today, -1) })
  return days.filter(({ hasReceipt, hasAcquired }) => hasAcquired && !hasReceipt).map(({ day }) => day)
}
