import { and, eq, sql } from 'drizzle-orm'
import { invii, invii_esiti as observations } from '#drizzle/tables/ledger.ts'
import type { State } from '#schemas/submission.ts'
import type { Transaction } from '#src/database/connect.ts'
import { type DayOfAccount, RECEIPT_WINDOW_DAYS, unprovenDays } from '../../receipts/receipt-days.ts'
import type { WatchContext } from '../ledger-context.ts'
import { lockChain, move, moveRows } from '../moves.ts'
import type { AccountDay, Finding } from './account-day.ts'
import { deriveFindings } from './findings.ts'
import { withoutMidnight } from './midnight.ts'
import { readDays, readFetchesOf } from './read-day.ts'
import { addDays } from '#src/lib/time.ts'
import { isServiceFailure } from '../../service/soap/errors.ts'
import type { ReceiptArchive } from '../../receipts/receipt-archive.ts'
import { isFetchDue } from './fetches.ts'

/** Without new findings, an alarm about a day needs a fetch within this time. The job runs every hour. */
const NEWS_MS = 3_600_000

/**
 * Compares a day's receipt with the attempts of the day, and applies the conclusions in one transaction. Idempotent:
 * any process may call it at any time.
 */
export async function reconcileDay (
  { db, clock, alarm, name }: Pick<WatchContext, 'db' | 'clock' | 'alarm' | 'name'>, dayOfAccount: DayOfAccount
): Promise<void> {
  const { account, day } = dayOfAccount
  const { accountDay, result } = await db.transaction(async (tx) => {
    await lockChain(tx)
    const days = await readDays(tx, dayOfAccount, clock.now())
    const accountDay = withoutMidnight(days.find((each) => each.day === day)!, days)
    const result = deriveFindings(accountDay)
    for (const finding of result.findings) await applyFinding(tx, accountDay, finding, name)
    return { accountDay, result }
  })
  const applied = result.findings.filter(({ proofs, path }) => proofs.length + path.length > 0)
  const found = Map.groupBy(applied, ({ alarm }) => alarm)
  for (const [kind, findings] of found) {
    if (kind !== undefined) await alarm(kind, ...findings.map(({ invio_id }) => ({ giorno: day, invio: invio_id })))
  }
  const { fetches, now } = accountDay
  const hasNews = fetches.some(({ fetchedAt }) => now.getTime() - fetchedAt.getTime() < NEWS_MS)
  if (result.alarm !== undefined && (applied.length > 0 || hasNews)) {
    await alarm(result.alarm, { giorno: day, utente: account, regola: result.rule })
  }
}

async function applyFinding (
  tx: Transaction, { submissions }: AccountDay, { invio_id, proofs, path, note }: Finding, processName: string
): Promise<void> {
  for (const { numero, esito, schedine, notti } of proofs) {
    const counts = esito === 'K' ? { schedine, notti } : {}
    await tx.insert(observations).values({ invio_id, numero, esito, fonte: 'ricevuta', ...counts })
  }
  let state = submissions.find(({ id }) => id === invio_id)!.stato
  for (const next of path) {
    // An expired lease lets the sweep send the submission.
    const set = next === 'pronto' ? { proprietario: null, lease_fino_al: sql`now()` } : {}
    if (!(await move(tx, invio_id, { da: state, a: next, chi: processName, perche: note, set }))) {
      throw new Error(`Submission ${invio_id} is not ${state} although it is locked`)
    }
    await moveRowsWith(tx, invio_id, next)
    state = next
  }
  if (path.length === 0 && state === 'da_verificare') {
    await tx
      .update(invii)
      .set({ nota: note })
      .where(and(eq(invii.id, invio_id), sql`${invii.nota} is distinct from ${note}`))
  }
}

/** Moves the rows for a resend or an acquisition. Other rows stay live, so no other submission can send the guest. */
async function moveRowsWith (tx: Transaction, id: number, state: State): Promise<void> {
  if (state === 'pronto') await moveRows(tx, id, 'in_corso', 'sconosciuta')
  if (state === 'acquisito' || state === 'parziale') {
    await moveRows(tx, id, 'acquisita', 'sconosciuta')
    await moveRows(tx, id, 'acquisita', 'in_corso')
  }
}

/**
 * Fetches due receipts and reconciles every unproven day of the last 30, for all accounts of the mode.
 * @param archives the archives of the accounts in use. Receipts of other accounts cannot be fetched
 */
export async function reconcileDays (context: WatchContext, ...archives: readonly ReceiptArchive[]): Promise<void> {
  const { db, clock, log, mode } = context
  const today = clock.today()
  const reachable = new Set(archives)
  const last30 = { from: addDays(today, -RECEIPT_WINDOW_DAYS), to: addDays(today, -1) }
  const days = await unprovenDays(db, mode, last30)
  // Fetch all receipts first, because a call around midnight needs the receipts of two days.
  for (const unproven of days) {
    const { account, day } = unproven
    const archive = [...reachable].find((each) => each.account === account)
    if (archive && isFetchDue(unproven, await readFetchesOf(db, account, day), clock)) {
      if (!await fetchReceipt(context, archive, unproven)) reachable.delete(archive)
    }
  }
  for (const unproven of days) {
    try {
      await reconcileDay(context, unproven)
    } catch (err) {
      log.error({ err, giorno: unproven.day }, 'a day could not be reconciled')
    }
  }
}

/** @returns false when the service fails, so that this run asks it for no further day */
async function fetchReceipt (
  { log, alarm }: WatchContext, archive: ReceiptArchive, { account, day }: DayOfAccount
): Promise<boolean> {
  try {
    if ((await archive.fetchReceipt(day)).differs) await alarm('changed', { giorno: day, utente: account })
    return true
  } catch (err) {
    if (isServiceFailure(err)) {
      log.warn({ err, giorno: day }, 'the receipt could not be requested')
      return false
    }
    log.error({ err, giorno: day }, 'the receipt could not be stored')
    return true
  }
}
