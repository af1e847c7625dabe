import { sql } from 'drizzle-orm'
import { webhook_consegne as deliveries, webhooks } from '#drizzle/tables/events.ts'

/**
 * The end of a statement that has `ordered` events: one delivery for each active webhook that wants each of them. A
 * test is for the webhook that is tested, whatever it wants otherwise.
 */
export const fanOut = sql`
  insert into ${deliveries} (webhook_id, evento, oggetto)
  select w.id, o.posizione, o.oggetto from ordered o
    join ${webhooks} w on w.stato = 'attivo' and case
      when o.tipo = 'webhook.prova' then o.oggetto = 'webhook:' || w.id
      else w.tipi = '{}' or o.tipo = any(w.tipi)
    end
  order by o.posizione, w.id`
