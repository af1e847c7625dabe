import { sql } from 'drizzle-orm'
import { within } from '#src/lib/within.ts'
import { renewLease, type Claim } from './claim.ts'
import type { LedgerContext } from '../context.ts'
import type { Turn } from './lane.ts'

/** How often a submission that waits says that its worker lives: much more often than a lease ends. */
const RENEW_MS = 30_000
/** Between two looks at the flight of another process. */
const LOOK_MS = 75

interface Seen extends Record<string, unknown> { flying: boolean, earlier: boolean }

/**
 * Waits until no other submission of the account is in flight: of this process, in the order in which they came; then
 * of another process. Waiting writes nothing but, rarely, the lease. That the flight is free is certain only at the
 * dispatch, which the database refuses to a second one.
 * @returns false when the submission is another worker's by now
 * @throws LaneClosed
 */
export async function takeFlight (context: LedgerContext, turn: Turn, claim: Claim): Promise<boolean> {
  const { db } = context
  let isOurs = false
  const flight = turn.flight().then(() => { isOurs = true })
  for (;;) {
    await within(RENEW_MS, flight)
    if (isOurs) break
    if (!await renewLease(db, claim)) return false
  }
  return otherFlightsOver(context, claim)
}

/** Waits for the flights of other processes, which get a chance when they have an earlier submission. */
export async function otherFlightsOver (
  { db, service, lane, name }: LedgerContext,
  claim: Claim
): Promise<boolean> {
  let renewedAt = performance.now()
  let gaveWay = false
  for (;;) {
    const [seen] = await db.execute<Seen>(sql`
      select
        exists (select from invii where utente = ${service.account} and stato = 'in_invio') as flying,
        exists (
          select from invii where utente = ${service.account} and stato = 'preso' and id < ${claim.id}
            and lease_fino_al > now() and not starts_with(proprietario, ${`${name}/`})
        ) as earlier`)
    const { flying, earlier } = seen!
    if (!flying && (gaveWay || !earlier)) return true
    if (!flying) gaveWay = true
    await lane.pause(LOOK_MS)
    if (performance.now() - renewedAt < RENEW_MS) continue
    renewedAt = performance.now()
    if (!await renewLease(db, claim)) return false
  }
}
