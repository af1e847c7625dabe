import { and, eq, inArray, sql } from 'drizzle-orm'
import { invii, invii_numerazione, invii_schedine as schedine } from '#drizzle/tables/alloggiati.ts'
import { LIVE_ROW_OUTCOMES } from '#schemas/submission.ts'
import { keepBooking } from '#src/bookings/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { AuditEntry } from '#src/plugins/audit/log.ts'
import type { Executor, Transaction } from '#src/plugins/database/connect.ts'
import { postgresError } from '#src/plugins/database/problems.ts'
import { filingDeadline } from '../deadlines.ts'
import type { Day } from '#src/lib/time.ts'
import type { RecordSchedina } from '../codec/codec.ts'
import { SchedineGiaInviate } from '../errors.ts'
import type { LedgerContext } from './context.ts'
import { attribute, LEASE } from './moves.ts'
import { sealLine } from './rows.ts'

/** What is to be sent: one list, one call. */
export interface Submission {
  account: string
  operatore: string
  /** Where the operator is. */
  ip: string
  metodo: string
  records: readonly RecordSchedina[]
  lines: readonly string[]
  /** For each row the index of the leader of its family or group. */
  leaders: readonly number[]
  id_appartamento: number | undefined
  prenotazione_id: number | null
  /** Called with the reference in the transaction that writes the submission down. */
  note?: (tx: Transaction, ricevuta: string) => Promise<void>
}

export interface Reserved { id: number, ricevuta: string }

type Registry = Pick<LedgerContext, 'db' | 'keys' | 'clock' | 'audit' | 'beforeReady'>

/**
 * Writes a submission down. From then on its guests are live: no other submission can hold them.
 * @throws SchedineGiaInviate when one of them is being sent, was filed or may have been
 * @throws RegistroNonDisponibile, and what a `beforeReady` hook throws
 */
export async function reserve (registry: Registry, submission: Submission): Promise<Reserved> {
  const { db, keys, clock, audit, beforeReady } = registry
  const identities = submission.records.map((record) => fingerprintGuest(keys, submission, record))
  for (;;) {
    try {
      return await db.transaction(async (tx) => {
        for (const hook of beforeReady) await hook(tx)
        const reserved = await insertSubmission(tx, keys, clock.today(), submission, identities)
        await submission.note?.(tx, reserved.ricevuta)
        await audit.append(tx, auditEntry(submission, reserved))
        return reserved
      })
    } catch (err) {
      if (postgresError(err)?.constraint_name !== 'invii_schedine_una_volta') throw err
      const live = await findEarlier(db, submission.account, identities)
      if (live) throw live
      // They are free again: the other submission was not sent after all.
    }
  }
}

function auditEntry ({ operatore, ip, lines, prenotazione_id }: Submission, { id, ricevuta }: Reserved): AuditEntry {
  return {
    actor: operatore,
    ip,
    action: 'invio',
    object: `invio:${ricevuta}`,
    details: { id, schedine: lines.length, prenotazione_id }
  }
}

async function insertSubmission (
  tx: Transaction,
  keys: Keys,
  today: Day,
  submission: Submission,
  identities: readonly Buffer[]
): Promise<Reserved> {
  const { account, operatore, metodo, records, lines, leaders, id_appartamento, prenotazione_id } = submission
  const { data_arrivo, permanenza } = records[0]!
  // The booking cannot be deleted while its submission is being written down.
  if (prenotazione_id !== null) await keepBooking(tx, prenotazione_id)
  await attribute(tx, operatore, 'accettato')
  const ricevuta = await nextReference(tx, today)
  const [created] = await tx
    .insert(invii)
    .values({
      ricevuta,
      utente: account,
      operatore,
      metodo,
      id_appartamento,
      prenotazione_id,
      data_arrivo,
      permanenza,
      scadenza: filingDeadline(data_arrivo, permanenza).toISOString(),
      stato: 'pronto',
      lease_fino_al: LEASE
    })
    .returning({ id: invii.id })
  const { id } = created!
  await tx.insert(schedine).values(
    lines.map((line, indice) => ({
      invio_id: id,
      indice,
      capo: leaders[indice]!,
      utente: account,
      riga: sealLine(keys, id, indice, line),
      permanenza: records[indice]!.permanenza,
      impronta_identita: identities[indice]!,
      esito: 'in_corso' as const
    }))
  )
  return { id, ricevuta }
}

/**
 * The same guest at the same arrival gives the same fingerprint, even when the rest of the record was edited, the
 * apartment too: a guest does not sleep in two apartments on one night.
 */
function fingerprintGuest (
  keys: Keys,
  { account }: Submission,
  { data_arrivo, cognome, nome, data_nascita }: RecordSchedina
): Buffer {
  return keys.fingerprint('schedina/identity', account, data_arrivo, cognome, nome, data_nascita)
}

async function findEarlier (
  db: Executor,
  account: string,
  identities: readonly Buffer[]
): Promise<SchedineGiaInviate | undefined> {
  const found = await db
    .select({ ricevuta: invii.ricevuta, identity: schedine.impronta_identita })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(
      and(
        eq(schedine.utente, account),
        inArray(schedine.impronta_identita, [...identities]),
        inArray(schedine.esito, LIVE_ROW_OUTCOMES)
      )
    )
    .orderBy(invii.id)
  if (found.length === 0) return undefined
  const references = new Set(found.map(({ ricevuta }) => ricevuta))
  const indices = identities.flatMap((each, at) => (found.some(({ identity }) => identity.equals(each)) ? [at] : []))
  return new SchedineGiaInviate([...references], indices)
}

async function nextReference (tx: Transaction, today: Day): Promise<string> {
  const [counter] = await tx.insert(invii_numerazione).values({ giorno: today, ultimo: 1 })
    .onConflictDoUpdate({ target: invii_numerazione.giorno, set: { ultimo: sql`${invii_numerazione.ultimo} + 1` } })
    .returning({ n: invii_numerazione.ultimo })
  return `AW-${today.replaceAll('-', '')}-${counter!.n}`
}
