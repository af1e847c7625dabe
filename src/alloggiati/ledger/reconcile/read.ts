import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import {
  account_polizia,
  invii,
  invii_esiti as outcomes,
  invii_schedine as schedine,
  invii_tentativi as attempts,
  invii_transizioni as transitions,
  ricevute_letture as looks
} from '#drizzle/tables/alloggiati.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { addDays, dayInRome, type Day } from '#src/lib/time.ts'
import { CLOCKS_MS } from '../dispatch.ts'
import type { State } from '#schemas/submission.ts'
import type { DayAttempt, DayInput, DayUnit, Look, Outcome } from './day.ts'

/**
 * Reads one account's day, with its submissions locked in the order of their ids: until the transaction ends it stays
 * as read.
 */
export async function readDay (tx: Transaction, account: string, giorno: Day, now: Date): Promise<DayInput> {
  const units = await tx
    .select({ id: invii.id, stato: invii.stato, tentativo: invii.tentativo, data_arrivo: invii.data_arrivo })
    .from(invii)
    .where(
      and(
        eq(invii.utente, account),
        sql`exists (select from ${attempts} t where t.invio_id = ${invii.id} and ${giorno} between t.giorno_da and t.giorno_a)`
      )
    )
    .orderBy(asc(invii.id))
    .for('update')
  const ids = units.map(({ id }) => id)
  // After the lock: a lock that was waited for shows the row anew, but not what hangs on it.
  const all = ids.length === 0 ? [] : await attemptsOf(tx, ids)
  const touching = all.filter(({ giorno_da, giorno_a }) => giorno_da <= giorno && giorno <= giorno_a)
  const partial = ids.length === 0 ? [] : await partialOf(tx, ids)
  const reasons = ids.length === 0 ? [] : await reasonsOf(tx, ids)
  return {
    giorno,
    now,
    esclusivo: await isExclusive(tx, account, giorno),
    attempts: touching,
    units: units.map((unit): DayUnit => ({
      ...unit,
      stato: unit.stato as State,
      intero: !partial.includes(unit.id),
      altri: all.filter((one) => one.invio === unit.id && !touching.includes(one)).map(({ esito }) => esito),
      motivi: reasons.filter(({ invio }) => invio === unit.id).map(({ perche }) => perche)
    })),
    looks: await looksAt(tx, account, giorno)
  }
}

async function attemptsOf (tx: Transaction, ids: readonly number[]): Promise<DayAttempt[]> {
  const final = and(
    eq(outcomes.invio_id, attempts.invio_id),
    eq(outcomes.numero, attempts.numero),
    inArray(outcomes.esito, ['K', 'N'])
  )
  const rows = await tx.select({ attempt: attempts, outcome: outcomes }).from(attempts).leftJoin(outcomes, final)
    .where(inArray(attempts.invio_id, [...ids])).orderBy(asc(attempts.invio_id), asc(attempts.numero))
  return rows.map(({ attempt, outcome }): DayAttempt => {
    const counts = outcome?.esito === 'K' && outcome.fonte !== 'decisione' ? outcome : attempt
    return {
      invio: attempt.invio_id,
      numero: attempt.numero,
      schedine: counts.schedine,
      notti: counts.notti,
      giorno_da: attempt.giorno_da,
      giorno_a: outcome?.fonte === 'risposta' ? lastDay(attempt, outcome.registrato_il) : attempt.giorno_a,
      esito: (outcome?.esito ?? '?') as Outcome,
      per_decisione: outcome?.fonte === 'decisione'
    }
  })
}

/**
 * What the service has answered it has counted before the answer: near midnight that may narrow the attempt to one day.
 */
function lastDay ({ inviato_il, consegna_entro, giorno_a }: typeof attempts.$inferSelect, answered: string): Day {
  const at = Date.parse(answered)
  return at >= Date.parse(inviato_il) && at <= Date.parse(consegna_entro)
    ? [dayInRome(new Date(at + CLOCKS_MS)), giorno_a].sort()[0]!
    : giorno_a
}

/** Submissions of which rows were held back. */
async function partialOf (tx: Transaction, ids: readonly number[]): Promise<number[]> {
  const rows = await tx.selectDistinct({ id: schedine.invio_id }).from(schedine)
    .where(and(inArray(schedine.invio_id, [...ids]), eq(schedine.esito, 'rifiutata')))
  return rows.map(({ id }) => id)
}

async function reasonsOf (tx: Transaction, ids: readonly number[]): Promise<{ invio: number, perche: string }[]> {
  return tx.select({ invio: transitions.invio_id, perche: transitions.perche }).from(transitions)
    .where(and(inArray(transitions.invio_id, [...ids]), eq(transitions.a, 'da_verificare')))
}

/**
 * Whether all that was filed that day is in the ledger. What a person filed on the portal is on the receipt, too; the
 * portal takes arrivals of the day and of the day before.
 */
async function isExclusive (db: Executor, account: string, giorno: Day): Promise<boolean> {
  const [kept] = await db
    .select({ exclusive: account_polizia.canale_esclusivo })
    .from(account_polizia)
    .where(eq(account_polizia.utente, account))
  if (!kept?.exclusive) return false
  const [byHand] = await db
    .select({ id: invii.id })
    .from(invii)
    .where(
      and(
        eq(invii.utente, account),
        eq(invii.stato, 'depositato_altrove'),
        inArray(invii.data_arrivo, [giorno, addDays(giorno, -1)])
      )
    )
    .limit(1)
  return byHand === undefined
}

/** The looks at a day's receipt, in order. */
export async function looksAt (db: Executor, account: string, giorno: Day): Promise<Look[]> {
  const rows = await db
    .select({ letta_il: looks.letta_il, sha256: looks.sha256, schedine: looks.schedine, notti: looks.notti })
    .from(looks)
    .where(and(eq(looks.utente, account), eq(looks.giorno, giorno)))
    .orderBy(asc(looks.letta_il), asc(looks.id))
  return rows.map(({ letta_il, sha256, ...counts }) => ({
    letta_il: new Date(letta_il),
    available: sha256 !== null,
    ...counts
  }))
}
