import { and, eq, inArray, lt, sql } from 'drizzle-orm'
import { invii, invii_numerazione, invii_schedine as schedine, invii_tentativi as tentativi, prenotazioni } from '#drizzle/tables/index.ts'
import type { Keys } from '#src/keys.ts'
import type { Database, Executor, Transaction } from '#src/plugins/database/connect.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import { dayInRome, type Clock, type Day } from '#src/time.ts'
import type { RecordSchedina } from '../codec/codec.ts'
import { SchedineGiaInviate } from '../errors.ts'
import type { Verdict } from './classify.ts'

/** What is to be sent: one list, one call. */
export interface Submission {
  account: string
  metodo: string
  records: readonly RecordSchedina[]
  lines: readonly string[]
  id_appartamento: number | undefined
  prenotazione_id: number | null
}

export interface Reserved { id: number, ricevuta: string }

/** Longer than the longest call: after it, whoever took the submission is not at work on it any more. */
const LEASE = sql`now() + interval '90 seconds'`
/** How long the service may take to act on bytes that have reached it. */
const DELIVERY_MS = 10 * 60_000

const LIVE = ['in_corso', 'acquisita', 'sconosciuta']

/**
 * The durable record of every Send. A submission is `pronto` once its guests are taken, `in_invio` from the commit that comes
 * before the first byte, and then what the reply proves: `acquisito`, `parziale`, `rifiutato`, `non_inviato`; without proof it
 * is `sconosciuto`, and nothing sends it again.
 */
export function ledger (db: Database, keys: Keys, clock: Clock) {
  return {
    /**
     * Takes the guests of a submission, so that nobody else can send them, and gives it its reference.
     * @throws SchedineGiaInviate when one of them is being sent, was acquired or may have been
     */
    async reserve (submission: Submission): Promise<Reserved> {
      const identities = submission.records.map((record) => identity(keys, submission, record))
      try {
        return await db.transaction(async (tx) => {
          const { account, metodo, records, lines, id_appartamento, prenotazione_id } = submission
          // The booking cannot be deleted while its submission is being written down.
          if (prenotazione_id !== null) await tx.select({ id: prenotazioni.id }).from(prenotazioni).where(eq(prenotazioni.id, prenotazione_id)).for('share')
          const { data_arrivo, permanenza } = records[0]!
          const [created] = await tx.insert(invii).values({
            ricevuta: await nextReference(tx, clock.today()),
            utente: account,
            metodo,
            id_appartamento,
            prenotazione_id,
            data_arrivo,
            permanenza,
            stato: 'pronto',
            lease_fino_al: LEASE
          }).returning({ id: invii.id, ricevuta: invii.ricevuta })
          const { id } = created!
          await tx.insert(schedine).values(lines.map((line, indice) => ({
            invio_id: id,
            indice,
            utente: account,
            riga: keys.seal(line, `invii_schedine.riga/${id}/${indice}`),
            permanenza: records[indice]!.permanenza,
            impronta_contenuto: keys.fingerprint('schedina/content', account, String(id_appartamento ?? ''), line),
            impronta_identita: identities[indice]!,
            esito: 'in_corso'
          })))
          return created!
        })
      } catch (err) {
        if (postgresError(err)?.constraint_name !== 'invii_schedine_una_volta') throw err
        throw await earlier(db, submission.account, identities) ?? err
      }
    },

    /** The point of no return: committed before the first byte is written. */
    async dispatch ({ id }: Reserved): Promise<void> {
      const now = clock.now()
      await db.transaction(async (tx) => {
        // A commit that a power cut could undo would prove nothing, whatever the server's default.
        await tx.execute(sql`set local synchronous_commit = on`)
        const [moved] = await move(tx, id, 'pronto', 'in_invio')
        if (!moved) throw new Error(`Submission ${id} is no longer ready to be sent`)
        await tx.insert(tentativi).values({
          invio_id: id,
          numero: 1,
          inviato_il: now.toISOString(),
          giorno_da: dayInRome(now),
          giorno_a: dayInRome(new Date(now.getTime() + DELIVERY_MS)),
          esito: '?'
        })
      })
    },

    /** Writes down what the call proved. */
    async settle ({ id }: Reserved, verdict: Verdict): Promise<void> {
      await db.transaction(async (tx) => {
        await tx.update(invii).set({ stato: verdict.stato, aggiornato_il: sql`now()` }).where(eq(invii.id, id))
        for (const [indice, row] of verdict.schedine.entries()) {
          await tx.update(schedine).set(row).where(and(eq(schedine.invio_id, id), eq(schedine.indice, indice)))
        }
        await tx.update(tentativi).set({
          esito: verdict.tentativo,
          http_status: verdict.httpStatus,
          errore: verdict.errore,
          risposta: verdict.raw === undefined ? undefined : keys.seal(verdict.raw, `invii_tentativi.risposta/${id}`),
          concluso_il: clock.now().toISOString()
        }).where(eq(tentativi.invio_id, id))
      })
    },

    /**
     * Settles what a dead process left: what was never dispatched is free again, what was dispatched is unknown.
     * @returns the references that became unknown
     */
    sweep (): Promise<string[]> {
      return db.transaction(async (tx) => {
        await expire(tx, 'pronto', 'non_inviato', 'non_inviata')
        return (await expire(tx, 'in_invio', 'sconosciuto', 'sconosciuta')).map(({ ricevuta }) => ricevuta)
      })
    }
  }
}

export type Ledger = ReturnType<typeof ledger>

/** The same guest at the same arrival, whatever else of the record was edited. */
function identity (keys: Keys, { account, id_appartamento }: Submission, { data_arrivo, cognome, nome, data_nascita }: RecordSchedina): Buffer {
  return keys.fingerprint('schedina/identity', account, String(id_appartamento ?? ''), data_arrivo, cognome, nome, data_nascita)
}

async function earlier (db: Executor, account: string, identities: readonly Buffer[]): Promise<SchedineGiaInviate | undefined> {
  const found = await db.select({ ricevuta: invii.ricevuta, identity: schedine.impronta_identita }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(eq(schedine.utente, account), inArray(schedine.impronta_identita, [...identities]), inArray(schedine.esito, LIVE)))
    .orderBy(invii.id)
  const [first] = found
  if (!first) return undefined
  return new SchedineGiaInviate(first.ricevuta, identities.flatMap((each, at) => found.some(({ identity }) => identity.equals(each)) ? [at] : []))
}

async function move (tx: Transaction, id: number, from: string, to: string): Promise<{ id: number }[]> {
  return tx.update(invii).set({ stato: to, lease_fino_al: LEASE, aggiornato_il: sql`now()` })
    .where(and(eq(invii.id, id), eq(invii.stato, from))).returning({ id: invii.id })
}

async function expire (tx: Transaction, from: string, to: string, esito: string): Promise<{ id: number, ricevuta: string }[]> {
  const expired = await tx.update(invii).set({ stato: to, aggiornato_il: sql`now()` })
    .where(and(eq(invii.stato, from), lt(invii.lease_fino_al, sql`now()`))).returning({ id: invii.id, ricevuta: invii.ricevuta })
  if (expired.length > 0) await tx.update(schedine).set({ esito }).where(inArray(schedine.invio_id, expired.map(({ id }) => id)))
  return expired
}

async function nextReference (tx: Transaction, today: Day): Promise<string> {
  const [counter] = await tx.insert(invii_numerazione).values({ giorno: today, ultimo: 1 })
    .onConflictDoUpdate({ target: invii_numerazione.giorno, set: { ultimo: sql`${invii_numerazione.ultimo} + 1` } })
    .returning({ n: invii_numerazione.ultimo })
  return `AW-${today.replaceAll('-', '')}-${counter!.n}`
}
