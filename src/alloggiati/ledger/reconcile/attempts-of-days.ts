import { inArray, sql, type SQL } from 'drizzle-orm'
import { invii, invii_esiti as observations, invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'

/**
 * The attempts whose first day is one from `from` to `to`, each with its submission's `utente`, `stato` and `tentativo`
 * and with what is known of it for good (`esito`, `fonte`, `acquisite`, `notti_acquisite`; null when nothing is): what
 * a statement begins with, as the table `tentati`.
 *
 * Submissions are numbered in the order of time, so those of some days lie side by side: reading all between the first
 * and the last of them costs a fraction of looking each of them up.
 */
export function attemptsOfDays (from: Day, to: Day): SQL {
  const isBetween = sql`between (select primo from estremi) and (select ultimo from estremi)`
  return sql`with dei_giorni as materialized (
      select invio_id, numero, giorno_da, giorno_a from ${attempts}
      where giorno_da between ${from}::date and ${to}::date
    ), estremi as materialized (
      select min(invio_id) as primo, max(invio_id) as ultimo from dei_giorni
    ), mittenti as materialized (
      select id, utente, stato, tentativo from ${invii} where id ${isBetween}
    ), noti as materialized (
      select invio_id, numero, esito, fonte, schedine, notti from ${observations}
      where invio_id ${isBetween} and ${inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)}
    ), tentati as (
      select t.*, i.utente, i.stato, i.tentativo, e.esito, e.fonte, e.schedine as acquisite, e.notti as notti_acquisite
      from dei_giorni t join mittenti i on i.id = t.invio_id
      left join noti e on e.invio_id = t.invio_id and e.numero = t.numero
    )`
}
