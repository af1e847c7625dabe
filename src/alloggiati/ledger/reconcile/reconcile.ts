import { and, eq, sql } from 'drizzle-orm'
import { invii, invii_esiti as outcomes } from '#drizzle/tables/alloggiati.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import type { Day } from '#src/lib/time.ts'
import type { LedgerContext } from '../context.ts'
import { move, moveRows } from '../moves.ts'
import type { State } from '#schemas/submission.ts'
import type { DayInput, DayVerdict, Decision } from './day.ts'
import { decideDay } from './decide.ts'
import { readDay } from './read.ts'

/** How long after a look it is news. */
const NEWS_MS = 3_600_000

/**
 * Holds a day's receipt against its attempts, and carries out what that proves, the whole day in one transaction.
 * Harmless at any time, any number of times, from several processes: what is decided once is not decided again.
 */
export async function reconcile ({ db, service, clock, log, name }: LedgerContext, giorno: Day): Promise<DayVerdict> {
  const { input, verdict, moved } = await db.transaction(async (tx) => {
    const input = await readDay(tx, service.account, giorno, clock.now())
    const verdict = decideDay(input)
    for (const decision of verdict.decisions) await carry(tx, input, decision, name)
    return { input, verdict, moved: verdict.decisions.filter(({ prove, verso }) => prove.length + verso.length > 0) }
  })
  // Each alarm when it is news: the days are gone through every hour.
  for (const { invio, allarme } of moved) if (allarme !== undefined) log.error({ giorno, invio }, allarme)
  if (verdict.allarme !== undefined && (moved.length > 0 || isFresh(input))) {
    log.error({ giorno, regola: verdict.regola }, verdict.allarme)
  }
  return verdict
}

function isFresh ({ looks, now }: DayInput): boolean {
  const last = looks.at(-1)
  return last !== undefined && now.getTime() - last.letta_il.getTime() < NEWS_MS
}

async function carry (
  tx: Transaction,
  { units }: DayInput,
  { invio, prove, verso, nota }: Decision,
  chi: string
): Promise<void> {
  for (const { numero, esito, schedine, notti } of prove) {
    const counts = esito === 'K' ? { schedine, notti } : {}
    await tx.insert(outcomes).values({ invio_id: invio, numero, esito, fonte: 'ricevuta', ...counts })
  }
  let da = units.find(({ id }) => id === invio)!.stato
  for (const a of verso) {
    await step(tx, invio, { da, a, chi, perche: nota })
    da = a
  }
  if (verso.length === 0 && da === 'da_verificare') {
    await tx
      .update(invii)
      .set({ nota })
      .where(and(eq(invii.id, invio), sql`${invii.nota} is distinct from ${nota}`))
  }
}

/**
 * One change of state, and the rows with it. A row that is before a person stays taken: nobody else may send that
 * guest.
 */
async function step (
  tx: Transaction,
  id: number,
  change: { da: State; a: State; chi: string; perche: string }
): Promise<void> {
  // The sweep takes up what is ready and whose lease is over.
  const set = change.a === 'pronto' ? { proprietario: null, lease_fino_al: sql`now()` } : {}
  if (!(await move(tx, id, { ...change, set }))) {
    throw new Error(`Submission ${id} is not ${change.da} although it is locked`)
  }
  if (change.a === 'pronto') await moveRows(tx, id, 'in_corso', 'sconosciuta')
  if (change.a === 'acquisito' || change.a === 'parziale') {
    await moveRows(tx, id, 'acquisita', 'sconosciuta')
    await moveRows(tx, id, 'acquisita', 'in_corso')
  }
}
