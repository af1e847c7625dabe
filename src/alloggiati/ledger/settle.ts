import { and, asc, eq, inArray, ne, sql } from 'drizzle-orm'
import {
  invii,
  invii_esiti as outcomes,
  invii_schedine as schedine,
  invii_tentativi as attempts
} from '#drizzle/tables/alloggiati.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { unknown, type Verdict } from './classify.ts'
import type { LedgerContext } from './context.ts'
import { follow, rowAfter } from './follow.ts'
import { move } from './moves.ts'
import type { ObservationSource, RowOutcome, State } from '#schemas/submission.ts'
import type { Row } from './rows.ts'

/** An attempt: the submission, its number, and the rows that were handed over. */
export interface Attempt { id: number, numero: number, rows: readonly Pick<Row, 'indice' | 'permanenza'>[] }

/** What was written down: for the log. */
interface Settled { ricevuta: string, present: boolean, path: readonly State[] }

/**
 * Writes down what a call proved, and moves the submission accordingly. A reply may come late, when the submission was
 * already given up as unknown: its proof counts all the same, and a `K` stops what a person has decided meanwhile to
 * send again. Where that was sent already the guests were acquired, and perhaps twice: that is alarmed.
 * @param retry nobody waits for the answer: what certainly was not sent is tried again later
 */
export async function settle (
  { db, keys, log, name }: LedgerContext,
  attempt: Attempt,
  verdict: Verdict,
  retry: boolean
): Promise<void> {
  const { id, numero } = attempt
  const settled = await db.transaction(async (tx) => {
    const contradicts = await write(tx, attempt, verdict, 'risposta', (raw) =>
      keys.seal(raw, `invii_esiti.risposta/${id}/${numero}`)
    )
    return conclude(tx, attempt, verdict, { retry, contradicts, chi: name })
  })
  const { ricevuta, present, path } = settled
  const about = { invio: id, ricevuta, tentativo: numero }
  if (!present && verdict.tentativo === 'K') { log.error(about, 'a late reply: guests sent again by decision had been acquired (possible duplicate)') } else if (path.includes('da_verificare')) log.error(about, 'a submission must be looked at by a person')
  else if (verdict.tentativo === '?') log.error({ ...about, errore: verdict.errore }, 'outcome of a submission unknown')
}

/** Gives up an attempt whose process has died: nobody can tell any more what it did. */
export async function giveUpAttempt (tx: Transaction, id: number, numero: number, chi: string): Promise<void> {
  const rows = await tx.select({ indice: schedine.indice, permanenza: schedine.permanenza }).from(schedine)
    .where(and(eq(schedine.invio_id, id), eq(schedine.esito, 'in_corso'))).orderBy(asc(schedine.indice))
  const attempt = { id, numero, rows }
  const verdict = { ...unknown(rows.length), errore: 'il processo è morto prima della risposta' }
  await write(tx, attempt, verdict, 'scadenza')
  await conclude(tx, attempt, verdict, { retry: false, contradicts: false, chi })
}

/** Whether an attempt of a submission, other than `numero`, may have been acquired. */
export async function inDoubt (db: Executor, id: number, numero?: number): Promise<boolean> {
  return (await others(db, id, numero)).some(({ esito }) => esito !== 'N')
}

/**
 * What was said of an attempt for good, by a receipt or a decision, stands; the reply is kept beside it.
 * @returns whether the reply says otherwise
 */
async function write (
  tx: Transaction, { id, numero, rows }: Attempt, verdict: Verdict, fonte: ObservationSource, seal?: (raw: string) => Buffer
): Promise<boolean> {
  const accepted = rows.filter((_, at) => verdict.schedine[at]?.esito === 'acquisita')
  const outcome = {
    invio_id: id,
    numero,
    esito: verdict.tentativo,
    fonte,
    schedine: accepted.length,
    notti: accepted.reduce((sum, { permanenza }) => sum + permanenza, 0),
    http_status: verdict.httpStatus,
    errore: verdict.errore,
    risposta: verdict.raw === undefined ? undefined : seal?.(verdict.raw)
  }
  const written = await tx.insert(outcomes).values(outcome).onConflictDoNothing().returning({ id: outcomes.id })
  if (written.length > 0) return false
  const [stands] = await tx
    .insert(outcomes)
    .values({ ...outcome, esito: '?' })
    .returning({
      esito: sql<string>`(select o.esito from ${outcomes} o where o.invio_id = ${id} and o.numero = ${numero} and o.esito <> '?')`
    })
  return stands!.esito !== verdict.tentativo
}

interface Circumstances { retry: boolean, contradicts: boolean, chi: string }

async function conclude (
  tx: Transaction, { id, numero, rows }: Attempt, verdict: Verdict, { retry, contradicts, chi }: Circumstances
): Promise<Settled> {
  const [unit] = await tx
    .select({ ricevuta: invii.ricevuta, stato: invii.stato, tentativo: invii.tentativo })
    .from(invii)
    .where(eq(invii.id, id))
    .for('update')
  const { ricevuta, tentativo } = unit!
  let da = unit!.stato as State
  const elsewhere = await others(tx, id, numero)
  const doubt = elsewhere.some(({ esito }) => esito !== 'N')
  const now = await tx.select({ indice: schedine.indice, esito: schedine.esito }).from(schedine)
    .where(eq(schedine.invio_id, id)).orderBy(asc(schedine.indice))
  const after = now.map(({ indice, esito }) => {
    const at = rows.findIndex((row) => row.indice === indice)
    return {
      indice,
      before: esito,
      esito: rowAfter(esito as RowOutcome, verdict.schedine[at]?.esito, doubt),
      seen: verdict.schedine[at]
    }
  })
  const path = follow({
    stato: da,
    present: tentativo === numero,
    verdict: verdict.tentativo,
    negative: verdict.stato === 'rifiutato' ? 'rifiutato' : retry && da === 'in_invio' ? 'pronto' : 'non_inviato',
    known: elsewhere.some(({ esito, fonte }) => esito === 'K' && fonte !== 'decisione'),
    doubt,
    contradicts,
    righe: after.map(({ esito }) => esito)
  })
  // The states first: they take the lock of the chain, and whoever enters guests holds it before their rows.
  for (const a of path) {
    await move(tx, id, { da, a, chi, perche: verdict.errore ?? 'risposta del servizio' })
    da = a
  }
  // What nobody waits for and certainly was not sent stays taken: it will be sent again.
  const kept = contradicts || path.at(-1) === 'pronto' || (path.length === 0 && verdict.tentativo !== 'K')
  for (const { indice, before, esito, seen } of kept ? [] : after) {
    if (esito === before) continue
    await tx.update(schedine).set({ ...seen, esito }).where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
  }
  return { ricevuta, present: tentativo === numero, path }
}

/** The other attempts of a submission with what is known of them. */
async function others (db: Executor, id: number, numero?: number) {
  const final = and(
    eq(outcomes.invio_id, attempts.invio_id),
    eq(outcomes.numero, attempts.numero),
    inArray(outcomes.esito, ['K', 'N'])
  )
  return db
    .select({ esito: sql<'K' | 'N' | '?'>`coalesce(${outcomes.esito}, '?')`, fonte: outcomes.fonte })
    .from(attempts)
    .leftJoin(outcomes, final)
    .where(and(eq(attempts.invio_id, id), numero === undefined ? undefined : ne(attempts.numero, numero)))
}
