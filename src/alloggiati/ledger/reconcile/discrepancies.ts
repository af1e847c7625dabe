import { and, inArray, ne, sql, type SQL } from 'drizzle-orm'
import { invii_tentativi as attempts } from '#drizzle/tables/ledger.ts'
import type { CrossCheckResponse } from '#schemas/receipts.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { scopeOf } from '../read-ledger.ts'
import { readAttempts, type AccountAttempt } from './read-day.ts'
import { type Counts, subtract, sum } from './account-day.ts'
import { isStraddler, placeAroundMidnight } from './midnight.ts'

interface ReceiptDay extends Counts, Record<string, unknown> {
  utente: string
  giorno: Day
  /** The number of schedine that calls of this day acquired. Excludes calls that may belong to another day. */
  schedine_inviate: number
  notti_inviate: number
  /** The outcome of a call is unknown, or decided by a person. */
  incerto: boolean
}

/**
 * Finds days whose stored receipt counts another number of schedine than the ledger has as acquired. Without `from` it
 * starts at the first day. A call around midnight may belong to either of two days, which are then compared together.
 * They are omitted until the receipts show the day of the call.
 */
export async function findDiscrepancies (
  db: Executor, mode: 'sandbox' | 'production', { from, to }: { from: Day | undefined, to: Day }
): Promise<CrossCheckResponse['discordanze']> {
  // Days near the period are needed too, because a call around midnight may belong to either of two days.
  const isNear = (day: SQL) => and(
    from === undefined ? undefined : sql`${day} >= ${from}::date - 2`, sql`${day} <= ${to}::date + 2`
  )!
  const days = await readReceiptDays(db, mode, isNear(sql`r.giorno`))
  const around = await readAttempts(db, and(
    scopeOf(mode), ne(attempts.giorno_da, attempts.giorno_a), isNear(sql`${attempts.giorno_da}`)
  ))
  return [...Map.groupBy(days, ({ utente }) => utente)]
    .flatMap(([account, own]) => compare(own, around.filter((one) => one.account === account)))
    .filter(({ giorno }) => giorno >= (from ?? giorno) && giorno <= to)
    .sort((one, other) => one.giorno < other.giorno ? -1 : 1)
}

function compare (days: readonly ReceiptDay[], around: readonly AccountAttempt[]): CrossCheckResponse['discordanze'] {
  const acquired = around.filter(({ esito }) => esito === 'K')
  const straddlers = acquired.filter(isStraddler)
  // All other attempts count on their first day. A reply settled it, or a person decided the outcome.
  const single = acquired.filter((one) => !isStraddler(one))
  const ofDay = (day: Day) => sum(single.filter(({ giorno_da }) => giorno_da === day))
  const isUncertain = ({ giorno, incerto }: ReceiptDay) => incerto || around.some(({ esito, isDecided, ...one }) =>
    (esito === '?' || isDecided) && one.giorno_da <= giorno && giorno <= one.giorno_a
  )
  const assignedDays = placeAroundMidnight(new Map(days.filter((day) => !isUncertain(day)).map((day) => {
    const known = sum([{ schedine: day.schedine_inviate, notti: day.notti_inviate }, ofDay(day.giorno)])
    return [day.giorno, subtract(day, known)]
  })), straddlers)
  return days.flatMap(({ giorno, schedine, schedine_inviate }) => {
    const isOpen = straddlers.some((one, at) =>
      assignedDays[at] === undefined && (one.giorno_da === giorno || one.giorno_a === giorno)
    )
    const here = sum([ofDay(giorno), ...straddlers.filter((_, at) => assignedDays[at] === giorno)])
    const inviate = schedine_inviate + here.schedine
    return isOpen || inviate === schedine ? [] : [{ giorno, inviate, in_ricevuta: schedine }]
  })
}

async function readReceiptDays (db: Executor, mode: 'sandbox' | 'production', condition: SQL): Promise<ReceiptDay[]> {
  return db.execute<ReceiptDay>(sql`
    select r.utente, r.giorno::text as giorno, r.schedine, r.notti,
      coalesce(sum(e.schedine) filter (where e.esito = 'K'), 0)::int as schedine_inviate,
      coalesce(sum(e.notti) filter (where e.esito = 'K'), 0)::int as notti_inviate,
      coalesce(bool_or(t.numero is not null and (e.esito is null or e.fonte = 'decisione')), false) as incerto
    from ricevute r
    left join (invii_tentativi t
      join invii i on i.id = t.invio_id
      left join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero
        and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)})
      on t.giorno_da = r.giorno and t.giorno_a = r.giorno and i.utente = r.utente
    where ${scopeOf(mode, sql`r.utente`)} and ${condition} and r.schedine is not null and r.notti is not null
    group by r.utente, r.giorno
    order by r.giorno, r.utente`)
}
