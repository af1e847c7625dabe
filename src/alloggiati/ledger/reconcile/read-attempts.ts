import { inArray, sql, type SQL } from 'drizzle-orm'
import { invii, invii_tentativi as attempts, invii_esiti as observations } from '#drizzle/tables/ledger.ts'
import { FINAL_ATTEMPT_OUTCOMES, type FinalAttemptOutcome, type ObservationSource } from '#schemas/submission.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { CLOCKS_MS } from '../sending/dispatch.ts'
import type { DayAttempt } from './account-day.ts'

interface Row extends Record<string, unknown> {
  account: string
  invio_id: number
  numero: number
  schedine: number
  notti: number
  giorno_da: Day
  giorno_a: Day
  inviato_il: string
  consegna_entro: string
  esito: FinalAttemptOutcome | null
  fonte: ObservationSource | null
  acquisite: number | null
  notti_acquisite: number | null
  registrato_il: string | null
}

export interface AccountAttempt extends DayAttempt { account: string }

/** The attempts that a condition on attempts and submissions lets through, with what is known of each; in order. */
export async function readAttempts (db: Executor, condition: SQL | undefined): Promise<AccountAttempt[]> {
  // Plain rows: mapped columns cost more than the query, of a day with hundreds of attempts.
  const found = await db.execute<Row>(sql`
    select ${invii.utente} as account, ${attempts.invio_id}, ${attempts.numero}, ${attempts.schedine},
      ${attempts.notti}, ${attempts.giorno_da}::text, ${attempts.giorno_a}::text, ${attempts.inviato_il}::text,
      ${attempts.consegna_entro}::text, e.esito, e.fonte, e.schedine as acquisite, e.notti as notti_acquisite,
      e.registrato_il::text
    from ${attempts}
    join ${invii} on ${invii.id} = ${attempts.invio_id}
    left join invii_esiti e on e.invio_id = ${attempts.invio_id} and e.numero = ${attempts.numero}
      and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
    where ${condition ?? sql`true`}
    order by ${attempts.invio_id}, ${attempts.numero}`)
  return found.map((row): AccountAttempt => {
    const { account, invio_id, numero, giorno_da, giorno_a, esito, fonte, registrato_il } = row
    const isDecided = fonte === 'decisione'
    const isCounted = esito === 'K' && !isDecided
    return {
      account,
      invio_id,
      numero,
      schedine: isCounted ? row.acquisite! : row.schedine,
      notti: isCounted ? row.notti_acquisite! : row.notti,
      giorno_da,
      giorno_a: fonte === 'risposta' && giorno_da !== giorno_a ? lastDayByReply(row, registrato_il!) : giorno_a,
      esito: esito ?? '?',
      isDecided,
      isPartial: isCounted && row.acquisite! < row.schedine
    }
  })
}

/**
 * The last day in which the service may have counted an attempt that it replied to. It counted before it replied, so
 * near midnight the reply may leave one day only.
 */
function lastDayByReply (
  { inviato_il, consegna_entro, giorno_a }: Pick<Row, 'inviato_il' | 'consegna_entro' | 'giorno_a'>,
  repliedAt: string
): Day {
  const at = Date.parse(repliedAt)
  if (at < Date.parse(inviato_il) || at > Date.parse(consegna_entro)) return giorno_a
  return [dayInRome(new Date(at + CLOCKS_MS)), giorno_a].sort()[0]!
}

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
