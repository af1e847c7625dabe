import { and, asc, eq } from 'drizzle-orm'
import { ricevute } from '#drizzle/tables/alloggiati.ts'
import {
  invii_conferme as confirmations,
  invii_correzioni as corrections,
  invii_decisioni as decisions
} from '#drizzle/tables/decisions.ts'
import {
  invii_esiti as observations,
  invii_tentativi as attempts,
  invii_transizioni as transitions
} from '#drizzle/tables/ledger.ts'
import type { InvioDetail } from '#schemas/invio.ts'
import type { Executor } from '#src/database/connect.ts'

type Attempt = InvioDetail['tentativi'][number]

const instant = (text: string) => new Date(text).toISOString()

/** The attempts of a submission with the observations of each. The outcome is the final one, if there is one. */
export async function readAttempts (db: Executor, id: number): Promise<Attempt[]> {
  const made = await db.select().from(attempts).where(eq(attempts.invio_id, id)).orderBy(asc(attempts.numero))
  const seen = await db.select().from(observations).where(eq(observations.invio_id, id)).orderBy(asc(observations.id))
  return made.map(({ numero, base, inviato_il, giorno_da, giorno_a, schedine, notti }) => {
    const osservazioni = seen
      .filter((one) => one.numero === numero)
      .map(({ esito, fonte, schedine, notti, http_status, errore, registrato_il }) => ({
        esito,
        fonte,
        schedine,
        notti,
        http_status,
        errore,
        registrato_il: instant(registrato_il)
      }))
    const { esito } = osservazioni.find(({ esito }) => esito !== '?') ?? osservazioni[0] ?? { esito: null }
    return { numero, base, inviato_il: instant(inviato_il), giorno_da, giorno_a, schedine, notti, esito, osservazioni }
  })
}

export async function readTransitions (db: Executor, id: number): Promise<InvioDetail['transizioni']> {
  const found = await db.select().from(transitions).where(eq(transitions.invio_id, id)).orderBy(asc(transitions.id))
  return found.map(({ id, da, a, chi, perche, quando, hash }) => (
    { id, da, a, chi, perche, quando: instant(quando), hash: hash.toString('hex') }))
}

export async function readDecisions (db: Executor, id: number): Promise<InvioDetail['decisioni']> {
  const found = await db.select().from(decisions).where(eq(decisions.invio_id, id)).orderBy(asc(decisions.id))
  return found.map(({ decisione, versione, chi, motivo, protocollo, quando }) => ({
    decisione,
    versione,
    chi,
    motivo,
    protocollo,
    quando: instant(quando)
  }))
}

export async function readConfirmation (db: Executor, id: number): Promise<InvioDetail['conferma']> {
  const [found] = await db.select().from(confirmations).where(eq(confirmations.invio_id, id))
  if (!found) return null
  const { chi, motivo, precedenti, quando } = found
  return { chi, motivo, precedenti, quando: instant(quando) }
}

export async function readCorrections (db: Executor, id: number): Promise<InvioDetail['correzioni']> {
  const found = await db.select().from(corrections).where(eq(corrections.invio_id, id)).orderBy(asc(corrections.id))
  return found.map(({ indice: riga, chi, motivo, protocollo, quando }) => (
    { riga, chi, motivo, protocollo, quando: instant(quando) }))
}

/** The kept receipt of the day of the attempt that was acquired, else of the last one. */
export async function readReceipt (
  db: Executor,
  utente: string,
  made: readonly Attempt[]
): Promise<InvioDetail['ricevuta_giorno']> {
  const attempt = made.findLast(({ esito }) => esito === 'K') ?? made.at(-1)
  if (attempt === undefined) return null
  const { giorno, sha256, schedine, notti } = ricevute
  const [kept] = await db
    .select({ giorno, sha256, schedine, notti })
    .from(ricevute)
    .where(and(eq(ricevute.utente, utente), eq(giorno, attempt.giorno_da)))
  return kept ?? null
}
