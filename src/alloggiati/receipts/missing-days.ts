import { sql } from 'drizzle-orm'
import type { Executor } from '#src/plugins/database/connect.ts'
import type { Day } from '#src/lib/time.ts'

/**
 * Days before today since `first` on which guests are known to have been acquired, and whose receipt is not in the
 * store.
 */
export async function daysWithoutReceipt (db: Executor, account: string, first: Day, today: Day): Promise<Day[]> {
  const rows = await db.execute<{ giorno: Day }>(sql`
    select distinct t.giorno_da::text as giorno
    from invii_tentativi t
    join invii i on i.id = t.invio_id and i.utente = ${account}
    join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
    where t.giorno_da >= ${first}::date and t.giorno_da < ${today}::date
      and not exists (select from ricevute r where r.utente = i.utente and r.giorno = t.giorno_da)
    order by giorno`)
  return rows.map(({ giorno }) => giorno)
}
