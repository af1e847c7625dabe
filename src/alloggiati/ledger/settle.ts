import { and, eq } from 'drizzle-orm'
import { invii, invii_esiti as outcomes, invii_schedine as schedine } from '#drizzle/tables/index.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import type { Verdict } from './classify.ts'
import type { LedgerContext } from './context.ts'
import { move, moveRows } from './moves.ts'
import type { Row } from './rows.ts'
import type { State } from './states.ts'

/** States in which an attempt that is still the last one may be settled. */
const UNSETTLED: readonly State[] = ['in_invio', 'sconosciuto', 'da_verificare']

/** An attempt: the submission, its number, and the rows that were handed over. */
export interface Attempt { id: number, numero: number, rows: readonly Row[] }

/**
 * Writes down what a call proved, and moves the submission accordingly. A reply may come late, when the submission was already
 * given up as unknown: its proof counts all the same. Where a person has decided meanwhile to send again, a late `K` means that
 * the guests were acquired, and perhaps twice: it is recorded and alarmed, and moves nothing.
 */
export async function settle (context: LedgerContext, attempt: Attempt, verdict: Verdict, whole: boolean, retry: boolean): Promise<void> {
  const { db, keys, log, name } = context
  const { id, numero, rows } = attempt
  const superseded = await db.transaction(async (tx) => {
    const [unit] = await tx.select({ stato: invii.stato, tentativo: invii.tentativo }).from(invii).where(eq(invii.id, id)).for('update')
    const accepted = rows.filter((_, at) => verdict.schedine[at]?.esito === 'acquisita')
    await tx.insert(outcomes).values({
      invio_id: id,
      numero,
      esito: verdict.tentativo,
      fonte: 'risposta',
      schedine: accepted.length,
      notti: accepted.reduce((sum, { permanenza }) => sum + permanenza, 0),
      http_status: verdict.httpStatus,
      errore: verdict.errore,
      risposta: verdict.raw === undefined ? undefined : keys.seal(verdict.raw, `invii_esiti.risposta/${id}/${numero}`)
    })
    const da = unit!.stato as State
    if (unit!.tentativo !== numero || !UNSETTLED.includes(da)) return verdict.tentativo === 'K'
    await apply(tx, { id, da, rows, verdict, whole, retry, chi: name })
    return false
  })
  if (superseded) log.error({ invio: id, tentativo: numero }, 'a late reply: guests sent again by decision had been acquired (possible duplicate)')
  else if (verdict.stato === 'sconosciuto') log.error({ invio: id, errore: verdict.errore }, 'outcome of a submission unknown')
}

interface Change { id: number, da: State, rows: readonly Row[], verdict: Verdict, whole: boolean, retry: boolean, chi: string }

async function apply (tx: Transaction, { id, da, rows, verdict, whole, retry, chi }: Change): Promise<void> {
  const a = target(da, verdict.stato, whole, retry)
  if (a === undefined) return
  await move(tx, id, { da, a, chi, perche: verdict.errore ?? 'risposta del servizio' })
  // What nobody waits for and certainly was not sent stays taken: it will be sent again.
  if (a === 'pronto') return
  for (const [at, { indice }] of rows.entries()) {
    await tx.update(schedine).set(verdict.schedine[at]!).where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
  }
  // Rows that the rehearsal held back are settled already; none may stay under way.
  await moveRows(tx, id, verdict.schedine[0]?.esito ?? 'sconosciuta', 'in_corso')
}

/** Where a verdict leads from a state. `whole`: no row was held back by the rehearsal. `retry`: nobody waits for the answer. */
function target (da: State, stato: Verdict['stato'], whole: boolean, retry: boolean): State | undefined {
  if (stato === 'sconosciuto') return da === 'in_invio' ? 'sconosciuto' : undefined
  if (da === 'da_verificare') return stato === 'acquisito' || stato === 'parziale' ? 'acquisito' : undefined
  if (stato === 'acquisito') return whole ? 'acquisito' : 'parziale'
  if (stato === 'non_inviato' && retry && da === 'in_invio') return 'pronto'
  return stato
}
