import { and, asc, eq, inArray, ne, sql } from 'drizzle-orm'
import {
  invii,
  invii_esiti as observations,
  invii_schedine as schedine,
  invii_tentativi as attempts
} from '#drizzle/tables/ledger.ts'
import {
  FINAL_ATTEMPT_OUTCOMES, type AttemptOutcome, type ObservationSource, type State
} from '#schemas/submission.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { unknownVerdict, type Verdict } from './classify.ts'
import type { LedgerContext } from '../context.ts'
import { lockChain, move } from '../moves.ts'
import { nextStates, rowAfter } from '../next-states.ts'
import { sumNights, type Row } from '../rows.ts'

/** An attempt: the submission, its number, and the rows that were handed over. */
export interface Attempt { id: number, numero: number, rows: readonly Pick<Row, 'indice' | 'permanenza'>[] }

const NOT_WRITTEN_DOWN =
  "l'esito non è stato scritto in tempo: il processo si è interrotto, o l'archivio non era raggiungibile"

/** Not all of it was acquired, and that is its end. */
const REFUSED_STATES = ['rifiutato', 'parziale', 'non_inviato'] as const satisfies State[]

interface Recorded { ricevuta: string, ofLastAttempt: boolean, path: readonly State[] }

/**
 * Writes down what a call proved, and moves the submission accordingly. A reply may come late, when the submission is
 * already unknown: its proof counts all the same, and a `K` stops what a person has meanwhile decided to send again.
 * When that has been sent already, the guests were acquired, perhaps twice: the log raises an alarm.
 * @param retry whether no caller waits for the answer, asked when the locks are there: what certainly was not sent is
 * tried again later
 */
export async function recordVerdict (
  { db, keys, alarm, name }: LedgerContext,
  attempt: Attempt,
  verdict: Verdict,
  retry: () => boolean
): Promise<void> {
  const { id, numero } = attempt
  const { ricevuta, ofLastAttempt, path } = await db.transaction(async (tx) => {
    await lockChain(tx)
    const contradicted = await observe(tx, attempt, verdict, 'risposta', (raw) =>
      keys.seal(raw, `invii_esiti.risposta/${id}/${numero}`)
    )
    return apply(tx, attempt, verdict, { retry: retry(), contradicted, chi: name })
  })
  const about = { invio: id, ricevuta, tentativo: numero }
  if (!ofLastAttempt && verdict.tentativo === 'K') {
    await alarm('late-reply', about)
  } else if (path.includes('da_verificare')) {
    await alarm('for-a-person', about)
  } else if (verdict.tentativo === '?') {
    await alarm('unknown-outcome', { ...about, errore: verdict.errore })
  } else if (retry() && REFUSED_STATES.some((stato) => stato === path.at(-1))) {
    await alarm('refused-late', about)
  }
}

/** Records an attempt whose outcome was not written down in time: what it did cannot be known. */
export async function recordLostAttempt (tx: Transaction, id: number, numero: number, chi: string): Promise<void> {
  const rows = await tx.select({ indice: schedine.indice, permanenza: schedine.permanenza }).from(schedine)
    .where(and(eq(schedine.invio_id, id), eq(schedine.esito, 'in_corso'))).orderBy(asc(schedine.indice))
  const attempt = { id, numero, rows }
  const verdict = { ...unknownVerdict(rows.length), errore: NOT_WRITTEN_DOWN }
  await observe(tx, attempt, verdict, 'scadenza')
  await apply(tx, attempt, verdict, { retry: false, contradicted: false, chi })
}

/** Whether an attempt of a submission may have been acquired. */
export async function mayBeAcquired (db: Executor, id: number): Promise<boolean> {
  return (await readOutcomes(db, id)).some(({ esito }) => esito !== 'N')
}

/**
 * Adds an observation of an attempt. What a receipt or a decision has said for good stands; the reply is kept beside
 * it, as `?`.
 * @returns whether the reply contradicts what stands
 */
async function observe (
  tx: Transaction,
  { id, numero, rows }: Attempt,
  verdict: Verdict,
  fonte: ObservationSource,
  seal?: (raw: string) => Buffer
): Promise<boolean> {
  const accepted = rows.filter((_, at) => verdict.schedine[at]?.esito === 'acquisita')
  const observation = {
    invio_id: id,
    numero,
    esito: verdict.tentativo,
    fonte,
    schedine: accepted.length,
    notti: sumNights(accepted),
    http_status: verdict.httpStatus,
    errore: verdict.errore,
    risposta: verdict.raw === undefined ? undefined : seal?.(verdict.raw)
  }
  const added = await tx
    .insert(observations)
    .values(observation)
    .onConflictDoNothing()
    .returning({ id: observations.id })
  if (added.length > 0) return false
  await tx.insert(observations).values({ ...observation, esito: '?' })
  const [final] = await tx.select({ esito: observations.esito }).from(observations).where(
    and(
      eq(observations.invio_id, id),
      eq(observations.numero, numero),
      inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)
    )
  )
  return final!.esito !== verdict.tentativo
}

interface Circumstances { retry: boolean, contradicted: boolean, chi: string }

/** Moves the submission and its rows as the verdict says. */
async function apply (
  tx: Transaction,
  { id, numero, rows }: Attempt,
  verdict: Verdict,
  { retry, contradicted, chi }: Circumstances
): Promise<Recorded> {
  const [submission] = await tx
    .select({ ricevuta: invii.ricevuta, stato: invii.stato, tentativo: invii.tentativo })
    .from(invii)
    .where(eq(invii.id, id))
    .for('update')
  const { ricevuta, stato, tentativo } = submission!
  const ofLastAttempt = tentativo === numero
  const others = await readOutcomes(tx, id, numero)
  const otherInDoubt = others.some(({ esito }) => esito !== 'N')
  const now = await tx.select({ indice: schedine.indice, esito: schedine.esito }).from(schedine)
    .where(eq(schedine.invio_id, id)).orderBy(asc(schedine.indice))
  const after = now.map(({ indice, esito: before }) => {
    const seen = verdict.schedine[rows.findIndex((row) => row.indice === indice)]
    return { indice, before, esito: rowAfter(before, seen?.esito, otherInDoubt), seen }
  })
  const path = nextStates({
    stato,
    ofLastAttempt,
    verdict: verdict.tentativo,
    stateAfterN: verdict.stato === 'rifiutato' ? 'rifiutato' : retry && stato === 'in_invio' ? 'pronto' : 'non_inviato',
    otherProven: others.some(({ esito, fonte }) => esito === 'K' && fonte !== 'decisione'),
    otherInDoubt,
    contradicted,
    rows: after.map(({ esito }) => esito)
  })
  // The states first: they lock the chain, and a transaction that enters guests locks the chain before their rows.
  let da = stato
  for (const a of path) {
    await move(tx, id, { da, a, chi, perche: verdict.errore ?? 'risposta del servizio' })
    da = a
  }
  // Rows stay as they are when the attempt's outcome was said otherwise for good, when they will be sent again, and
  // when the verdict neither moves the submission nor proves that rows were acquired.
  const kept = contradicted || path.at(-1) === 'pronto' || (path.length === 0 && verdict.tentativo !== 'K')
  for (const { indice, before, esito, seen } of kept ? [] : after) {
    if (esito === before) continue
    await tx.update(schedine).set({ ...seen, esito }).where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
  }
  return { ricevuta, ofLastAttempt, path }
}

/** What is known of the attempts of a submission, without the one of the number `except`. */
async function readOutcomes (db: Executor, id: number, except?: number) {
  const final = and(
    eq(observations.invio_id, attempts.invio_id),
    eq(observations.numero, attempts.numero),
    inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)
  )
  return db
    .select({ esito: sql<AttemptOutcome>`coalesce(${observations.esito}, '?')`, fonte: observations.fonte })
    .from(attempts)
    .leftJoin(observations, final)
    .where(and(eq(attempts.invio_id, id), except === undefined ? undefined : ne(attempts.numero, except)))
}
