import type { Disturbances } from './disturbances.ts'
import type { Surroundings } from './surroundings.ts'

/* Checks that all mails and events of a soak run were delivered. */

/** The result of one check. It has passed when `faults` is empty. */
export interface Finding { name: string, detail: string, faults: string[] }

interface Seen extends Surroundings { disturbances: Disturbances }

/** Checks that every stored mail arrived. Duplicates are allowed once per killed process or ended connection. */
export async function judgeMails (
  { smtp, connection: { sql }, disturbances }: Seen, promised: readonly string[]
): Promise<Finding> {
  const arrived = new Map<string, number>()
  for (const { headers } of smtp.mails) {
    const id = String(headers['message-id'])
    arrived.set(id, (arrived.get(id) ?? 0) + 1)
  }
  const rows = await sql<{ message_id: string, stato: string }[]>`select message_id, stato from mails`
  const known = new Set(rows.map(({ message_id: id }) => id))
  const twice = [...arrived.values()].reduce((sum, count) => sum + count - 1, 0)
  // Mails are sent one at a time, so each crash can repeat at most one mail.
  const allowed = disturbances.all.filter(({ fault }) => fault === 'kill' || fault === 'database').length
  return {
    name: 'mails',
    detail: `${rows.length} written, ${arrived.size} arrived, ${twice} of them twice (allowed: ${allowed})`,
    faults: [
      ...rows.filter(({ stato }) => stato !== 'inviata').map(({ message_id: id, stato }) => `${id} is ${stato}`),
      ...rows.filter(({ message_id: id }) => !arrived.has(id)).map(({ message_id: id }) => `${id} did not arrive`),
      ...promised.filter((id) => !known.has(id)).map((id) => `${id} was promised, and is not known`),
      ...twice > allowed ? [`${twice} mails arrived twice`] : []
    ]
  }
}

/** Checks that the webhook received every event at least once, and the follower some in order, without gaps. */
export async function judgeEvents (
  { receiver, connection: { sql } }: Seen, from: number, heard: readonly string[]
): Promise<Finding> {
  const events = await sql<{ id: string }[]>`select id from eventi where posizione > ${from} order by posizione`
  const delivered = new Set(receiver.ids())
  const ids = events.map(({ id }) => id)
  // The follower may have connected after the first events.
  const order = ids.slice(Math.max(ids.indexOf(heard[0] ?? ''), 0))
  const firstWrong = heard.findIndex((id, at) => id !== order[at])
  return {
    name: 'events',
    detail: `${events.length} events, ${receiver.received.length} deliveries; the follower heard ${heard.length}`,
    faults: [
      ...events.filter(({ id }) => !delivered.has(id)).map(({ id }) => `event ${id} was not delivered`),
      ...firstWrong === -1 ? [] : [`the follower heard ${heard[firstWrong]} in place of ${order[firstWrong]}`],
      ...heard.length === 0 ? ['the follower heard nothing'] : []
    ]
  }
}
