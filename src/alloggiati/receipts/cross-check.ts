import { inArray, sql } from 'drizzle-orm'
import type { CrossCheckAnswer, CrossCheckQuery } from '#schemas/alloggiati.ts'
import { ACQUIRED_STATES } from '#schemas/submission.ts'
import { staysByArrival } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { filingDeadline } from '../deadlines.ts'

interface BookingRow extends Record<string, unknown> {
  prenotazione_id: number
  nome_cognome: string
  check_in: Day
  numero_notti: number
  /** `covered` by a receipt · `waiting` for the receipt of a coming day · `missing` */
  coverage: 'covered' | 'waiting' | 'missing'
}

interface DayRow extends Record<string, unknown> { giorno: Day, inviate: number, in_ricevuta: number }

/**
 * Compares bookings that have arrived with receipts. A booking is covered when one of its submissions was acquired on a
 * day whose receipt is kept. A booking sent today waits for its receipt: it is in `in_attesa`, and still in `mancanti`,
 * because the police has given no receipt yet. `discordanze` are the days whose receipt does not count what the ledger
 * knows to be acquired.
 */
export async function crossCheck (
  db: Executor,
  account: string,
  today: Day,
  { da, a }: CrossCheckQuery
): Promise<CrossCheckAnswer> {
  const until = a !== undefined && a < today ? a : today
  const bookings = await checkBookings(db, account, today, { from: da, to: until })
  const present = ({ prenotazione_id, nome_cognome, check_in, numero_notti }: BookingRow) => ({
    prenotazione_id,
    nome_cognome,
    check_in,
    scadenza: filingDeadline(check_in, numero_notti).toISOString()
  })
  return {
    totale_prenotazioni: bookings.length,
    totale_ricevute: bookings.filter(({ coverage }) => coverage === 'covered').length,
    mancanti: bookings.filter(({ coverage }) => coverage !== 'covered').map(present),
    in_attesa: bookings.filter(({ coverage }) => coverage === 'waiting').map(present),
    discordanze: await differingDays(db, account)
  }
}

async function checkBookings (
  db: Executor,
  account: string,
  today: Day,
  arrivals: { from: Day | undefined, to: Day }
): Promise<BookingRow[]> {
  const stays = staysByArrival(db, arrivals).as('p')
  return db.execute<BookingRow>(sql`
    select p.id as prenotazione_id, p.nome_cognome, p.check_in, p.numero_notti,
      case when coalesce(bool_or(r.giorno is not null), false) then 'covered'
           when coalesce(bool_or(t.giorno_da >= ${today}::date), false) then 'waiting' else 'missing' end as coverage
    from ${stays}
    left join invii i
      on i.prenotazione_id = p.id and i.utente = ${account} and ${inArray(sql`i.stato`, ACQUIRED_STATES)}
    left join invii_esiti e on e.invio_id = i.id and e.esito = 'K'
    left join invii_tentativi t on t.invio_id = e.invio_id and t.numero = e.numero
    left join ricevute r on r.utente = i.utente and r.giorno = t.giorno_da
    group by p.id, p.nome_cognome, p.check_in, p.numero_notti
    order by p.check_in, p.id`)
}

async function differingDays (db: Executor, account: string): Promise<CrossCheckAnswer['discordanze']> {
  const days = await db.execute<DayRow>(sql`
    select * from (
      select r.giorno, r.schedine as in_ricevuta, (
        select coalesce(sum(e.schedine), 0)::int
        from invii_esiti e join invii_tentativi t using (invio_id, numero) join invii i on i.id = e.invio_id
        where i.utente = r.utente and e.esito = 'K' and t.giorno_da = r.giorno
      ) as inviate
      from ricevute r where r.utente = ${account} and r.schedine is not null
    ) as per_day
    where inviate <> in_ricevuta order by giorno`)
  return [...days]
}
