import { inArray, sql, type SQL } from 'drizzle-orm'
import { invii, invii_esiti as observations, invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'

/**
 * The attempts whose first day is one from `from` to `to`, and whose last is `endingFrom` or later, each with its
 * submission's `utente`, `stato` and `tentativo` and with what is known of it for good (`esito`, `fonte`, `acquisite`,
 * `notti_acquisite`; null when nothing is): what a statement begins with, as the table `tentati`.
 *
 * Submissions are numbered in the order of time, so those of some days lie side by side: reading all between the first
 * and the last of them costs a fraction of looking each of them up. These two are asked for beforehand, because the
 * database plans well only for bounds that it knows.
 */
export async function attemptsOfDays (db: Executor, from: Day, to: Day, endingFrom = from): Promise<SQL> {
  const ofDays = sql`giorno_da between ${from}::date and ${to}::date and giorno_a >= ${endingFrom}::date`
  const [ends] = await db.execute<{ first: number | null, last: number | null }>(
    // By the index of days: `offset 0` keeps the database from looking for the ends along the ids.
    sql`select min(invio_id) as first, max(invio_id) as last
      from (select invio_id from ${attempts} where ${ofDays} offset 0) as t`
  )
  const isBetween = sql`between ${ends!.first}::int and ${ends!.last}::int`
  return sql`with tentati as materialized (
      select t.invio_id, t.numero, t.giorno_da, t.giorno_a, i.utente, i.stato, i.tentativo, e.esito, e.fonte,
        e.schedine as acquisite, e.notti as notti_acquisite
      from ${attempts} t join ${invii} i on i.id = t.invio_id and i.id ${isBetween}
      left join ${observations} e on e.invio_id = t.invio_id and e.numero = t.numero and e.invio_id ${isBetween}
        and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
      where ${ofDays}
    )`
}
