import { setTimeout as sleep } from 'node:timers/promises'
import type { Lives } from './lives.ts'
import type { Surroundings } from './surroundings.ts'

/** Time limit to empty all queues. */
const LIMIT_MS = 300_000
const LIFE_MS = 60_000

/** Unfinished work, counted by kind. */
type Waiting = Readonly<Record<string, number>>

/** Runs servers until all queues are empty, with all retries due immediately. */
export async function finishAll (lives: Lives, { police, connection: { sql } }: Surroundings): Promise<Waiting> {
  police.on = {}
  const limit = performance.now() + LIMIT_MS
  const left = async (): Promise<Waiting> => {
    const [row] = await sql<[Record<string, number>]>`
      select (select count(*) from invii where stato in ('pronto', 'preso', 'in_invio'))::int as submissions,
        (select count(*) from mails where stato = 'in_coda')::int as mails,
        (select count(*) from eventi_in_arrivo)::int as events,
        (select count(*) from webhook_consegne where stato = 'in_coda')::int as deliveries`
    return row
  }
  const isOver = (waiting: Waiting) => Object.values(waiting).every((count) => count === 0)
  for (;;) {
    await lives.end()
    // Only while no server runs, because otherwise an attempt in progress could be repeated.
    await sql`update invii set lease_fino_al = now() where stato in ('pronto', 'preso', 'in_invio')`
    await sql`update mails set next_attempt_at = now() where stato = 'in_coda'`
    await sql`update webhook_consegne set prossimo_tentativo = now() where stato = 'in_coda'`
    await sql`update webhooks set fermo_fino_al = now()`
    if (isOver(await left()) || performance.now() > limit) return await left()
    await lives.start()
    const until = performance.now() + LIFE_MS
    while (!isOver(await left()) && performance.now() < until) await sleep(200)
  }
}
