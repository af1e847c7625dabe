import type { WaitReason } from '#schemas/receipts.ts'
import type { Database } from '#src/database/connect.ts'
import { addDays, daysBetween, instantInRome, type Clock, type Day } from '#src/lib/time.ts'
import { faultOf } from '../service/police-faults.ts'
import type { PoliceService } from '../service/police-service.ts'
import { FAILURES_IN_A_ROW, lastFetches, RECEIPT_WINDOW_DAYS, unprovenDays } from './receipt-days.ts'

/** The server asks for the receipt of a day from this minute after midnight (Rome) of the next day. */
const DUE_MINUTE = 15
/** The server waits this long before it repeats a fetch that failed or returned no receipt. */
const RETRY_MS = 10 * 60_000
/** The server waits this long before it retries refused credentials, because retries may lock the account. */
const REFUSED_RETRY_MS = 15 * 60_000
/** After this many days a receipt that the service lacks is requested only once a day. */
const YOUNG_DAYS = 2
const DAY_MS = 86_400_000
/** Maximum time that a caller waits for due receipts. Afterwards the fetch continues in the background. */
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
 * Fetches receipts of sent submissions, as soon as the service may have them. All callers share one run. Failures are
 * only in memory, so a restarted server asks the service once more.
 */
export function dueReceipts ({ db, service, mode, clock }: Options, fetch: (day: Day) => Promise<unknown>) {
  const failures = new Map<Day, Failure>()
  let currentRun: { due: Promise<Day[]>, done: Promise<void>, since: number } | undefined

  async function findDue (account: string): Promise<Day[]> {
    const [now, today] = [clock.now(), clock.today()]
    const from = addDays(today, -RECEIPT_WINDOW_DAYS)
    const [unproven, fetched] = await Promise.all([
      unprovenDays(db, mode, { from, to: addDays(today, -1) }), lastFetches(db, account, from)
    ])
    return unproven.filter((each) => each.account === account && !each.hasReceipt).map(({ day }) => day)
      .filter((day) => {
        const wait = daysBetween(day, today) > YOUNG_DAYS ? DAY_MS : RETRY_MS
        const next = Math.max(failures.get(day)?.until ?? 0, (fetched.get(day) ?? 0) + wait)
        return now >= instantInRome(addDays(day, 1), 0, DUE_MINUTE) && now.getTime() >= next
      })
  }

  function recordFailure (day: Day, err: unknown): void {
    const isRefused = faultOf(err) === 'credentials'
    const reason = isRefused ? 'credenziali_rifiutate' : 'servizio_non_raggiungibile'
    failures.set(day, { reason, until: clock.now().getTime() + (isRefused ? REFUSED_RETRY_MS : RETRY_MS) })
  }

  /** Runs a download, and records its failure or success. */
  async function recordingFailure<T> (day: Day, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      failures.delete(day)
      return result
    } catch (err) {
      recordFailure(day, err)
      throw err
    }
  }

  /**
   * Fetches these days. Stops after refused credentials, or after several failures in a row.
   * @throws the first failure, at the end
   */
  async function run (due: Promise<Day[]>): Promise<void> {
    const days = await due
    const errors: unknown[] = []
    let failuresInARow = 0
    for (const [at, day] of days.entries()) {
      try {
        await fetch(day)
        failuresInARow = 0
      } catch (err) {
        // Also records failures to store a receipt, because `recordingFailure` sees only those of the download.
        recordFailure(day, err)
        errors.push(err)
        failuresInARow++
        if (faultOf(err) !== 'credentials' && failuresInARow < FAILURES_IN_A_ROW) continue
        // The remaining days would fail for the same reason.
        for (const rest of days.slice(at + 1)) recordFailure(rest, err)
        break
      }
    }
    for (const day of failures.keys()) if (day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) failures.delete(day)
    if (errors.length > 0) throw errors[0]
  }

  /** Fetches the due receipts, or joins a run in progress. */
  async function fetchDue (): Promise<void> {
    if (service === null) return
    if (currentRun === undefined) {
      const due = findDue(service.account)
      const done = run(due).finally(() => {
        currentRun = undefined
      })
      currentRun = { due, done, since: performance.now() }
    }
    await currentRun.done
  }

  return {
    recordingFailure,
    fetchDue,
    /**
     * Fetches the due receipts, but waits 3 seconds at most, counted from the start of the run.
     * @returns the days of the run if it is still in progress, else none
     */
    async fetchDueWithTimeout (): Promise<readonly Day[]> {
      const done = fetchDue().then(() => [])
      const { due, since = 0 } = currentRun ?? {}
      const { promise, resolve } = Promise.withResolvers<readonly Day[] | undefined>()
      const timer = setTimeout(() => resolve(due), Math.max(0, since + WAIT_MS - performance.now()))
      return await Promise.race([done, promise]).finally(() => clearTimeout(timer)) ?? []
    },
    /**
     * Returns why the receipt of a day is not stored.
     * @param requested days whose fetch was still in progress when the caller stopped waiting
     */
    reasonFor (account: string, day: Day, requested: readonly Day[]): WaitReason {
      if (service === null || account !== service.account) return 'credenziali_mancanti'
      if (day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) return 'ricevuta_scaduta'
      return failures.get(day)?.reason ?? (requested.includes(day) ? 'ricevuta_chiesta' : 'non_ancora_emessa')
    },
    /** Allows new fetches after refused credentials, because the service has accepted the credentials since. */
    retryRefused (): void {
      for (const [day, { reason }] of failures) if (reason === 'credenziali_rifiutate') failures.delete(day)
    },
    /** Resolves when no run is in progress. */
    async settled (): Promise<void> {
      await currentRun?.done.catch(() => {})
    }
  }
}
