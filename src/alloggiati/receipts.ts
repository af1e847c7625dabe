import { createHash } from 'node:crypto'
import { and, eq, gte } from 'drizzle-orm'
import { ricevute } from '#drizzle/tables/index.ts'
import { RicevutaNonTrovata } from '#src/errors.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { addDays, type Clock, type Day } from '#src/time.ts'
import { downloadReceipt } from './calls.ts'
import { CredenzialiMancanti, ServizioNonRaggiungibile } from './errors.ts'
import { readReceipt } from './receipt-text.ts'
import type { PoliceService } from './service.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from './soap/errors.ts'

/** The service gives receipts of the last 30 days, today excluded (manual, p. 17). */
const WINDOW_DAYS = 30

/** The daily receipts: fetched once, kept for good. */
export function receipts (db: Database, service: PoliceService | null, clock: Clock) {
  const account = service?.account ?? ''

  async function fetch (service: PoliceService, day: Day): Promise<Buffer | undefined> {
    const pdf = await downloadReceipt(service, day)
    if (pdf === undefined) return undefined
    const sha256 = createHash('sha256').update(pdf).digest('hex')
    // The first copy is the one that is kept: what proved something yesterday must not change.
    await db.insert(ricevute).values({ utente: account, giorno: day, pdf, sha256, ...await readReceipt(pdf) }).onConflictDoNothing()
    return pdf
  }

  return {
    /**
     * The receipt of a day, from the store or, the first time, from the service.
     * @throws RicevutaNonTrovata for today, the future, and a day of which neither has one; ServizioNonRaggiungibile; CredenzialiMancanti
     */
    async of (day: Day): Promise<Buffer> {
      const [kept] = await db.select({ pdf: ricevute.pdf }).from(ricevute).where(and(eq(ricevute.utente, account), eq(ricevute.giorno, day)))
      if (kept) return kept.pdf
      if (day >= clock.today() || day < addDays(clock.today(), -WINDOW_DAYS)) throw new RicevutaNonTrovata()
      if (service === null) throw new CredenzialiMancanti()
      try {
        const pdf = await fetch(service, day)
        if (pdf) return pdf
      } catch (err) {
        throw err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError ? new ServizioNonRaggiungibile() : err
      }
      throw new RicevutaNonTrovata()
    },

    /** Fetches the receipts of the last 30 days that are not in the store yet. */
    async fetchMissing (): Promise<void> {
      if (service === null) return
      const first = addDays(clock.today(), -WINDOW_DAYS)
      const kept = await db.select({ giorno: ricevute.giorno }).from(ricevute).where(and(eq(ricevute.utente, account), gte(ricevute.giorno, first)))
      const days = Array.from({ length: WINDOW_DAYS }, (_, at) => addDays(first, at)).filter((day) => !kept.some(({ giorno }) => giorno === day))
      for (const day of days) await fetch(service, day)
    }
  }
}
