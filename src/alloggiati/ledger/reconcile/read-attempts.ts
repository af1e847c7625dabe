import { inArray, sql, type SQL } from 'drizzle-orm'
import { invii, invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
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
