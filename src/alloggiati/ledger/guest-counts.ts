import { inArray, sql, type SQL } from 'drizzle-orm'
import { UNFINISHED_STATES, UNRECEIPTED_STATES } from '#schemas/submission.ts'
import type { Day } from '#src/lib/time.ts'
import { NIGHTS_OF_A_SCHEDINA } from '../deadlines.ts'
import { scopeOf } from './read.ts'

/*
 * How many guests of a stay `p` (`id`, `schedine_cambiate_il`) are where: queries of one row of numbers each.
 *
 * A row counts without a look at whose it is when its arrival lies in the 30 nights that are asked for, and it was sent
 * since the stay and its guests were last changed. What was sent before may be of other guests: see closer-look.ts.
 */

interface Counted {
  mode: 'sandbox' | 'production'
  /** The first of the 30 nights. */
  from: SQL
}

/** The submission `i` may still be acquired. */
export const isUnfinished = inArray(sql`i.stato`, UNFINISHED_STATES)

/**
 * The submission `i` is of these 30 nights of the stay `p` as it is now. By the difference, which no index knows: for
 * each stay the submissions of 30 days would be read in place of its own.
 */
function isOf (from: SQL): SQL {
  return sql`i.data_arrivo - ${from} between 0 and ${NIGHTS_OF_A_SCHEDINA - 1}::int
    and i.creato_il >= p.schedine_cambiate_il`
}

/** Acquired or filed by another way. */
export function communicatedGuests ({ mode, from }: Counted): SQL {
  return sql`(
    select count(*) from invii_schedine s
    join invii i on i.id = s.invio_id and ${scopeOf(mode, sql`i.utente`)} and ${isOf(from)} and not ${isUnfinished}
    where s.prenotazione_id = p.id and s.esito in ('acquisita', 'depositata')
  )`
}

/**
 * `in_ricevuta` acquired, and the receipt of the day is kept · `in_attesa` acquired, and the receipt is not due yet
 */
export function receiptedGuests ({ mode, from, today }: Counted & { today: Day }): SQL {
  return sql`(
    select coalesce(sum(g.acquisite) filter (where r.provato), 0)::int as in_ricevuta,
      coalesce(sum(g.acquisite) filter (where r.atteso), 0)::int as in_attesa
    from (
      select s.invio_id, count(*)::int as acquisite
      from invii_schedine s where s.prenotazione_id = p.id and s.esito = 'acquisita' group by s.invio_id
    ) g
    join invii i on i.id = g.invio_id and ${scopeOf(mode, sql`i.utente`)} and ${isOf(from)}
    cross join lateral ${receiptOf(today)} r
  )`
}

/**
 * `provato` what was acquired of the submission `i` is on a receipt that is kept · `atteso` its receipt is not due yet
 */
export function receiptOf (today: Day): SQL {
  return sql`(
    -- What is receipted needs no look at its calls. A call around midnight may be on either receipt.
    select i.stato = 'ricevuto' or c.provato as provato, not c.provato and c.atteso as atteso
    from (
      select coalesce(bool_or(da.giorno is not null and a.giorno is not null), false) as provato,
        coalesce(bool_or(t.giorno_a >= ${today}::date), false) as atteso
      from invii_tentativi t
      join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
      left join ricevute da on da.utente = i.utente and da.giorno = t.giorno_da
      left join ricevute a on a.utente = i.utente and a.giorno = t.giorno_a
      where t.invio_id = i.id and ${inArray(sql`i.stato`, UNRECEIPTED_STATES)}
    ) c
  )`
}

/**
 * Table expressions that end in `coperte`: the ids of those stays of `pagina` (`id`, `check_in`, `numero_ospiti`,
 * `schedine_cambiate_il`) whose first 30 nights are surely covered, because so many guests were sent since the last
 * change, and their submissions are receipted. Nearly all bookings of the past are, and only the others need a
 * closer look.
 *
 * All submissions that arrived in the time of the page are read side by side, as their rows are: a fraction of what a
 * look-up for each booking costs.
 */
export function surelyCovered (mode: 'sandbox' | 'production'): SQL {
  return sql`arrivati as materialized (
      select i.id, i.data_arrivo, i.creato_il from invii i
      where i.data_arrivo >= (select min(check_in) from pagina)
        and i.data_arrivo < (select max(check_in) from pagina) + ${NIGHTS_OF_A_SCHEDINA}::int
        and i.stato = 'ricevuto' and ${scopeOf(mode, sql`i.utente`)}
    ), righe as materialized (
      select s.invio_id, s.prenotazione_id from invii_schedine s
      where s.invio_id between (select min(id) from arrivati) and (select max(id) from arrivati)
        and s.esito = 'acquisita'
    ), inviati as materialized (
      select r.prenotazione_id, i.data_arrivo, i.creato_il, count(*) as ospiti
      from arrivati i join righe r on r.invio_id = i.id group by r.prenotazione_id, i.data_arrivo, i.creato_il
    ), coperte as (
      select p.id from pagina p
      join inviati i on i.prenotazione_id = p.id and ${isOf(sql`p.check_in`)}
      group by p.id, p.numero_ospiti having sum(i.ospiti) >= p.numero_ospiti
    )`
}
