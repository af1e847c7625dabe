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
export function receiptedGuests ({ mode, booking, arrivals, today }: Counted & { today: Day }): SQL {
  return sql`(
    select coalesce(sum(g.acquisite) filter (where i.stato = 'ricevuto' or p.provato), 0)::int as in_ricevuta,
      coalesce(sum(g.acquisite) filter (where not p.provato and p.atteso), 0)::int as in_attesa
    from (
      select s.invio_id, count(*)::int as acquisite
      from invii_schedine s where s.prenotazione_id = ${booking} and s.esito = 'acquisita' group by s.invio_id
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

/**
 * Table expressions that end in `coperte`: the ids of those bookings of `pagina` (`id`, `check_in`, `numero_ospiti`) of
 * which `nights` from the arrival on are surely covered, because the submissions of so many guests are receipted.
 * Nearly all bookings of the past are, and only the others need a closer look.
 *
 * All submissions that arrived in the time of the page are read side by side, as their rows are: a fraction of what a
 * look-up for each booking costs.
 */
export function surelyCovered ({ mode, nights }: { mode: 'sandbox' | 'production', nights: number }): SQL {
  return sql`arrivati as materialized (
      select i.id, i.data_arrivo from invii i
      where i.data_arrivo >= (select min(check_in) from pagina)
        and i.data_arrivo < (select max(check_in) from pagina) + ${nights}::int
        and i.stato = 'ricevuto' and ${scopeOf(mode, sql`i.utente`)}
    ), righe as materialized (
      select s.invio_id, s.prenotazione_id from invii_schedine s
      where s.invio_id between (select min(id) from arrivati) and (select max(id) from arrivati)
        and s.esito = 'acquisita'
    ), inviati as materialized (
      select r.prenotazione_id, i.data_arrivo, count(*) as ospiti
      from arrivati i join righe r on r.invio_id = i.id group by r.prenotazione_id, i.data_arrivo
    ), coperte as (
      select p.id from pagina p
      join inviati g on g.prenotazione_id = p.id and g.data_arrivo < p.check_in + ${nights}::int
      group by p.id, p.numero_ospiti having sum(g.ospiti) >= p.numero_ospiti
    )`
}
