import { createHash } from 'node:crypto'
import { and, eq, gte } from 'drizzle-orm'
import { ricevute as receipts, ricevute_letture as fetches } from '#drizzle/tables/alloggiati.ts'
import { addDays, type Clock, type Day } from '#src/lib/time.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { CredenzialiMancanti, RicevutaNonTrovata, ServizioNonRaggiungibile } from '../errors.ts'
import { downloadReceipt } from '../service/calls.ts'
import type { PoliceService } from '../service/police-service.ts'
import { isServiceFailure } from '../service/soap/errors.ts'
import { readTotals } from './text.ts'

/** The service gives receipts of the last 30 days, today excluded (manual, p. 17). */
export const RECEIPT_WINDOW_DAYS = 30

/** What a fetch of a receipt brought. */
export interface FetchedReceipt {
  /** Undefined: the service has none, which does not prove that nothing was sent. */
  pdf: Buffer | undefined
  /** Its totals are not those of the copy that is kept. */
  differs: boolean
}

export type ReceiptArchive = ReturnType<typeof receiptArchive>

/**
 * The daily receipts of the account. The first copy is kept for good, because what it proved must not change later.
 * Every fetch is written down.
 */
export function receiptArchive (db: Database, service: PoliceService | null, clock: Clock) {
  const account = service?.account ?? ''

  /**
   * Asks the service for the receipt of a day, whether a copy is kept or not.
   * @throws CredenzialiMancanti, SoapTransportError, AlloggiatiCredentialsError
   */
  async function fetchReceipt (day: Day): Promise<FetchedReceipt> {
    if (service === null) throw new CredenzialiMancanti()
    const pdf = await downloadReceipt(service, day)
    const fetched = { utente: account, giorno: day, letta_il: clock.now().toISOString() }
    if (pdf === undefined) {
      await db.insert(fetches).values(fetched)
      return { pdf, differs: false }
    }
    const sha256 = createHash('sha256').update(pdf).digest('hex')
    const totals = await readTotals(pdf)
    return db.transaction(async (tx) => {
      await tx.insert(receipts).values({ utente: account, giorno: day, pdf, sha256, ...totals }).onConflictDoNothing()
      await tx.insert(fetches).values({ ...fetched, sha256, ...totals })
      const [kept] = await tx
        .select({ schedine: receipts.schedine, notti: receipts.notti })
        .from(receipts)
        .where(isOf(day))
      // Only the totals are compared: the service may make and sign the PDF anew each time, with other bytes.
      return { pdf, differs: kept!.schedine !== totals.schedine || kept!.notti !== totals.notti }
    })
  }

  /**
   * The receipt of a day: the copy that is kept, or else the service's.
   * @throws RicevutaNonTrovata for today, for the future, and for a day of which no copy is kept and the service has
   * none; ServizioNonRaggiungibile; CredenzialiMancanti
   */
  async function getReceipt (day: Day): Promise<Buffer> {
    const [kept] = await db.select({ pdf: receipts.pdf }).from(receipts).where(isOf(day))
    if (kept) return kept.pdf
    if (day >= clock.today() || day < addDays(clock.today(), -RECEIPT_WINDOW_DAYS)) throw new RicevutaNonTrovata()
    const { pdf } = await fetchReceipt(day).catch((err: unknown) => {
      throw isServiceFailure(err) ? new ServizioNonRaggiungibile() : err
    })
    if (pdf === undefined) throw new RicevutaNonTrovata()
    return pdf
  }

  /** Fetches the receipts of the last 30 days of which no copy is kept. Without credentials it does nothing. */
  async function fetchMissing (): Promise<void> {
    if (service === null) return
    const first = addDays(clock.today(), -RECEIPT_WINDOW_DAYS)
    const kept = await db
      .select({ day: receipts.giorno })
      .from(receipts)
      .where(and(eq(receipts.utente, account), gte(receipts.giorno, first)))
    const days = Array.from({ length: RECEIPT_WINDOW_DAYS }, (_, at) => addDays(first, at))
    for (const day of days) {
      if (!kept.some((one) => one.day === day)) await fetchReceipt(day)
    }
  }

  function isOf (day: Day) {
    return and(eq(receipts.utente, account), eq(receipts.giorno, day))
  }

  return { getReceipt, fetchReceipt, fetchMissing }
}
