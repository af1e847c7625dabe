import { inArray, sql, type SQL } from 'drizzle-orm'
import { UNFINISHED_STATES, UNRECEIPTED_STATES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import { scopeOf } from './read.ts'

interface Counted {
  mode: 'sandbox' | 'production'
  today: Day
  /** The id of the booking. */
  booking: SQL
  /** Which arrivals count: a condition on `i.data_arrivo`. */
  arrivals: SQL
}

/**
 * How many guests of a booking are with the police, for a lateral join: one row of numbers.
 * `in_ricevuta` acquired, and the receipt of the day is kept · `in_attesa` acquired, and the receipt is not due yet ·
 * `comunicati` acquired or filed by another way · `aperti` may still be acquired: a submission is unfinished.
 */
export function guestCounts ({ mode, today, booking, arrivals }: Counted): SQL {
  return sql`(
    select coalesce(sum(g.acquisite) filter (where i.stato = 'ricevuto' or p.provato), 0)::int as in_ricevuta,
      coalesce(sum(g.acquisite) filter (where not p.provato and p.atteso), 0)::int as in_attesa,
      coalesce(sum(g.acquisite + g.depositate) filter (where not ${isUnfinished}), 0)::int as comunicati,
      coalesce(sum(g.vive) filter (where ${isUnfinished}), 0)::int as aperti
    from (
      select s.invio_id, count(*) filter (where s.esito = 'acquisita') as acquisite,
        count(*) filter (where s.esito = 'depositata') as depositate,
        count(*) filter (where s.esito not in ('rifiutata', 'non_inviata', 'annullata')) as vive
      from invii_schedine s where s.prenotazione_id = ${booking} group by s.invio_id
    ) g
    join invii i on i.id = g.invio_id and ${scopeOf(mode, sql`i.utente`)} and ${arrivals}
    cross join lateral (
      -- What is receipted needs no look at its calls. A call around midnight may be on either receipt.
      select coalesce(bool_or(da.giorno is not null and a.giorno is not null), false) as provato,
        coalesce(bool_or(t.giorno_a >= ${today}::date), false) as atteso
      from invii_tentativi t
      join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
      left join ricevute da on da.utente = i.utente and da.giorno = t.giorno_da
      left join ricevute a on a.utente = i.utente and a.giorno = t.giorno_a
      where t.invio_id = i.id and ${inArray(sql`i.stato`, UNRECEIPTED_STATES)}
    ) p
  )`
}

const isUnfinished = inArray(sql`i.stato`, UNFINISHED_STATES)
