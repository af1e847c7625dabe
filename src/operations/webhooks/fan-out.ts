import { sql } from 'drizzle-orm'
import { webhook_consegne as deliveries, webhooks } from '#drizzle/tables/operations.ts'

/** The end of a statement that has `ordered` events: one delivery for each active webhook that wants each of them. */
export const fanOut = sql`
  insert into ${deliveries} (webhook_id, evento, oggetto)
  select w.id, o.posizione, o.oggetto from ordered o
    join ${webhooks} w on w.stato = 'attivo' and (w.tipi = '{}' or o.tipo = any(w.tipi))
  order by o.posizione, w.id`
