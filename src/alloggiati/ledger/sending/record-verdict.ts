import { and, asc, eq, inArray, ne, sql } from 'drizzle-orm'
import {
  invii, invii_esiti as observations, invii_schedine as schedine, invii_tentativi as attempts
} from '#drizzle/tables/ledger.ts'
import {
  FINAL_ATTEMPT_OUTCOMES, isUnresolved, type AttemptOutcome, type ObservationSource, type RowOutcome, type State
} from '#schemas/submission.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { unknownVerdict, type Verdict } from './police-call.ts'
import type { LedgerContext } from '../ledger-context.ts'
import { failureText } from '../../service/soap/errors.ts'
import { lockChain, move, moveRows, type Move } from '../moves.ts'
import { sumNights, type Row } from '../submission-rows.ts'

/** An attempt: submission, number, and the rows sent. */
interface Attempt { id: number, numero: number, rows: readonly Pick<Row, 'indice' | 'permanenza'>[] }

/** The error text, in Italian, of an attempt whose outcome was not recorded in time. */
export const NOT_RECORDED =
  'l’esito non è stato scritto in tempo: il processo si è interrotto, o l’archivio non era raggiungibile'

/** States after a verdict in which rows were refused or not sent. */
const REFUSED_STATES = ['rifiutato', 'parziale', 'non_inviato'] as const satisfies State[]

/**
 * Records the verdict of a call and moves the submission. A late reply still counts for a submission of unknown
 * outcome. A late `K` stops a resend that was decided meanwhile. If the resend was already sent, the guests may be
 * acquired twice, and an alarm is raised.
 * @param retry returns true when no caller waits. Then a submission that was certainly not sent is retried. Called
 * under the locks, and again after the commit
 */
export async function recordVerdict (
  { db, keys, alarm, name }: LedgerContext, attempt: Attempt, verdict: Verdict, retry: () => boolean
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

/** Records an attempt with an unknown outcome, because the verdict was not recorded in time. */
export async function recordLostAttempt (tx: Transaction, id: number, numero: number, chi: string): Promise<void> {
  const rows = await tx.select({ indice: schedine.indice, permanenza: schedine.permanenza }).from(schedine)
    .where(and(eq(schedine.invio_id, id), eq(schedine.esito, 'in_corso'))).orderBy(asc(schedine.indice))
  const attempt = { id, numero, rows }
  const verdict = { ...unknownVerdict(rows.length), errore: NOT_RECORDED }
  await observe(tx, attempt, verdict, 'scadenza')
  await apply(tx, attempt, verdict, { retry: false, contradicted: false, chi })
}

/** Whether an attempt of a submission may have been acquired. */
export async function mayBeAcquired (db: Executor, id: number): Promise<boolean> {
  return (await readOutcomes(db, id)).some(({ esito }) => esito !== 'N')
}

/**
 * Adds an observation of an attempt. A final outcome from a receipt or a decision is kept. Then the reply is stored as
 * an additional observation `?`.
 * @returns whether the reply contradicts the final outcome
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
  const [final] = await tx.select({ esito: observations.esito }).from(observations).where(and(
    eq(observations.invio_id, id),
    eq(observations.numero, numero),
    inArray(observations.esito, FINAL_ATTEMPT_OUTCOMES)
  ))
  return final!.esito !== verdict.tentativo
}

/** Moves the submission and its rows according to the verdict. */
async function apply (
  tx: Transaction,
  { id, numero, rows }: Attempt,
  verdict: Verdict,
  { retry, contradicted, chi }: { retry: boolean, contradicted: boolean, chi: string }
) {
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
  // Move the states first, because this locks the chain. Every transaction locks the chain before the rows of guests.
  const perche = failureText(verdict.errore ?? 'risposta del servizio')
  let da = stato
  for (const a of path) {
    await move(tx, id, { da, a, chi, perche })
    da = a
  }
  // Rows keep their outcome if a final outcome contradicts the reply, or if they will be sent again. They also keep it
  // if the verdict does not move the submission and proves no row acquired.
  const kept = contradicted || path.at(-1) === 'pronto' || (path.length === 0 && verdict.tentativo !== 'K')
  for (const { indice, before, esito, seen } of kept ? [] : after) {
    if (esito === before) continue
    await tx.update(schedine).set({ ...seen, esito }).where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
  }
  return { ricevuta, ofLastAttempt, path }
}

/** The outcomes of a submission's attempts, without attempt `except`. */
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

/** A verdict, its submission, and the outcomes of the other attempts. */
export interface VerdictFacts {
  stato: State
  /** Whether the verdict is about the last attempt. */
  ofLastAttempt: boolean
  verdict: AttemptOutcome
  /** The state of the submission after an `N`. */
  stateAfterN: Extract<State, 'rifiutato' | 'non_inviato' | 'pronto'>
  /** A reply or a receipt proves that another attempt was acquired. */
  otherProven: boolean
  /** Another attempt may have been acquired. */
  otherInDoubt: boolean
  /** A receipt or a person has given this attempt another final outcome. */
  contradicted: boolean
  /** The outcomes of all rows of the submission after the verdict. */
  rows: readonly RowOutcome[]
}

/** States in which a contradicted submission is referred to a person. */
const REVIEWED_WHEN_CONTRADICTED: readonly State[] = ['pronto', 'preso', 'sconosciuto', 'acquisito', 'parziale']

/** The next outcome of a row. Acquired rows stay acquired. While another attempt is in doubt, no guest is freed. */
export function rowAfter (now: RowOutcome, seen: RowOutcome | undefined, otherInDoubt: boolean): RowOutcome {
  if (seen === 'acquisita') return seen
  if (seen === undefined || !isUnresolved(now)) return now
  return otherInDoubt ? 'sconosciuta' : seen
}

/** The next states after a verdict, by current state. A submission in any other state does not move. */
const STATES_AFTER: Partial<Record<State, (facts: VerdictFacts) => State[]>> = {
  pronto: beforeDispatch,
  preso: beforeDispatch,
  in_invio: afterDispatch,
  sconosciuto: afterUnknown,
  da_verificare: (facts) => facts.verdict === 'K' ? ifAllAcquired(facts) : []
}

/**
 * The states that a submission passes through after a verdict, in order. Empty when its state does not change. They
 * depend on all attempts, because a final state must agree with every attempt.
 */
export function nextStates (facts: VerdictFacts): State[] {
  const { stato, contradicted } = facts
  if (contradicted) return REVIEWED_WHEN_CONTRADICTED.includes(stato) ? ['da_verificare'] : []
  return STATES_AFTER[stato]?.(facts) ?? []
}

/** For a submission that waits for a resend. A late `K` stops the resend. */
function beforeDispatch (facts: VerdictFacts): State[] {
  return facts.verdict === 'K' ? ['da_verificare', ...ifAllAcquired(facts)] : []
}

function afterDispatch (facts: VerdictFacts): State[] {
  const { ofLastAttempt, verdict, stateAfterN, otherProven, otherInDoubt } = facts
  if (!ofLastAttempt) return []
  if (verdict === 'K' || otherProven) return acquiredStates(facts)
  if (verdict === '?') return ['sconosciuto']
  return stateAfterN === 'pronto' || !otherInDoubt ? [stateAfterN] : ['sconosciuto', 'da_verificare']
}

function afterUnknown (facts: VerdictFacts): State[] {
  const { ofLastAttempt, verdict, stateAfterN, otherProven, otherInDoubt } = facts
  if (verdict === 'K' || otherProven) return acquiredStates(facts)
  if (!ofLastAttempt || verdict === '?') return []
  return [otherInDoubt ? 'da_verificare' : stateAfterN]
}

/** A proof replaces the decision of a person only if every row is acquired. */
function ifAllAcquired ({ rows }: VerdictFacts): State[] {
  return rows.every((esito) => esito === 'acquisita') ? ['acquisito'] : []
}

/** The state when all rows are acquired, or some. If the outcome of a row is unknown, a person decides. */
function acquiredStates (facts: VerdictFacts): State[] {
  const all = ifAllAcquired(facts)
  if (all.length > 0) return all
  return facts.rows.some(isUnresolved) ? ['parziale', 'da_verificare'] : ['parziale']
}

/**
 * Gives up an unsendable submission and frees its guests. If an earlier attempt may have been acquired, a person
 * decides.
 * @returns false when the submission is not in the expected state
 */
export async function giveUp (tx: Transaction, id: number, change: Omit<Move, 'a' | 'set'>): Promise<boolean> {
  if (await mayBeAcquired(tx, id)) return move(tx, id, { ...change, a: 'da_verificare' })
  const moved = await move(tx, id, { ...change, a: 'non_inviato' })
  if (moved) await moveRows(tx, id, 'non_inviata', 'in_corso')
  return moved
}
