import { and, isNull, sql } from 'drizzle-orm'
import { invii_sospensioni as suspensions } from '#drizzle/tables/decisions.ts'
import { HeadFileError, type ChainHead } from '#src/database/chain-head.ts'
import type { Executor } from '#src/database/connect.ts'
import type { AlarmCase } from './alarms/alarm-bell.ts'
import type { LedgerContext } from './ledger-context.ts'

const COLUMNS = { motivo: suspensions.motivo, chi: suspensions.chi, dal: suspensions.dal }

interface Suspension { motivo: string, chi: string, dal: string }

const OLDER =
  "L'archivio è più vecchio della sua storia: è stato ripristinato un salvataggio. " +
  'Ciò che non conosce può essere stato inviato'

const PROMOTED =
  'Il database è passato a una sua replica: ciò che il primario di prima ha scritto per ultimo può mancare. ' +
  'Ciò che non conosce può essere stato inviato: confrontare le ricevute, poi riprendere gli invii'

const UNREADABLE =
  "La fine della storia annotata nella cartella dati non si può leggere: non si sa se l'archivio è quello vero. " +
  'Rimettere a posto il file ledger-chain.json, poi riprendere gli invii'

/** Why the database cannot be taken for the one whose end was noted; undefined when it is that. */
export async function faultOfHead (db: Executor, chainHead: ChainHead): Promise<string | undefined> {
  try {
    return await chainHead.isIn(db) ? undefined : OLDER
  } catch (err) {
    if (err instanceof HeadFileError) return UNREADABLE
    throw err
  }
}

/** The suspension in force, if there is one: while there is, nothing is sent. */
export async function currentSuspension (db: Executor): Promise<Suspension | undefined> {
  const [suspension] = await db.select(COLUMNS).from(suspensions).where(isNull(suspensions.tolta_il))
    .prepare('suspension').execute()
  return suspension
}

/**
 * Suspends all sending; a suspension that is in force already stays as it is.
 * @returns the suspension, if it is new
 */
export async function suspendSending (db: Executor, chi: string, motivo: string): Promise<Suspension | undefined> {
  const [suspension] = await db.insert(suspensions).values({ chi, motivo }).onConflictDoNothing().returning(COLUMNS)
  return suspension
}

/**
 * Adds a reason to the suspension in force: whoever ends it reads both.
 * @returns it, unless it has the reason already
 */
async function addReason (db: Executor, motivo: string): Promise<Suspension | undefined> {
  const [suspension] = await db.update(suspensions)
    .set({ motivo: sql`${suspensions.motivo} || '. ' || ${motivo}::text` })
    .where(and(isNull(suspensions.tolta_il), sql`strpos(${suspensions.motivo}, ${motivo}) = 0`))
    .returning(COLUMNS)
  return suspension
}

export async function resumeSending (db: Executor, chi: string): Promise<void> {
  await db.update(suspensions).set({ tolta_da: chi, tolta_il: sql`now()` }).where(isNull(suspensions.tolta_il))
}

/**
 * The suspension in force. When the database is older than its history, cannot be compared with it, or is on a standby
 * that was promoted, the ledger first suspends sending by itself, and raises the alarm.
 * Not inside a transaction: the suspension must stay when the caller rolls back.
 */
export async function checkSuspension (
  { db, chainHead, timeline, alarm }: Pick<LedgerContext, 'db' | 'chainHead' | 'timeline' | 'alarm'>
): Promise<Suspension | undefined> {
  const isPromoted = await timeline.isPromoted(db)
  const fault = await faultOfHead(db, chainHead) ?? (isPromoted ? PROMOTED : undefined)
  const begun = fault === undefined
    ? undefined
    : await db.transaction(async (tx) => {
      await timeline.note(tx)
      // A person who had suspended sending before, and resumes it, must read this reason, too.
      return await suspendSending(tx, 'sistema', fault) ?? await addReason(tx, fault)
    })
  if (begun) await alarm('suspended', suspensionCase(begun))
  return begun ?? currentSuspension(db)
}

/** The alarm of a suspension: every process raises it with the same words, so it rings once. */
export function suspensionCase ({ dal }: Suspension): AlarmCase {
  return { dal: new Date(dal).toISOString() }
}
