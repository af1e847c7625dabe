import { and, isNull, sql } from 'drizzle-orm'
import { invii_sospensioni as suspensions } from '#drizzle/tables/decisions.ts'
import { HeadFileError, type ChainHead } from '#src/database/chain-head.ts'
import type { Executor } from '#src/database/connect.ts'
import type { AlarmCase } from './alarms/alarm-notifier.ts'
import type { LedgerBase } from './ledger-context.ts'

const COLUMNS = { motivo: suspensions.motivo, chi: suspensions.chi, dal: suspensions.dal }

interface Suspension { motivo: string, chi: string, dal: string }

const OLDER =
  'Nel database mancano gli ultimi invii annotati nella cartella dati: forse è stato ripristinato un salvataggio. ' +
  'Gli ospiti che mancano possono essere stati inviati'

const PROMOTED =
  'Una replica del database è diventata primaria: possono mancare gli ultimi invii scritti sul primario precedente. ' +
  'Gli ospiti che mancano possono essere stati inviati: confrontare le ricevute, poi riprendere gli invii'

const UNREADABLE =
  'Il file ledger-chain.json nella cartella dati non si può leggere: non si sa se nel database mancano invii. ' +
  'Ripristinare il file, poi riprendere gli invii'

/** The reason to suspend: the database lacks the chain head noted in `DATA_DIR`, or its file is unreadable. */
export async function faultOfHead (db: Executor, chainHead: ChainHead): Promise<string | undefined> {
  try {
    return await chainHead.isIn(db) ? undefined : OLDER
  } catch (err) {
    if (err instanceof HeadFileError) return UNREADABLE
    throw err
  }
}

/** The current suspension, if any. During a suspension no submission is sent. */
export async function currentSuspension (db: Executor): Promise<Suspension | undefined> {
  const [suspension] = await db.select(COLUMNS).from(suspensions).where(isNull(suspensions.tolta_il))
    .prepare('suspension').execute()
  return suspension
}

/**
 * Suspends all sending, unless it is suspended already.
 * @returns the suspension, if it is new
 */
export async function suspendSending (db: Executor, chi: string, motivo: string): Promise<Suspension | undefined> {
  const [suspension] = await db.insert(suspensions).values({ chi, motivo }).onConflictDoNothing().returning(COLUMNS)
  return suspension
}

/**
 * Appends a reason to the current suspension, so that the person who ends it sees every reason.
 * @returns the suspension, unless it already has the reason
 */
async function addReason (db: Executor, motivo: string): Promise<Suspension | undefined> {
  const [suspension] = await db.update(suspensions)
    .set({ motivo: sql`${suspensions.motivo} || '. ' || ${motivo}::text` })
    .where(and(isNull(suspensions.tolta_il), sql`strpos(${suspensions.motivo}, ${motivo}) = 0`))
    .returning(COLUMNS)
  return suspension
}

/** Suspends all sending. If it is already suspended, adds the reason to the current suspension. */
export async function suspendFor (db: Executor, motivo: string): Promise<Suspension | undefined> {
  return await suspendSending(db, 'sistema', motivo) ?? await addReason(db, motivo)
}

export async function resumeSending (db: Executor, chi: string): Promise<void> {
  await db.update(suspensions).set({ tolta_da: chi, tolta_il: sql`now()` }).where(isNull(suspensions.tolta_il))
}

/**
 * Returns the current suspension. First checks whether the database has the chain head noted in `DATA_DIR`, and is no
 * promoted replica. If not, or if the head is unreadable, it suspends sending and raises an alarm. Call it outside a
 * transaction, because a rollback of the caller must not undo the suspension.
 */
export async function checkSuspension (
  { db, chainHead, timeline, alarm }: Pick<LedgerBase, 'db' | 'chainHead' | 'timeline' | 'alarm'>
): Promise<Suspension | undefined> {
  const isPromoted = await timeline.isPromoted(db)
  const fault = await faultOfHead(db, chainHead) ?? (isPromoted ? PROMOTED : undefined)
  const newSuspension = fault === undefined
    ? undefined
    : await db.transaction(async (tx) => {
      await timeline.recordServer(tx)
      return await suspendFor(tx, fault)
    })
  if (newSuspension) await alarm('suspended', suspensionCase(newSuspension))
  return newSuspension ?? currentSuspension(db)
}

/** The alarm of a suspension. Every process builds the same case, so only the first one raises it. */
export function suspensionCase ({ dal }: Suspension): AlarmCase {
  return { dal: new Date(dal).toISOString() }
}
