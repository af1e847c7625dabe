import { and, asc, eq, inArray, type SQL } from 'drizzle-orm'
import { invii, invii_esiti as observations, invii_tentativi as attempts } from '#drizzle/tables/alloggiati.ts'
import { FINAL_ATTEMPT_OUTCOMES } from '#schemas/submission.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { CLOCKS_MS } from '../dispatch.ts'
import type { DayAttempt } from './day.ts'

const isFinal = and(
  eq(observations.invio_id, attempts.invio_id),
  eq(observations.numero, attempts.numero),
  inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)
)

const { invio_id, numero, schedine, notti, giorno_da, giorno_a, inviato_il, consegna_entro } = attempts
const attemptColumns = { invio_id, numero, schedine, notti, giorno_da, giorno_a, inviato_il, consegna_entro }
// Not the reply itself: it is large.
const observationColumns = {
  esito: observations.esito,
  fonte: observations.fonte,
  schedine: observations.schedine,
  notti: observations.notti,
  registrato_il: observations.registrato_il
}

/** An attempt, and the account that made it. */
export interface AccountAttempt extends DayAttempt { account: string }

/** The attempts that a condition on attempts and submissions lets through, with what is known of each; in order. */
export async function readAttempts (db: Executor, condition: SQL | undefined): Promise<AccountAttempt[]> {
  const found = await db
    .select({ attempt: attemptColumns, observation: observationColumns, account: invii.utente })
    .from(attempts)
    .innerJoin(invii, eq(invii.id, attempts.invio_id))
    .leftJoin(observations, isFinal)
    .where(condition)
    .orderBy(asc(attempts.invio_id), asc(attempts.numero))
  return found.map(({ attempt, observation, account }): AccountAttempt => {
    const isDecided = observation?.fonte === 'decisione'
    const { schedine, notti } = observation?.esito === 'K' && !isDecided ? observation : attempt
    return {
      account,
      invio_id: attempt.invio_id,
      numero: attempt.numero,
      schedine,
      notti,
      giorno_da: attempt.giorno_da,
      giorno_a: observation?.fonte === 'risposta'
        ? lastDayByReply(attempt, observation.registrato_il)
        : attempt.giorno_a,
      esito: observation?.esito ?? '?',
      isDecided,
      isPartial: schedine < attempt.schedine
    }
  })
}

/**
 * The last day in which the service may have counted an attempt that it replied to. It counted before it replied, so
 * near midnight the reply may leave one day only.
 */
function lastDayByReply (
  { inviato_il, consegna_entro, giorno_a }: Pick<
    typeof attempts.$inferSelect, 'inviato_il' | 'consegna_entro' | 'giorno_a'
  >,
  repliedAt: string
): Day {
  const at = Date.parse(repliedAt)
  if (at < Date.parse(inviato_il) || at > Date.parse(consegna_entro)) return giorno_a
  return [dayInRome(new Date(at + CLOCKS_MS)), giorno_a].sort()[0]!
}
