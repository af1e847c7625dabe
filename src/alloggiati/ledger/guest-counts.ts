import { inArray, sql, type SQL } from 'drizzle-orm'
import { UNFINISHED_STATES, UNRECEIPTED_STATES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import { scopeOf } from './read.ts'

/* How many guests of a booking are where: queries for a lateral join, of one row of numbers each. */

interface Counted {
  mode: 'sandbox' | 'production'
  /** The id of the booking. */
  booking: SQL
  /** Which arrivals count: a condition on `i.data_arrivo`. */
  arrivals: SQL
}

const isUnfinished = inArray(sql`i.stato`, UNFINISHED_STATES)

/**
 * `comunicati` acquired or filed by another way · `aperti` may still be acquired: a submission is unfinished.
 */
export function communicatedGuests ({ mode, booking, arrivals }: Counted): SQL {
  return sql`(
    select coalesce(sum(g.comunicate) filter (where not ${isUnfinished}), 0)::int as comunicati,
      coalesce(sum(g.vive) filter (where ${isUnfinished}), 0)::int as aperti
    from (
      select s.invio_id, count(*) filter (where s.esito in ('acquisita', 'depositata')) as comunicate,
        count(*) filter (where s.esito not in ('rifiutata', 'non_inviata', 'annullata')) as vive
      from invii_schedine s where s.prenotazione_id = ${booking} group by s.invio_id
    ) g
    join invii i on i.id = g.invio_id and ${scopeOf(mode, sql`i.utente`)} and ${arrivals}
  )`
}

/**
 * `in_ricevuta` acquired, and the receipt of the day is kept · `in_attesa` acquired, and the receipt is not due yet
 */
export function receiptedGuests ({ today, ...counted }: Counted & { today: Day }): SQL {
  return sql`(
    select coalesce(sum(g.acquisite) filter (where i.stato = 'ricevuto' or p.provato), 0)::int as in_ricevuta,
      coalesce(sum(g.acquisite) filter (where not p.provato and p.atteso), 0)::int as in_attesa
    from ${acquiredBySubmission(counted)}
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

/**
 * A number: the guests whose submission is receipted. Nearly all bookings of the past have no others, so this tells
 * cheaply which need no closer look.
 */
export function guestsOfReceiptedSubmissions (counted: Counted): SQL {
  return sql`(
    select coalesce(sum(g.acquisite) filter (where i.stato = 'ricevuto'), 0) from ${acquiredBySubmission(counted)}
  )`
}

/** The submissions `i` of a booking, with `g.acquisite`: how many of its guests each has acquired. */
function acquiredBySubmission ({ mode, booking, arrivals }: Counted): SQL {
  return sql`(
      select s.invio_id, count(*)::int as acquisite
      from invii_schedine s where s.prenotazione_id = ${booking} and s.esito = 'acquisita' group by s.invio_id
    ) g
    join invii i on i.id = g.invio_id and ${scopeOf(mode, sql`i.utente`)} and ${arrivals}`
}
