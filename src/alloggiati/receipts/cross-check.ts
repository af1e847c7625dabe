import { sql } from 'drizzle-orm'
import type { CrossCheckAnswer, CrossCheckQuery } from '#schemas/alloggiati.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { filingDeadline } from '../deadlines.ts'
import type { Day } from '#src/lib/time.ts'

interface Row extends Record<string, unknown> {
  prenotazione_id: number
  nome_cognome: string
  check_in: Day
  numero_notti: number
  stato: 'ricevuta' | 'in_attesa' | 'mancante'
}
interface DayRow extends Record<string, unknown> { giorno: Day, inviate: number, in_ricevuta: number }

/**
 * Bookings that have arrived against receipts. A booking is covered when a submission of it was acquired on a day whose
 * receipt is kept; sent today it is waiting (`in_attesa`, and still among `mancanti`: the police has given no receipt).
 * `discordanze` are days on which the receipt counts other than the submissions known to be acquired.
 */
export async function crossCheck (
  db: Executor,
  account: string,
  today: Day,
  { da, a }: CrossCheckQuery
): Promise<CrossCheckAnswer> {
  const until = a !== undefined && a < today ? a : today
  const stays = staysByArrival(db, { from: da, to: until }).as('p')
  const bookings = await db.execute<Row>(sql`
    select p.id as prenotazione_id, p.nome_cognome, p.check_in, p.numero_notti,
      case when coalesce(bool_or(r.giorno is not null), false) then 'ricevuta'
           when coalesce(bool_or(t.giorno_da >= ${today}::date), false) then 'in_attesa' else 'mancante' end as stato
    from ${stays}
    left join invii i on i.prenotazione_id = p.id and i.utente = ${account} and i.stato in ('acquisito', 'ricevuto')
    left join invii_esiti e on e.invio_id = i.id and e.esito = 'K'
    left join invii_tentativi t on t.invio_id = e.invio_id and t.numero = e.numero
    left join ricevute r on r.utente = i.utente and r.giorno = t.giorno_da
    group by p.id, p.nome_cognome, p.check_in, p.numero_notti
    order by p.check_in, p.id`)
  const days = await db.execute<DayRow>(sql`
    select * from (
      select r.giorno, r.schedine as in_ricevuta, (
        select coalesce(sum(e.schedine), 0)::int from invii_esiti e join invii_tentativi t using (invio_id, numero) join invii i on i.id = e.invio_id
        where i.utente = r.utente and e.esito = 'K' and t.giorno_da = r.giorno
      ) as inviate
      from ricevute r where r.utente = ${account} and r.schedine is not null
    ) as per_day
    where inviate <> in_ricevuta order by giorno`)
  const shown = ({ prenotazione_id, nome_cognome, check_in, numero_notti }: Row) => ({
    prenotazione_id,
    nome_cognome,
    check_in,
    scadenza: filingDeadline(check_in, numero_notti).toISOString()
  })
  return {
    totale_prenotazioni: bookings.length,
    totale_ricevute: bookings.filter(({ stato }) => stato === 'ricevuta').length,
    mancanti: bookings.filter(({ stato }) => stato !== 'ricevuta').map(shown),
    in_attesa: bookings.filter(({ stato }) => stato === 'in_attesa').map(shown),
    discordanze: [...days]
  }
}
