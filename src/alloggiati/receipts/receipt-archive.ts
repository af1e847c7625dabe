import { createHash } from 'node:crypto'
import { and, desc, eq, gte, isNotNull, isNull, notInArray, or, sql } from 'drizzle-orm'
import { ricevute as receipts, ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import { addDays, instantInRome, italianDay, type Clock, type Day } from '#src/lib/time.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { CredenzialiMancanti, RicevutaNonTrovata } from '../errors.ts'
import { scopeOf } from '../ledger/read-ledger.ts'
import { downloadReceipt } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { faultOf, orFault } from '../service/police-faults.ts'
import { AlloggiatiCredentialsError } from '../service/soap/errors.ts'
import { dueReceipts, type DueReceipts } from './due-receipts.ts'
import { FAILURES_IN_A_ROW, isEarlyCopy, RECEIPT_WINDOW_DAYS } from './receipt-days.ts'

/** Hour (Rome) of the next day for `completeFrom`. */
const COMPLETE_HOUR = 6
const NEVER = new AbortController().signal

/** From this instant on, a fetched receipt of the day is assumed to be complete. */
export function completeFrom (day: Day): Date {
  return instantInRome(addDays(day, 1), COMPLETE_HOUR)
}

export type ReceiptArchive = ReturnType<typeof receiptArchive>

interface Archive {
  db: Database
  /** Null without credentials. Stored receipts are still available. */
  service: PoliceService | null
  mode: PoliceService['mode']
  clock: Clock
  /** Aborts fetches when shutdown begins. */
  closing?: AbortSignal
  /** The accounts in use. Receipts of other accounts belong to earlier ones. */
  inUse?: () => Promise<readonly string[]>
}

/** The archive, and the due receipts, which remember the failed downloads of this process. */
interface Watched extends Archive { due: DueReceipts }

/**
 * Stores the daily receipts. A copy is replaced only if it is early, because outcomes derived from it must not change.
 * Every fetch that the service answers is recorded, even without a receipt.
 */
export function receiptArchive (options: Archive) {
  const due = dueReceipts(options, (day) => fetchReceipt(archive, day))
  const archive: Watched = { ...options, due }
  return {
    /** The account whose receipts are fetched. Null without credentials. */
    account: options.service?.account ?? null,
    getReceipt: (day: Day, more?: { earlier: boolean }) => getReceipt(archive, day, more),
    fetchReceipt: (day: Day) => fetchReceipt(archive, day),
    fetchMissing: () => fetchMissing(archive),
    readAgain: () => readAgain(archive),
    fetchDue: due.fetchDue,
    fetchDueWithTimeout: due.fetchDueWithTimeout,
    reasonFor: due.reasonFor,
    retryRefused: due.retryRefused,
    settled: due.settled
  }
}

/**
 * Fetches the receipt of a day, even if a copy is stored. The result has no `pdf` if the service has no receipt, which
 * does not mean that nothing was sent. `differs`: the totals differ from those of a stored copy that is not early.
 * @throws CredenzialiMancanti, SoapTransportError, AlloggiatiCredentialsError
 */
async function fetchReceipt ({ db, service, clock, closing = NEVER, due }: Watched, day: Day) {
  if (service === null) throw new CredenzialiMancanti()
  const pdf = await due.recordingFailure(day, () => downloadReceipt(service, day, closing))
  const at = clock.now().toISOString()
  const of = { utente: service.account, giorno: day }
  if (pdf === undefined) {
    await db.insert(fetches).values({ ...of, letta_il: at })
    return { pdf, differs: false }
  }
  const copy = { sha256: createHash('sha256').update(pdf).digest('hex'), ...await readTotals(pdf) }
  return db.transaction(async (tx) => {
    const [before] = await tx.select({ schedine: receipts.schedine, notti: receipts.notti }).from(receipts)
      .where(and(eq(receipts.utente, of.utente), eq(receipts.giorno, day), sql`not ${isEarly}`))
    await tx.insert(receipts).values({ ...of, pdf, ...copy, scaricata_il: at }).onConflictDoUpdate({
      target: [receipts.utente, receipts.giorno], set: { pdf, ...copy, scaricata_il: at }, setWhere: isEarly
    })
    await tx.insert(fetches).values({ ...of, letta_il: at, ...copy })
    // Compares totals only, because the service may generate and sign the PDF anew each time.
    const differs = before !== undefined && (before.schedine !== copy.schedine || before.notti !== copy.notti)
    return { pdf, differs }
  })
}

/** Advice to the user when there is no receipt yet. */
const NOT_YET = 'la Polizia la dà dal giorno dopo, di norma dalle 00:15'
const NO_LONGER =
  `la Polizia la conserva ${RECEIPT_WINDOW_DAYS} giorni, e qui non è stata scaricata: chiederla alla Questura`
const NONE_SENT =
  'per la Polizia non è arrivata nessuna schedina. Confrontare con GET /api/alloggiati/verifica-ricevute'

/**
 * Returns the stored receipt of a day, or fetches it. If the stored copy is early, it fetches the receipt again, and
 * returns the copy if the service fails or has no receipt.
 * @param more.earlier includes receipts of accounts that are not in use any more
 * @throws RicevutaNonTrovata for today, for the future, and if neither the archive nor the service has a receipt,
 * PoliceFault, CredenzialiMancanti
 */
async function getReceipt (archive: Watched, day: Day, { earlier } = { earlier: true }): Promise<Buffer> {
  const { service, clock } = archive
  const kept = await readKept(archive, day, earlier)
  if (kept && !kept.isEarly) return kept.pdf
  if (day >= clock.today() || day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) {
    if (kept) return kept.pdf
    throw new RicevutaNonTrovata(italianDay(day), day >= clock.today() ? NOT_YET : NO_LONGER)
  }
  try {
    const { pdf = kept?.pdf } = await fetchReceipt(archive, day)
    if (pdf === undefined) throw new RicevutaNonTrovata(italianDay(day), NONE_SENT)
    return pdf
  } catch (err) {
    if (kept && (faultOf(err) !== undefined || service === null)) return kept.pdf
    return await orFault(() => Promise.reject(err))
  }
}

/** The stored copy of this account. If `earlier`, else of an earlier account in the same mode. */
async function readKept (
  { db, service, mode, inUse = async () => [] }: Archive, day: Day, earlier: boolean
): Promise<{ pdf: Buffer, isEarly: boolean } | undefined> {
  const own = eq(receipts.utente, service?.account ?? '')
  const [kept] = await db.select({ pdf: receipts.pdf, isEarly }).from(receipts)
    .where(and(
      scopeOf(mode, receipts.utente), eq(receipts.giorno, day),
      earlier ? or(own, notInArray(receipts.utente, [...await inUse()])) : own
    ))
    .orderBy(desc(own), receipts.utente).limit(1)
  return kept
}

/**
 * Fetches receipts of the last 30 days that no fetch since `completeFrom` has returned. Stops after a refused login, or
 * after several failures in a row. Does nothing without credentials.
 * @throws the first failure, at the end
 */
async function fetchMissing (archive: Watched): Promise<void> {
  const { db, service, clock } = archive
  if (service === null) return
  const first = addDays(clock.today(), -RECEIPT_WINDOW_DAYS)
  const fetched = await lastCopyFetches(db, service.account, first)
  const missing = Array.from({ length: RECEIPT_WINDOW_DAYS }, (_, at) => addDays(first, at))
    .filter((day) => !((fetched.get(day) ?? 0) >= completeFrom(day).getTime()))
  const failures: unknown[] = []
  let inARow = 0
  for (const day of missing) {
    try {
      await fetchReceipt(archive, day)
      inARow = 0
    } catch (err) {
      failures.push(err)
      inARow++
      if (err instanceof AlloggiatiCredentialsError || inARow === FAILURES_IN_A_ROW) break
    }
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Parses stored receipts without totals again, because a newer version of this server may understand them. The added
 * fetch has the fetch time of the copy.
 */
async function readAgain ({ db, mode }: Archive): Promise<void> {
  const unread = await db.select({ utente: receipts.utente, giorno: receipts.giorno, pdf: receipts.pdf })
    .from(receipts).where(and(scopeOf(mode, receipts.utente), isUnread))
  for (const { utente, giorno, pdf } of unread) {
    const totals = await readTotals(pdf)
    if (totals.schedine === null || totals.notti === null) continue
    await db.transaction(async (tx) => {
      const [copy] = await tx.update(receipts).set(totals)
        .where(and(eq(receipts.utente, utente), eq(receipts.giorno, giorno), isUnread))
        .returning({ sha256: receipts.sha256, letta_il: receipts.scaricata_il })
      if (copy) await tx.insert(fetches).values({ utente, giorno, ...copy, ...totals })
    })
  }
}

/** A trigger refuses the replacement of other copies. */
const isEarly = isEarlyCopy(sql`ricevute`)

const isUnread = or(isNull(receipts.schedine), isNull(receipts.notti))

/** The time in milliseconds of the last fetch that returned a receipt, for each day. */
async function lastCopyFetches (db: Executor, account: string, from: Day): Promise<Map<Day, number>> {
  const found = await db.select({ day: fetches.giorno, at: sql<string>`max(${fetches.letta_il})` }).from(fetches)
    .where(and(eq(fetches.utente, account), gte(fetches.giorno, from), isNotNull(fetches.sha256)))
    .groupBy(fetches.giorno)
  return new Map(found.map(({ day, at }) => [day, Date.parse(at)]))
}

/** The totals of a receipt: schedine and sum of nights. Null where unreadable. */
interface ReceiptTotals { schedine: number | null, notti: number | null }

/* Patterns of the two lines of a receipt. It contains only counts, and no names. */
const SCHEDINE = /SCHEDINE INVIATE ?:? ?(\d+)/i
const NIGHTS = /GG\.? PERMANENZA PRESUNTA TOT\.? ?:? ?(\d+)/i
/** The largest value of an `integer` column. */
const MAX_TOTAL = 2_147_483_647

/** Parses the totals from a receipt's PDF. An unreadable PDF gives nulls. The archive stores it anyway. */
export async function readTotals (pdf: Buffer): Promise<ReceiptTotals> {
  try {
    // The patterns run in linear time because all blanks are single.
    const text = (await extractText(pdf)).replace(/\s+/g, ' ')
    return { schedine: findNumber(SCHEDINE, text), notti: findNumber(NIGHTS, text) }
  } catch {
    return { schedine: null, notti: null }
  }
}

/** The PDF reader is large, so it is loaded on first use. */
async function extractText (pdf: Buffer): Promise<string> {
  const { getDocument, VerbosityLevel } = await import('unpdf/pdfjs')
  const task = getDocument({
    data: new Uint8Array(pdf),
    verbosity: VerbosityLevel.ERRORS,
    isEvalSupported: false,
    useSystemFonts: false
  })
  try {
    const document = await task.promise
    const pages = Array.from({ length: document.numPages }, async (_, at) => {
      const { items } = await (await document.getPage(at + 1)).getTextContent()
      return items.filter((item) => 'str' in item).map(({ str }) => str).join(' ')
    })
    return (await Promise.all(pages)).join('\n')
  } finally {
    await task.destroy()
  }
}

function findNumber (pattern: RegExp, text: string): number | null {
  const total = Number(pattern.exec(text)?.[1] ?? NaN)
  return total <= MAX_TOTAL ? total : null
}
