import { createHash } from 'node:crypto'
import { and, desc, eq, gte, isNotNull, isNull, or, sql } from 'drizzle-orm'
import { ricevute as receipts, ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import { addDays, instantInRome, type Clock, type Day } from '#src/lib/time.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { CredenzialiMancanti, RicevutaNonTrovata, ServizioNonRaggiungibile } from '../errors.ts'
import { scopeOf } from '../ledger/read-ledger.ts'
import { downloadReceipt } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { AlloggiatiCredentialsError, isServiceFailure } from '../service/soap/errors.ts'

/** The service gives receipts of the last 30 days, today excluded (manual, p. 17). */
export const RECEIPT_WINDOW_DAYS = 30
/** From this hour of the next day, Rome, the receipt of a day is taken to be complete. */
const COMPLETE_HOUR = 6
/** A copy from before this hour of the next day, Rome, may lack guests: a trigger allows to replace it. */
const EARLY_HOUR = 2
/** After so many failures in a row the service is taken to be down: a call may take a minute to fail. */
const FAILURES_IN_A_ROW = 3

/** From when on a look at the receipt of a day counts. */
export function completeFrom (day: Day): Date {
  return instantInRome(addDays(day, 1), COMPLETE_HOUR)
}

export type ReceiptArchive = ReturnType<typeof receiptArchive>

interface Archive {
  db: Database
  /** Null without credentials: what is kept is served all the same. */
  service: PoliceService | null
  mode: PoliceService['mode']
  clock: Clock
}

/**
 * The daily receipts. The first copy that is no early one is kept for good, because what it proved must not change
 * later. Every fetch is written down.
 */
export function receiptArchive (archive: Archive) {
  return {
    getReceipt: (day: Day) => getReceipt(archive, day),
    fetchReceipt: (day: Day) => fetchReceipt(archive, day),
    fetchMissing: () => fetchMissing(archive),
    readAgain: () => readAgain(archive)
  }
}

/**
 * Asks the service for the receipt of a day, whether a copy is kept or not. Without a `pdf` the service has none, which
 * does not prove that nothing was sent; `differs`: its totals are not those of the copy that was kept before.
 * @throws CredenzialiMancanti, SoapTransportError, AlloggiatiCredentialsError
 */
async function fetchReceipt ({ db, service, clock }: Archive, day: Day) {
  if (service === null) throw new CredenzialiMancanti()
  const pdf = await downloadReceipt(service, day)
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
    // Only the totals are compared: the service may make and sign the PDF anew each time, with other bytes.
    const differs = before !== undefined && (before.schedine !== copy.schedine || before.notti !== copy.notti)
    return { pdf, differs }
  })
}

/**
 * The receipt of a day: the copy that is kept, or else the service's. A copy that was taken early is asked for again,
 * and served when the service cannot be had. Receipts of an account that was changed since are served, too.
 * @throws RicevutaNonTrovata for today, for the future, and for a day of which no copy is kept and the service has
 * none; ServizioNonRaggiungibile; CredenzialiMancanti
 */
async function getReceipt (archive: Archive, day: Day): Promise<Buffer> {
  const { service, clock } = archive
  const kept = await readKept(archive, day)
  if (kept && !kept.isEarly) return kept.pdf
  if (day >= clock.today() || day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) {
    if (kept) return kept.pdf
    throw new RicevutaNonTrovata()
  }
  try {
    const { pdf = kept?.pdf } = await fetchReceipt(archive, day)
    if (pdf === undefined) throw new RicevutaNonTrovata()
    return pdf
  } catch (err) {
    if (kept && (isServiceFailure(err) || service === null)) return kept.pdf
    throw isServiceFailure(err) ? new ServizioNonRaggiungibile() : err
  }
}

/** The present account's copy, else another's of the same mode. */
async function readKept (
  { db, service, mode }: Archive, day: Day
): Promise<{ pdf: Buffer, isEarly: boolean } | undefined> {
  const [kept] = await db.select({ pdf: receipts.pdf, isEarly }).from(receipts)
    .where(and(scopeOf(mode, receipts.utente), eq(receipts.giorno, day)))
    .orderBy(desc(eq(receipts.utente, service?.account ?? '')), receipts.utente).limit(1)
  return kept
}

/**
 * Fetches the receipts of the last 30 days of which no copy is kept, or an early one alone. A day that fails does not
 * keep the others. Without credentials it does nothing.
 * @throws the first failure, at the end; a refused login at once
 */
async function fetchMissing (archive: Archive): Promise<void> {
  const { db, service, clock } = archive
  if (service === null) return
  const first = addDays(clock.today(), -RECEIPT_WINDOW_DAYS)
  const looks = await readLastLooks(db, service.account, first)
  const missing = Array.from({ length: RECEIPT_WINDOW_DAYS }, (_, at) => addDays(first, at))
    .filter((day) => !((looks.get(day) ?? 0) >= completeFrom(day).getTime()))
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
 * Reads the kept receipts of which the totals could not be read: a newer version of this server may be able to. It is
 * no further look at the service's receipt, so it is written down with the time of the copy.
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

/** The copy was taken when the day may not have been complete. */
const isEarly = sql<boolean>`${receipts.scaricata_il} <
  ((${receipts.giorno} + 1) + make_interval(hours => ${sql.raw(String(EARLY_HOUR))})) at time zone 'Europe/Rome'`

const isUnread = or(isNull(receipts.schedine), isNull(receipts.notti))

/** When the receipt of each day was last seen, in milliseconds. */
async function readLastLooks (db: Executor, account: string, from: Day): Promise<Map<Day, number>> {
  const found = await db.select({ day: fetches.giorno, at: sql<string>`max(${fetches.letta_il})` }).from(fetches)
    .where(and(eq(fetches.utente, account), gte(fetches.giorno, from), isNotNull(fetches.sha256)))
    .groupBy(fetches.giorno)
  return new Map(found.map(({ day, at }) => [day, Date.parse(at)]))
}

/** What a receipt counts: the schedine, and the sum of their nights. Null where the text does not say it. */
interface ReceiptTotals { schedine: number | null, notti: number | null }

/* The two lines of a real receipt: it only counts, and holds no names. */
const SCHEDINE = /SCHEDINE\s+INVIATE\s*:?\s*(\d+)/i
const NIGHTS = /GG\.?\s+PERMANENZA\s+PRESUNTA\s+TOT\.?\s*:?\s*(\d+)/i

/** Reads the totals from the text of a receipt's PDF. A PDF that cannot be read gives nulls: it is kept anyway. */
export async function readTotals (pdf: Buffer): Promise<ReceiptTotals> {
  try {
    const text = await extractText(pdf)
    return { schedine: findNumber(SCHEDINE, text), notti: findNumber(NIGHTS, text) }
  } catch {
    return { schedine: null, notti: null }
  }
}

/** The PDF reader is large: it is loaded when the first receipt comes. */
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
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? null : Number(digits)
}
