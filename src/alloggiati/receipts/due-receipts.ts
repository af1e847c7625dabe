import type { WaitReason } from '#schemas/receipts.ts'
import type { Database } from '#src/database/connect.ts'
import { addDays, daysBetween, instantInRome, type Clock, type Day } from '#src/lib/time.ts'
import { faultOf } from '../service/police-faults.ts'
import type { PoliceService } from '../service/police-service.ts'
import { FAILURES_IN_A_ROW, lastFetches, RECEIPT_WINDOW_DAYS, unprovenDays } from './receipt-days.ts'

/** Minutes after midnight (Rome) from which the receipt of the day before is asked for. */
const DUE_MINUTE = 15
/** A failed fetch, or one without a receipt, is not repeated for this long. */
const AGAIN_MS = 10 * 60_000
/** Refused credentials are not tried again for this long, because that may lock the account. */
const REFUSED_MS = 15 * 60_000
/** After this many days a receipt that the service lacks is asked for once a day. */
const YOUNG_DAYS = 2
const DAY_MS = 86_400_000
/** Maximum wait of a caller for due receipts. The fetch continues. */
const WAIT_MS = 3000

interface Options {
  db: Database
  service: PoliceService | null
  mode: PoliceService['mode']
  clock: Clock
}

interface Failure { reason: Extract<WaitReason, 'credenziali_rifiutate' | 'servizio_non_raggiungibile'>, until: number }

export type DueReceipts = ReturnType<typeof dueReceipts>

/**
 * Fetches receipts that prove a submission, as soon as the service may have them. All callers share one run. Failures
 * are kept in memory: after a restart the service is asked once more.
 */
export function dueReceipts ({ db, service, mode, clock }: Options, fetch: (day: Day) => Promise<unknown>) {
  const failures = new Map<Day, Failure>()
  const asked = new Set<Day>()
  let flight: { done: Promise<void>, since: number } | undefined

  async function findDue (account: string): Promise<Day[]> {
    const [now, today] = [clock.now(), clock.today()]
    const from = addDays(today, -RECEIPT_WINDOW_DAYS)
    const [unproven, fetched] = await Promise.all([
      unprovenDays(db, mode, { from, to: addDays(today, -1) }), lastFetches(db, account, from)
    ])
    return unproven.filter((each) => each.account === account && !each.hasReceipt).map(({ day }) => day)
      .filter((day) => {
        const wait = daysBetween(day, today) > YOUNG_DAYS ? DAY_MS : AGAIN_MS
        const next = Math.max(failures.get(day)?.until ?? 0, (fetched.get(day) ?? 0) + wait)
        return now >= instantInRome(addDays(day, 1), 0, DUE_MINUTE) && now.getTime() >= next
      })
  }

  function note (day: Day, err: unknown): void {
    const isRefused = faultOf(err) === 'credentials'
    const reason = isRefused ? 'credenziali_rifiutate' : 'servizio_non_raggiungibile'
    failures.set(day, { reason, until: clock.now().getTime() + (isRefused ? REFUSED_MS : AGAIN_MS) })
  }

  /** Makes a fetch, and remembers its failure. */
  async function noting<T> (day: Day, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      failures.delete(day)
      return result
    } catch (err) {
      note(day, err)
      throw err
    }
  }

  /** @throws the first failure, at the end; a refused login at once */
  async function run (account: string): Promise<void> {
    const days = await findDue(account)
    for (const day of days) asked.add(day)
    const found: unknown[] = []
    let inARow = 0
    for (const [at, day] of days.entries()) {
      try {
        await fetch(day)
        inARow = 0
      } catch (err) {
        // Also a failure after the call, which `noting` has not seen.
        note(day, err)
        found.push(err)
        inARow++
        if (faultOf(err) !== 'credentials' && inARow < FAILURES_IN_A_ROW) continue
        // The other days would fail alike.
        for (const rest of days.slice(at + 1)) note(rest, err)
        break
      }
    }
    for (const day of failures.keys()) if (day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) failures.delete(day)
    if (found.length > 0) throw found[0]
  }

  /** Fetches the due receipts, or joins a run in progress. */
  async function fetchDue (): Promise<void> {
    if (service === null) return
    if (flight === undefined) {
      const done = run(service.account).finally(() => {
        asked.clear()
        flight = undefined
      })
      flight = { done, since: performance.now() }
    }
    await flight.done
  }

  return {
    noting,
    fetchDue,
    /** Fetches the due receipts, but waits 3 seconds at most, counted from the start of the run. */
    async askForDue (): Promise<void> {
      const done = fetchDue()
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, Math.max(0, (flight?.since ?? 0) + WAIT_MS - performance.now()))
      await Promise.race([done, promise]).finally(() => clearTimeout(timer))
    },
    /** Why the receipt of a day is not stored. */
    reasonFor (account: string, day: Day): WaitReason {
      if (service === null || account !== service.account) return 'credenziali_mancanti'
      if (day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) return 'ricevuta_scaduta'
      return failures.get(day)?.reason ?? (asked.has(day) ? 'ricevuta_chiesta' : 'non_ancora_emessa')
    },
    /** Lets refused days be asked for again, because the service has accepted the credentials since. */
    retryRefused (): void {
      for (const [day, { reason }] of failures) if (reason === 'credenziali_rifiutate') failures.delete(day)
    },
    /** Resolves when no run is in progress. */
    async settled (): Promise<void> {
      await flight?.done.catch(() => {})
    }
  }
}
