import { createHash } from 'node:crypto'
import { and, eq, gte } from 'drizzle-orm'
import { ricevute, ricevute_letture as looks } from '#drizzle/tables/alloggiati.ts'
import { RicevutaNonTrovata } from '../errors.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { addDays, type Clock, type Day } from '#src/lib/time.ts'
import { downloadReceipt } from '../service/calls.ts'
import { CredenzialiMancanti, ServizioNonRaggiungibile } from '../errors.ts'
import { readReceipt } from './receipt-text.ts'
import type { PoliceService } from '../service/police-service.ts'
import { AlloggiatiCredentialsError, SoapTransportError } from '../service/soap/errors.ts'

/** The service gives receipts of the last 30 days, today excluded (manual, p. 17). */
export const WINDOW_DAYS = 30

/** What a look at a receipt brought. */
export interface Sight {
  /** Undefined: the service has none, which is not to say that nothing was sent. */
  pdf: Buffer | undefined
  /** It counts other than the copy that is kept. */
  differs: boolean
}

export type Archive = ReturnType<typeof receipts>

/**
 * The daily receipts. The first copy is kept for good: what proved something yesterday must not change. Every look is
 * written down.
 */
export function receipts (db: Database, service: PoliceService | null, clock: Clock) {
  const account = service?.account ?? ''

  async function look (service: PoliceService, day: Day): Promise<Sight> {
    const pdf = await downloadReceipt(service, day)
    const seen = { utente: account, giorno: day, letta_il: clock.now().toISOString() }
    if (pdf === undefined) {
      await db.insert(looks).values(seen)
      return { pdf, differs: false }
    }
    const sha256 = createHash('sha256').update(pdf).digest('hex')
    const totals = await readReceipt(pdf)
    return db.transaction(async (tx) => {
      await tx.insert(ricevute).values({ utente: account, giorno: day, pdf, sha256, ...totals }).onConflictDoNothing()
      await tx.insert(looks).values({ ...seen, sha256, ...totals })
      const [kept] = await tx
        .select({ schedine: ricevute.schedine, notti: ricevute.notti })
        .from(ricevute)
        .where(ofDay(day))
      // Only what it counts: a PDF that is made and signed anew each time has other bytes.
      return { pdf, differs: kept?.schedine !== totals.schedine || kept.notti !== totals.notti }
    })
  }

  function ofDay (day: Day) {
    return and(eq(ricevute.utente, account), eq(ricevute.giorno, day))
  }

  return {
    /**
     * The receipt of a day, from the store or, the first time, from the service.
     * @throws RicevutaNonTrovata for today, the future, and a day of which neither has one; ServizioNonRaggiungibile;
     * CredenzialiMancanti
     */
    async of (day: Day): Promise<Buffer> {
      const [kept] = await db.select({ pdf: ricevute.pdf }).from(ricevute).where(ofDay(day))
      if (kept) return kept.pdf
      if (day >= clock.today() || day < addDays(clock.today(), -WINDOW_DAYS)) throw new RicevutaNonTrovata()
      if (service === null) throw new CredenzialiMancanti()
      try {
        const { pdf } = await look(service, day)
        if (pdf) return pdf
      } catch (err) {
        throw err instanceof SoapTransportError || err instanceof AlloggiatiCredentialsError
          ? new ServizioNonRaggiungibile()
          : err
      }
      throw new RicevutaNonTrovata()
    },

    /**
     * Asks the service for the receipt of a day, kept or not.
     * @throws SoapTransportError, AlloggiatiCredentialsError
     */
    async look (day: Day): Promise<Sight> {
      if (service === null) throw new CredenzialiMancanti()
      return look(service, day)
    },

    /** Fetches the receipts of the last 30 days that are not in the store yet. */
    async fetchMissing (): Promise<void> {
      if (service === null) return
      const first = addDays(clock.today(), -WINDOW_DAYS)
      const kept = await db
        .select({ giorno: ricevute.giorno })
        .from(ricevute)
        .where(and(eq(ricevute.utente, account), gte(ricevute.giorno, first)))
      const days = Array.from({ length: WINDOW_DAYS }, (_, at) => addDays(first, at)).filter(
        (day) => !kept.some(({ giorno }) => giorno === day)
      )
      for (const day of days) await look(service, day)
    }
  }
}
